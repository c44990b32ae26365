// Text from outside, made fit for one line of a terminal or a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// One character of a text in UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: what stands there is no UTF-8
};

/// The character that the text begins with; the text is not empty.
Character first_character(std::string_view text);

/// The text on one line: control characters, what is no UTF-8, and the marks that turn the writing
/// direction become escapes (\n, \t, \x1b, \u202e); cut after `limit` bytes, with "..." at the end.
std::string printable(std::string_view text, std::size_t limit = 500);

}  // namespace prenorm::harness
