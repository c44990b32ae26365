// Small things that reports and commands write: numbers, shell words, near names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

/// Columns that valid UTF-8 takes on a terminal, counting one for each character.
std::size_t display_width(std::string_view text);

/// The text filled with blanks to that width.
std::string padded(std::string_view text, std::size_t width);

/// The text, with "..." for its middle where it takes more columns: of two alike the ends tell
/// which.
std::string shortened(std::string_view text, std::size_t columns);

/// The word as a shell takes it: quoted only where it must be.
std::string shell_word(std::string_view word);

/// Words in one line, each quoted where it must be.
std::string shell_line(const std::vector<std::string>& words);

/// The same for /bin/sh to read rather than for people: every byte stands as it is.
std::string posix_word(std::string_view word);
std::string posix_line(const std::vector<std::string>& words);

/// " (did you mean 'x'?)" with the candidate nearest to the word, or nothing if none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Three digits: "0.00123", "1.5e-07", "NaN", "-Infinity".
std::string short_number(double value);

/// "3.20 s", "12.3 ms", "8.5 us", "310 ns".
std::string duration(double seconds);

/// "1 case", "2 cases".
std::string counted(std::size_t count, std::string_view noun);

/// The items with ", " between them.
std::string joined(std::span<const std::string> items, std::string_view between = ", ");

/// True where the name fits the pattern, in which * is any text and ? any one character.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace prenorm::harness
