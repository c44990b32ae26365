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
  /// Elements by |y - expected| in units in the last place: 0, <= 1/2, <= 1, <= 2, ..., <= 2^20,
  /// beyond or not finite.
  std::vector<std::int64_t> ulps = {};
  /// For each axis of more than one index, the largest ratio at each index, at most 64 of them.
  struct Axis {
    std::string name;
    std::int64_t extent = 0;
    std::vector<double> ratios;
  };
  std::vector<Axis> axes = {};
  /// The cells of the known mistake that explains the case; none where there is none.
  std::vector<double> mistake = {};
};

/// `actual` and `expected` (float64) have one shape; `spec` names the tensor and its axes.
ErrorMap error_map(const TensorSpec& spec, const Tensor& actual, const Tensor& expected,
                   const Tolerance& tolerance);

/// The maps of a case's wrong outputs; `mistaken` is what the known mistake gives that explains it,
/// or nothing.
std::vector<ErrorMap> error_maps(const Signature& signature, const LoadedCase& loaded,
                                 const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& mistaken);

}  // namespace prenorm::harness
