#include "explain/known_mistakes.hpp"
#include <algorithm>
namespace prenorm::harness {
MistakeWords words_of(const std::string&, const std::string& mistake) {
  MistakeWords w;
  w.name = mistake;
  std::ranges::replace(w.name, '_', ' ');
  w.honest = mistake.starts_with("float32_angles") || mistake == "empty_rows_nan" ||
             mistake == "rounded_before_gain";
  return w;
}
std::string same_mistake(const std::string&, const std::string& mistake) {
  return mistake.starts_with("float32_angles") ? "float32_angles" : mistake;
}
}  // namespace prenorm::harness
