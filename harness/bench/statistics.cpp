#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace prenorm::harness::bench {
namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

Times summarize_times(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {seconds.front(),         quantile(seconds, 0.25), quantile(seconds, 0.5),
          quantile(seconds, 0.75), seconds.back(),          seconds.size()};
}

}  // namespace prenorm::harness::bench
