#include "report/table.hpp"

#include "report/text.hpp"

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

std::string render(const Table& table, bool colour) {
  std::vector<std::size_t> widths;
  for (const std::string& title : table.head) widths.push_back(display_width(title));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  const auto line = [&](const std::vector<Cell>& cells) {
    std::size_t last = cells.size();
    while (last > 0 && cells[last - 1].text.empty()) --last;
    std::string text;
    for (std::size_t i = 0; i < last; ++i) {
      text += toned(cells[i].text, cells[i].tone, colour);
      if (i + 1 < last) text.append(widths[i] - display_width(cells[i].text) + 2, ' ');
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

}  // namespace prenorm::harness
