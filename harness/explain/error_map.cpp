#include "explain/error_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_cells = 64;  // along each side
constexpr int least_power = -8, largest_power = 20;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// By compare()'s rule: at most 1 where the element passes.
double ratio(double actual, double expected, DType dtype, const Tolerance& tolerance) {
  if (std::isfinite(actual) && std::isfinite(expected)) {
    const double difference = std::fabs(actual - expected);
    const double bound = tolerance.atol + tolerance.rtol * std::fabs(expected);
    if (difference <= bound) return bound > 0 ? difference / bound : 0;
    return bound > 0 ? difference / bound : infinity;
  }
  if (std::isnan(expected)) return std::isnan(actual) ? 0 : infinity;
  const bool overflows = std::fabs(expected) >= overflow_threshold(dtype);
  return overflows && actual == std::copysign(infinity, expected) ? 0 : infinity;
}

std::size_t bin(double ratio) {
  for (int power = least_power; power <= largest_power; ++power) {
    if (ratio <= std::ldexp(1.0, power)) return static_cast<std::size_t>(power - least_power);
  }
  return static_cast<std::size_t>(largest_power - least_power + 1);
}

}  // namespace

ErrorMap error_map(const std::string& tensor, const Tensor& actual, const Tensor& expected,
                   const Tolerance& tolerance) {
  ErrorMap map;
  map.tensor = tensor;
  map.shape = actual.shape;
  map.histogram.resize(static_cast<std::size_t>(largest_power - least_power + 2));
  if (actual.size() == 0) return map;
  const std::int64_t width = actual.shape.empty() ? 1 : actual.shape.back();
  const std::int64_t height = actual.size() / width;
  map.rows = std::min(height, most_cells);
  map.columns = std::min(width, most_cells);
  map.cells.resize(static_cast<std::size_t>(map.rows * map.columns));
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double value = ratio(actual.at(i), expected.at(i), actual.dtype, tolerance);
    const std::int64_t row = (i / width) * map.rows / height;
    const std::int64_t column = (i % width) * map.columns / width;
    double& cell = map.cells[static_cast<std::size_t>(row * map.columns + column)];
    cell = std::max(cell, value);
    ++map.histogram[bin(value)];
  }
  return map;
}

}  // namespace prenorm::harness
