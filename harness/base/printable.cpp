// Untrusted text, made safe for one line of a terminal or a report.
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utf8proc.h>

namespace prenorm::harness {
namespace {

/// Symbols that show nothing, or a gap like a space: no category says so.
constexpr std::array<std::uint32_t, 2> blank_symbols{0x2800, 0x1d159};

/// No control character; nothing that sets the writing direction, separates lines, shows nothing,
/// or a gap like a space (two texts that differ in it would look alike); nothing unassigned.
bool is_harmless(std::uint32_t code) {
  if (code == ' ') return true;
  const auto character = static_cast<utf8proc_int32_t>(code);
  switch (::utf8proc_category(character)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    default: break;
  }
  return !::utf8proc_get_property(character)->ignorable &&
         std::ranges::find(blank_symbols, code) == blank_symbols.end();
}

std::string escape(std::uint32_t code) {
  switch (code) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: break;
  }
  return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

std::string piece(std::string_view text, const Character& character) {
  if (character.bytes == 0) return fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  if (!is_harmless(character.code)) return escape(character.code);
  return std::string(text.substr(0, character.bytes));
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

std::string in_ascii(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Character character = first_character(text);
    line += character.code < 0x80 ? piece(text, character) : escape(character.code);
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
