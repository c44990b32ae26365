#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <memory>
#include <sstream>
#include <utf8proc.h>
#include <utility>

namespace prenorm::harness {
namespace {

/// The number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

/// Calls visit(character, columns) for each character; a control character, and a byte that is not
/// UTF-8, takes a column.
void for_each_character(std::string_view text, auto visit) {
  while (!text.empty()) {
    const Character first = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(1, first.bytes);
    const auto code = static_cast<utf8proc_int32_t>(first.code);
    const int columns = first.bytes == 0 || code < ' ' ? 1 : ::utf8proc_charwidth(code);
    visit(text.substr(0, bytes), static_cast<std::size_t>(std::max(0, columns)));
    text.remove_prefix(bytes);
  }
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for_each_character(text, [&](std::string_view, std::size_t columns) { width += columns; });
  return width;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  const std::size_t taken = display_width(text);
  if (taken < width) result.append(width - taken, ' ');
  return result;
}

std::string shortened(std::string_view text, std::size_t columns) {
  const std::size_t width = display_width(text);
  constexpr std::size_t dots = 3;
  if (width <= columns || columns <= dots) return std::string(text);
  const std::size_t end = (columns - dots) / 3, begin = columns - dots - end;
  std::string result;
  std::size_t column = 0;
  bool kept = true, cut = false;
  for_each_character(text, [&](std::string_view character, std::size_t taken) {
    // What takes no column is part of the character before it.
    if (taken > 0) kept = column + taken <= begin || column >= width - end;
    if (!kept && !std::exchange(cut, true)) result += "...";
    if (kept) result += character;
    column += taken;
  });
  return result;
}

std::string lowered(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string trimmed(std::string_view text, std::string_view white) {
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(white) - begin + 1));
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string to_nfc(const std::string& text) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size < 0) return text;
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

std::string from_utf16(const std::string& text) {
  const bool big = text.starts_with("\xfe\xff");
  if (!big && !text.starts_with("\xff\xfe")) return text;
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(text[at + 1]);
    return big ? first << 8 | second : second << 8 | first;
  };
  std::string made;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    utf8proc_int32_t code = unit(i);
    if ((code & 0xfc00) == 0xd800 && i + 3 < text.size() && (unit(i + 2) & 0xfc00) == 0xdc00) {
      code = 0x10000 + ((code & 0x3ff) << 10) + (unit(i + 2) & 0x3ff);
      i += 2;
    }
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto count = static_cast<std::size_t>(utf8proc_encode_char(code, bytes.data()));
    made.append(reinterpret_cast<const char*>(bytes.data()), count);
  }
  return made;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string_view::npos) {
    return std::string(word);
  }
  // Control characters would act on the terminal; bash and similar shells read this form.
  const auto controls = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  if (std::ranges::any_of(word, controls)) {
    std::string quoted = "$'";
    for (const char c : word) {
      if (controls(c)) {
        quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
      } else {
        if (c == '\'' || c == '\\') quoted += '\\';
        quoted += c;
      }
    }
    return quoted + "'";
  }
  return posix_word(word);
}

std::string shell_line(std::vector<std::string> words) {
  for (std::string& word : words) word = shell_word(word);
  return joined(words, " ");
}

std::string posix_word(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += "'";
  return quoted;
}

std::string posix_line(std::vector<std::string> words) {
  for (std::string& word : words) word = posix_word(word);
  return joined(words, " ");
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 100) return {};
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    // A prefix or part of a name is similar, however much is missing.
    if (word.size() >= 3 && candidate.find(word) != std::string::npos) distance = 1;
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? "" : " (did you mean '" + *nearest + "'?)";
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.3g}", value);
}

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.1f} us", seconds * 1e6);
  return fmt::format("{:.0f} ns", seconds * 1e9);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string joined(std::span<const std::string> items, std::string_view between) {
  return fmt::format("{}", fmt::join(items, between));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

bool selects(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() ||
         std::ranges::any_of(patterns, [&](const auto& pattern) { return matches(pattern, name); });
}

}  // namespace prenorm::harness
