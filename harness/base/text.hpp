// Text helpers for reports and commands: numbers, shell words, similar names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

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

/// With one character for a letter and its accents (Unicode's NFC), as most keyboards write them.
/// Names of files from a Mac often have two (NFD). Invalid UTF-8 is returned unchanged.
std::string to_nfc(const std::string& text);

/// Words in one line, each quoted if necessary.
std::string shell_line(const std::vector<std::string>& words);

/// The same for /bin/sh rather than for people: every byte is literal.
std::string posix_word(std::string_view word);
std::string posix_line(const std::vector<std::string>& words);

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
