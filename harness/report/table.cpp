#include "report/table.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace prenorm::harness {

std::string toned(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::plain || text.empty()) return std::string(text);
  const char* code = "";
  switch (tone) {
    case Tone::plain: break;
    case Tone::good: code = "32"; break;
    case Tone::bad: code = "1;31"; break;
    case Tone::quiet: code = "2"; break;
    case Tone::strong: code = "1"; break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths;
  for (const std::string& title : table.head) widths.push_back(display_width(title));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  return widths;
}

namespace {

constexpr std::size_t gap = 2;  // blanks between columns

/// The first column and those from `begin` to `end`.
std::string render_part(const Table& table, const std::vector<std::size_t>& widths,
                        std::size_t begin, std::size_t end, bool colour) {
  const auto line = [&](const std::vector<Cell>& cells) {
    std::vector<std::size_t> shown{0};
    for (std::size_t i = begin; i < std::min(end, cells.size()); ++i) shown.push_back(i);
    while (!shown.empty() && cells[shown.back()].text.empty()) shown.pop_back();
    std::string text;
    for (const std::size_t i : shown) {
      text += toned(cells[i].text, cells[i].tone, colour);
      if (i != shown.back()) text.append(widths[i] - display_width(cells[i].text) + gap, ' ');
    }
    return text + "\n";
  };
  std::vector<Cell> head, rule;
  for (std::size_t i = 0; i < table.head.size(); ++i) {
    head.push_back({table.head[i], Tone::strong});
    rule.push_back({std::string(widths[i], '-'), Tone::quiet});
  }
  std::string text = line(head) + line(rule);
  for (const auto& row : table.rows) text += line(row);
  return text;
}

}  // namespace

std::string render(const Table& table, bool colour, std::size_t width) {
  const std::vector<std::size_t> widths = widths_of(table);
  std::string text;
  std::size_t begin = 1;
  do {
    std::size_t taken = widths[0], end = begin;
    while (end < widths.size() &&
           (width == 0 || end == begin || taken + gap + widths[end] <= width)) {
      taken += gap + widths[end++];
    }
    if (!text.empty()) text += "\n";
    text += render_part(table, widths, begin, end, colour);
    begin = end;
  } while (begin < widths.size());
  return text;
}

}  // namespace prenorm::harness
