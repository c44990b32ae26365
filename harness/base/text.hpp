// Text for people: untrusted text made safe, numbers, shell words, similar names, their errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

/// An invalid option or argument, or a path that cannot be used: one line on standard error, exit
/// code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What it gives; what is `Wrong` with it is the user's error.
template <class Wrong = std::invalid_argument>
auto as_usage(const auto& of) {
  try {
    return of();
  } catch (const Wrong& error) {
    throw UsageError(error.what());
  }
}

/// One character of a text in UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the text is not valid UTF-8 there
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// A text that begins with the byte order mark of UTF-16 in UTF-8; any other as it is.
std::string from_utf16(const std::string& text);

/// The text on one line: control characters, invalid UTF-8, and marks that change the writing
/// direction become escapes (\n, \t, \x1b, \u202e); truncated to `limit` bytes, with "..." at the
/// end.
std::string printable(std::string_view text, std::size_t limit = 500);

/// The text on one line, in ASCII: all other characters are escapes.
std::string in_ascii(std::string_view text);

/// The same of each line of a text of several; `limit` is a line's.
std::string printable_lines(const std::string& text, std::size_t limit = 1000);

/// Columns of UTF-8 on a terminal: two for a Chinese, Japanese or Korean character, none for a mark
/// that joins the character before it.
std::size_t display_width(std::string_view text);

/// The text padded with blanks to that width.
std::string padded(std::string_view text, std::size_t width);

/// The text, with "..." for its middle if it is wider: the ends tell similar texts
/// apart.
std::string shortened(std::string_view text, std::size_t columns);

/// The word for a shell, quoted only if necessary.
std::string shell_word(std::string_view word);

/// With small letters for capitals, of ASCII.
std::string lowered(std::string text);

/// Without such characters at its ends.
std::string trimmed(std::string_view text, std::string_view white = " ");

/// A letter of ASCII, or _.
inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Letters and digits, and no digit first.
bool is_identifier(std::string_view text);

/// With one character for a letter and its accents (Unicode's NFC), as most keyboards write them.
/// Names of files from a Mac often have two (NFD). Invalid UTF-8 is returned unchanged.
std::string to_nfc(const std::string& text);

/// Words in one line, each quoted if necessary.
std::string shell_line(std::vector<std::string> words);

/// The same for /bin/sh rather than for people: every byte is literal.
std::string posix_word(std::string_view word);
std::string posix_line(std::vector<std::string> words);

/// " (did you mean 'x'?)" with the candidate most similar to the word; empty if none is similar.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Three digits: "0.00123", "1.5e-07", "NaN", "-Infinity".
std::string short_number(double value);

/// "3.20 s", "12.3 ms", "8.5 us", "310 ns".
std::string duration(double seconds);

/// "1 case", "2 cases".
std::string counted(std::size_t count, std::string_view noun);

/// The items, separated by ", ".
std::string joined(std::span<const std::string> items, std::string_view between = ", ");

/// The text's lines, without their newlines.
std::vector<std::string> lines_of(const std::string& text);

/// Whether the name matches the pattern, as a shell does: * is any text, ? any single character,
/// [abc] one of these.
bool matches(const std::string& pattern, const std::string& name);
/// Whether it matches one of the patterns. Without patterns, every name is selected.
bool selects(const std::vector<std::string>& patterns, const std::string& name);

}  // namespace prenorm::harness
