// Shapes in words, and checks with messages: what both rooms of the reference use.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::reference {

using Shape = std::vector<std::size_t>;

template <std::integral I>
requires(sizeof(I) > 1)  // no bool, no letters
    std::string to_text(I number) {
  return std::to_string(number);
}
/// "[2, 3]", and "[[2, 3], [4]]" of several.
template <class S>
requires requires(const S& shape) { shape.begin(); }
std::string to_text(const S& shape) {
  std::string text = "[";
  for (const auto& part : shape) text += (text.size() > 1 ? ", " : "") + to_text(part);
  return text + "]";
}
inline std::string to_text(std::string_view text) { return std::string(text); }
inline std::string to_text(const char* text) { return text; }
inline std::string to_text(const std::string& text) { return text; }
/// "10000" or "1e-05": a number to six digits.
inline std::string to_text(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

/// Throws std::invalid_argument unless the condition holds. The message is made of these parts,
/// and only then.
template <class... Parts>
void require(bool condition, const Parts&... message) {
  if (!condition) throw std::invalid_argument((to_text(message) + ...));
}

}  // namespace prenorm::reference
