#include "explain/error_map.hpp"

#include "explain/numbers.hpp"
#include "fixture/compare.hpp"

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

/// 0, up to 1/2, 1, 2, ...
std::size_t ulps_bin(double ulps) {
  if (ulps == 0) return 0;
  for (int power = -1; power <= largest_power; ++power) {
    if (ulps <= std::ldexp(1.0, power)) return static_cast<std::size_t>(power + 2);
  }
  return static_cast<std::size_t>(largest_power + 3);
}

}  // namespace

ErrorMap error_map(const TensorSpec& spec, const Tensor& actual, const Tensor& expected,
                   const Tolerance& tolerance) {
  ErrorMap map;
  map.tensor = spec.name;
  map.shape = actual.shape;
  map.histogram.resize(static_cast<std::size_t>(largest_power - least_power + 2));
  map.ulps.resize(static_cast<std::size_t>(largest_power + 4));
  if (actual.size() == 0) return map;
  const std::int64_t width = actual.shape.empty() ? 1 : actual.shape.back();
  const std::int64_t height = actual.size() / width;
  map.rows = std::min(height, most_cells);
  map.columns = std::min(width, most_cells);
  map.cells.resize(static_cast<std::size_t>(map.rows * map.columns));
  for (std::size_t axis = 0; axis < actual.shape.size(); ++axis) {
    const std::int64_t extent = actual.shape[axis];
    ErrorMap::Axis& along = map.axes.emplace_back();
    along.name = axis_of(spec, actual.shape, static_cast<std::ptrdiff_t>(axis));
    along.extent = extent;
    along.ratios.resize(static_cast<std::size_t>(std::min(extent, most_cells)));
  }
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double value = ratio(actual.at(i), expected.at(i), actual.dtype, tolerance);
    const std::int64_t row = (i / width) * map.rows / height;
    const std::int64_t column = (i % width) * map.columns / width;
    double& cell = map.cells[static_cast<std::size_t>(row * map.columns + column)];
    cell = std::max(cell, value);
    ++map.histogram[bin(value)];
    const double ulps = compare_element(actual.dtype, actual.at(i), expected.at(i), tolerance).ulps;
    ++map.ulps[ulps_bin(ulps)];
    std::int64_t rest = i;
    for (std::size_t axis = actual.shape.size(); axis-- > 0;) {
      ErrorMap::Axis& along = map.axes[axis];
      const std::int64_t at = rest % along.extent * std::ssize(along.ratios) / along.extent;
      rest /= along.extent;
      double& most = along.ratios[static_cast<std::size_t>(at)];
      most = std::max(most, value);
    }
  }
  std::erase_if(map.axes, [](const ErrorMap::Axis& along) { return along.extent < 2; });
  return map;
}

std::vector<ErrorMap> error_maps(const Signature& signature, const LoadedCase& loaded,
                                 const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& mistaken) {
  std::vector<ErrorMap> maps;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tolerance tolerance = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    ErrorMap map = error_map(signature.outputs[i], outputs[i], loaded.expected[i], tolerance);
    const bool wrong = std::ranges::any_of(map.cells, [](double ratio) { return !(ratio <= 1); });
    if (!wrong) continue;
    if (i < mistaken.size()) {
      map.mistake =
          error_map(signature.outputs[i], mistaken[i], loaded.expected[i], tolerance).cells;
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace prenorm::harness
