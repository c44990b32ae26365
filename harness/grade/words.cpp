#include "grade/words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {

std::string points_text(double points) {
  // Adding zero makes +0 of -0.
  std::string text = fmt::format("{:.2f}", std::round(points * 100) / 100 + 0.0);
  if (!std::isfinite(points)) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string of_points(double points) {
  return points_text(points) + (points == 1 ? " point" : " points");
}

std::string per_cent(std::int64_t part, std::int64_t whole) {
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part <= 0) return "0 %";
  if (part >= whole) return "100 %";
  return fmt::format("{:.0f} %", std::clamp(share, 1.0, 99.0));
}

}  // namespace prenorm::harness
