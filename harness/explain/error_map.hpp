// Where the errors of one output lie: for a picture.
#pragma once

#include "fixture/fixture.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

/// |y - expected| over the bound (atol + rtol |expected|) of every element, pooled.
struct ErrorMap {
  std::string tensor;
  Shape shape;  // of the output
  std::int64_t rows = 0,
               columns = 0;  // of the map: all axes but the last, the last; at most 64 each
  /// The largest ratio of each map cell's elements; infinite where one is not finite and should be,
  /// or the other way round, and where the bound is 0 and missed.
  std::vector<double> cells;
  /// Elements by that ratio: <= 2^-8, ..., <= 1/2, <= 1, <= 2, ..., <= 2^20, beyond or not finite.
  std::vector<std::int64_t> histogram;
};

/// `actual` and `expected` (float64) have one shape.
ErrorMap error_map(const std::string& tensor, const Tensor& actual, const Tensor& expected,
                   const Tolerance& tolerance);

}  // namespace prenorm::harness
