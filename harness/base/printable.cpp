#include "base/printable.hpp"

#include <array>
#include <sstream>
#include <cstdio>

namespace prenorm::harness {
namespace {

/// Not a control character, line or paragraph separator, or mark of the writing direction.
bool is_harmless(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x61c || code == 0x200e || code == 0x200f ||
                         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool special = code == 0xfeff || code == 0xfffe || code == 0xffff;  // not allowed in XML
  return !control && !separator && !direction && !special;
}

std::string escape(const char* format, unsigned value) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string piece(std::string_view text, const Character& character) {
  if (character.bytes == 0) return escape("\\x%02x", static_cast<unsigned char>(text[0]));
  if (is_harmless(character.code)) return std::string(text.substr(0, character.bytes));
  switch (character.code) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: return escape(character.code < 0x100 ? "\\x%02x" : "\\u%04x", character.code);
  }
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
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
  std::istringstream in(text);
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    if (!lines.empty()) lines += '\n';
    lines += printable(line, limit);
  }
  return lines;
}

}  // namespace prenorm::harness
