// Tables for a terminal: aligned columns, colour where it is wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

enum class Tone { plain, good, bad, quiet, strong };

/// The text in that tone's colour, or as it is.
std::string toned(std::string_view text, Tone tone, bool colour);

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<Cell>> rows;
};

/// The widest text of each column.
std::vector<std::size_t> widths_of(const Table& table);

/// The table: one line per row, and a rule below the head; no blanks at the ends of lines.
///
/// Columns that do not fit into `width` go into further tables below, each with the first column;
/// 0: any width.
std::string render(const Table& table, bool colour, std::size_t width = 0);

}  // namespace prenorm::harness
