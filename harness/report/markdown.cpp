#include "report/markdown.hpp"

#include "base/printable.hpp"

#include <algorithm>

namespace prenorm::harness {
namespace {

/// What may begin or end something: emphasis, code, links and addresses, HTML and entities, cells,
/// headings and lists, mentions, formulas.
constexpr std::string_view special = "\\`*_{}[]<>#+-.!|&~:@$";

/// Of backticks, at least `least` and more than stand together anywhere in the text.
std::string fence(std::string_view text, std::size_t least) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max(least, longest + 1), '`');
}

}  // namespace

std::string markdown_text(std::string_view text, std::size_t limit) {
  std::string escaped;
  for (const char c : printable(text, limit)) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_code(std::string_view text, bool in_table, std::size_t limit) {
  std::string line = printable(text, limit);
  if (line.find_first_not_of(' ') == std::string::npos) return "(empty)";
  const std::string marks = fence(line, 1);
  if (in_table) {  // cells are told apart before code is looked for
    for (std::size_t at = 0; (at = line.find('|', at)) != std::string::npos; at += 2) {
      line.insert(at, 1, '\\');
    }
  }
  // One blank at each end is no part of the code where both are there.
  const bool apart =
      line.front() == '`' || line.back() == '`' || (line.front() == ' ' && line.back() == ' ');
  return apart ? marks + " " + line + " " + marks : marks + line + marks;
}

std::string markdown_block(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const std::string marks = fence(text, 3);
  return marks + "\n" + text + marks + "\n";
}

}  // namespace prenorm::harness
