// Comma-separated values, by RFC 4180.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

/// Rows as they are written: texts in quotes, numbers bare.
class CsvRows {
 public:
  /// A text that a spreadsheet would take for a formula gets a ' before it.
  CsvRows& text(std::string_view value);
  /// With four digits behind the point at most.
  CsvRows& number(double value);
  void end();
  std::string take() { return std::move(rows_); }

 private:
  CsvRows& cell(std::string_view written);

  std::string rows_;
  bool begun_ = false;  // the row has a cell
};

struct CsvRow {
  std::size_t line = 0;  // where it begins, from 1
  std::vector<std::string> cells;
};

/// A table as another program has written it, to be changed and written again.
struct CsvTable {
  std::string lead;  // before the head: a byte order mark, a line "sep=;"
  char separator = ',';
  std::string line_end = "\n";
  std::vector<CsvRow> rows;  // cells with the blanks around them
};

/// With four digits behind the point at most.
std::string csv_number(double value);

/// Reads such a table. Throws what csv_rows() throws.
CsvTable csv_table(std::string_view text);
/// The same cells, each in quotes where it must be.
std::string csv_text(const CsvTable& table);

/// The rows of a text; blank lines are none. A byte order mark is left out. Cells are separated by
/// what a first line "sep=;" says; or else by the commonest of comma, semicolon and tab in the
/// head. Throws std::invalid_argument, which names the line, for what is no UTF-8 and for wrong
/// quotes.
std::vector<CsvRow> csv_rows(std::string_view text);

/// Throws std::invalid_argument: "line LINE: WHAT".
[[noreturn]] void refuse_line(std::size_t line, const std::string& what);

}  // namespace prenorm::harness
