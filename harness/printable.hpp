// Text from outside, made fit for one line of a terminal or a report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// The text on one line: control characters, what is no UTF-8, and the marks that turn the writing
/// direction become escapes (\n, \t, \x1b, \u202e); cut after `limit` bytes, with "..." at the end.
std::string printable(std::string_view text, std::size_t limit = 500);

}  // namespace prenorm::harness
