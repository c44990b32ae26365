// Where the errors of one output lie, and pictures of it: inline SVG. The colours are those of
// templates/failures.css; templates/patterns.mustache belongs in the page before them.
#pragma once

#include "fixture/fixture.hpp"
#include "fixture/verdict.hpp"

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

/// Rows and columns of the output, each cell by its largest error over the bound; a ring marks the
/// worst element. `report` is of the same output, or nullptr.
std::string heat_map(const ErrorMap& map, const OutputReport* report);

/// The same of the known mistake that explains the case; empty where there is none.
std::string mistake_map(const ErrorMap& map);

/// The largest error over the bound at each index of an axis, on a logarithmic scale.
std::string error_along(const ErrorMap::Axis& axis, const std::string& tensor);

/// How many elements are that many units in the last place off: a bar for each factor of two.
std::string ulp_histogram(const ErrorMap& map);

/// How many elements are that far off: a bar for each factor of two, with the bound marked. Its
/// axis is the key to the colours.
std::string histogram(const ErrorMap& map, const OutputReport* report);

}  // namespace prenorm::harness
