// Untrusted text, made safe for one line of a terminal or a report.
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utf8proc.h>

namespace prenorm::harness {
namespace {

struct Range {
  std::uint32_t first, last;
};

/// Control characters; what sets the writing direction or separates lines; what shows nothing, or a
/// gap like a space: two texts that differ in it would look alike; what XML does not allow.
constexpr std::array<Range, 23> harmful{{
    {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},   {0x61c, 0x61c},
    {0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0xfffe, 0xffff},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
}};

bool is_harmless(std::uint32_t code) {
  return std::ranges::none_of(
      harmful, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string piece(std::string_view text, const Character& character) {
  if (character.bytes == 0) return fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  if (is_harmless(character.code)) return std::string(text.substr(0, character.bytes));
  switch (character.code) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: break;
  }
  return character.code < 0x100 ? fmt::format("\\x{:02x}", character.code)
                                : fmt::format("\\u{:04x}", character.code);
}

}  // namespace

Character first_character(std::string_view text) {
  utf8proc_int32_t code = 0;
  const auto bytes = ::utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                        static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) return {};
  return {static_cast<std::uint32_t>(code), static_cast<std::size_t>(bytes)};
}

std::string printable(std::string_view text, std::size_t limit) {
  constexpr std::string_view more = "...";
  std::string line;
  std::size_t kept = 0;  // bytes of the line that leave room for `more`
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string next = piece(text, character);
    if (line.size() + next.size() > limit) {
      line.resize(kept);
      return line.append(more);
    }
    line += next;
    if (line.size() + more.size() <= limit) kept = line.size();
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return line;
}

std::string printable_lines(const std::string& text, std::size_t limit) {
  std::string lines;
  for (const std::string& line : lines_of(text)) {
    if (!lines.empty()) lines += '\n';
    lines += printable(line, limit);
  }
  return lines;
}

}  // namespace prenorm::harness
