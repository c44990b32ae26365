// Untrusted text, made safe for one line of a terminal or a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// One character of a text in UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the text is not valid UTF-8 there
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// The text on one line: control characters, invalid UTF-8, and marks that change the writing
/// direction become escapes (\n, \t, \x1b, \u202e); truncated to `limit` bytes, with "..." at the
/// end.
std::string printable(std::string_view text, std::size_t limit = 500);

/// The same of each line of a text of several; `limit` is a line's.
std::string printable_lines(const std::string& text, std::size_t limit = 1000);

}  // namespace prenorm::harness
