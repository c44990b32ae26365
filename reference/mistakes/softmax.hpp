// Known mistakes of reference/softmax.hpp.
#pragma once

#include "../fast/softmax.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::softmax {

/// The axis that is summed over, of `axes`, where `dim` is meant.
using Axis = std::size_t (*)(std::size_t dim, std::size_t axes);
inline std::size_t as_given(std::size_t dim, std::size_t) { return dim; }

/// What is added to the sum, by what was subtracted first.
using Addend = double (*)(double subtracted);

/// What is subtracted first.
enum class Subtracted { maximum, nothing, maximum_or_minus_1e4, maximum_of_32, maximum_of_all };

/// The steps of softmax; the defaults are right.
struct Steps : AnySteps {
  Axis axis = as_given;
  bool over_all_axes = false;
  bool one_sum = false;  // of all slices
  Subtracted subtracted = Subtracted::maximum;
  bool rounds_differences = false, rounds_exponentials = false, rounds_sums = false;  // to T
  bool rescales_sum = true;  // where the maximum grows from tile to tile
  Addend added_to_sum = nullptr;
  bool divides = true;  // or else the sum's logarithm is subtracted
  bool ends_in_logarithm = false;

  bool operator==(const Steps&) const = default;
};

/// n elements, stride apart.
struct Slice {
  double* first;
  std::size_t n, stride;

  double& operator[](std::size_t i) const { return first[i * stride]; }
  double largest(std::size_t begin, std::size_t end, double from) const {
    for (std::size_t i = begin; i < end; ++i) from = std::max(from, (*this)[i]);
    return from;
  }
};

inline double maximum(const Steps& steps, const Slice& a, double of_all) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // step: maximum
  switch (steps.subtracted) {
    case Subtracted::nothing: return 0;
    case Subtracted::maximum_or_minus_1e4: return a.largest(0, a.n, -1e4);
    case Subtracted::maximum_of_32:  // one for each lane of a warp
      return a.largest(0, std::min<std::size_t>(a.n, 32), -infinity);
    case Subtracted::maximum_of_all: return of_all;
    default: return a.largest(0, a.n, -infinity);
  }
}

/// The sum of exponentials by tiles of 256, each with the maximum so far.
inline double sum_not_rescaled_of(const Slice& a) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t i = 0; i < a.n; ++i) {
    if (i % 256 == 0) largest = a.largest(i, std::min(i + 256, a.n), largest);
    sum += std::exp(a[i] - largest);
  }
  return sum;
}

/// exp(x - log sum e^x) in the compute type, which keeps fewer digits the larger x is: a logarithm
/// near 100 is known to 4e-6 in float32.
inline void subtract_logarithm(const Element& t, const Slice& a, double largest, double sum) {
  const auto in = [&]<class C>(C log_sum_exp) {
    for (std::size_t i = 0; i < a.n; ++i) a[i] = std::exp(static_cast<C>(a[i]) - log_sum_exp);
  };
  const double log_sum_exp = largest + std::log(sum);
  t.is<double>() ? in(log_sum_exp) : in(static_cast<float>(log_sum_exp));
}

inline void normalize(const Steps& steps, const Element& t, const Slice& a, double of_all) {
  // step: maximum
  const double subtracted = maximum(steps, a, of_all);
  const bool overflows = steps.subtracted != Subtracted::maximum;  // in the compute type
  // step: exponentials
  std::vector<double> exponentials(a.n);
  double sum = 0;
  for (std::size_t i = 0; i < a.n; ++i) {
    double difference = a[i] - subtracted;
    if (steps.rounds_differences) difference = t.round(difference);
    double& e = exponentials[i] = overflows ? exp_in(t, difference) : std::exp(difference);
    if (steps.rounds_exponentials) e = t.round(e);
    sum = steps.rounds_sums ? t.round(sum + e) : sum + e;  // step: sum
  }
  // step: sum
  if (!steps.rescales_sum) sum = sum_not_rescaled_of(a);
  if (steps.added_to_sum) sum += steps.added_to_sum(subtracted);
  if (steps.one_sum) sum = 1;
  // step: normalize
  if (!steps.divides) return subtract_logarithm(t, a, subtracted, sum);
  for (std::size_t i = 0; i < a.n; ++i) a[i] = exponentials[i] / sum;
}

inline Wide softmax(const Steps& steps, const Element& t, const Wide& x, std::int64_t dim) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  fast::require(dim >= -axes && dim < axes, "softmax: dim is no axis of x");
  // step: maximum, sum
  const std::size_t axis =
      steps.axis(static_cast<std::size_t>(dim < 0 ? dim + axes : dim), x.dimension());
  std::size_t n = x.shape(axis), stride = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) stride *= x.shape(after);
  if (steps.over_all_axes) n = x.size(), stride = 1;

  Wide y = x;
  const double of_all =
      Slice{y.data(), y.size(), 1}.largest(0, y.size(), -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i / stride % n == 0) normalize(steps, t, {y.data() + i, n, stride}, of_all);
  }
  // step: normalize
  if (steps.one_sum) y /= xt::sum(y)();
  if (steps.ends_in_logarithm) y = Wide(xt::log(y));
  return y;
}

/// e^x / sum e^x: overflows, in the compute type, where the maximum would have been
/// subtracted.
inline void no_maximum(Steps& steps) { steps.subtracted = Subtracted::nothing; }

/// The axis before `dim` (the last one if `dim` is the first).
inline void wrong_axis(Steps& steps) {
  steps.axis = [](std::size_t dim, std::size_t axes) { return (dim + axes - 1) % axes; };
}

/// The last axis, whatever `dim` says.
inline void over_last_axis(Steps& steps) {
  steps.axis = [](std::size_t, std::size_t axes) { return axes - 1; };
}

/// The first axis, whatever `dim` says.
inline void over_first_axis(Steps& steps) {
  steps.axis = [](std::size_t, std::size_t) { return std::size_t{0}; };
}

/// One maximum and one sum, of the whole tensor.
inline void global_sum(Steps& steps) { steps.over_all_axes = true; }

/// A maximum for each slice, and one sum of the whole tensor.
inline void global_sum_after_maxima(Steps& steps) { steps.one_sum = true; }

/// exp(x - max) / (1 + sum).
inline void one_added_to_sum(Steps& steps) {
  steps.added_to_sum = [](double) { return 1.0; };
}

/// e^x / (1 + sum e^x): "softmax-one" (Miller 2023), as if there were an element 0 more.
inline void one_added_to_sum_of_e_x(Steps& steps) {
  steps.added_to_sum = [](double subtracted) { return std::exp(-subtracted); };
}

/// log softmax.
inline void logarithm(Steps& steps) { steps.ends_in_logarithm = true; }

/// exp(x - log sum e^x). float16 does not show it: up to its largest number, 65504, float32 keeps
/// enough digits of the difference.
inline void log_sum_exp_subtracted(Steps& steps, const Element& t) {
  require_shown(!t.is<float16>());
  steps.divides = false;
}

/// The exponentials rounded to T before they are summed and divided.
inline void exponentials_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_exponentials = true;
}

/// The differences from the maximum rounded to T.
inline void differences_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_differences = true;
}

/// The sum of exponentials rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_sums = true;
}

/// The search for the maximum begins at -10000 instead of -infinity.
inline void maximum_from_minus_1e4(Steps& steps) {
  steps.subtracted = Subtracted::maximum_or_minus_1e4;
}

/// The maximum of the first 32 elements only, one for each lane of a warp.
inline void maximum_of_first_tile(Steps& steps) { steps.subtracted = Subtracted::maximum_of_32; }

/// One maximum for the whole tensor: slices far below it vanish.
inline void one_maximum_for_all(Steps& steps) { steps.subtracted = Subtracted::maximum_of_all; }

/// In one pass over tiles of 256, the sum not rescaled where the maximum grows.
inline void sum_not_rescaled(Steps& steps) { steps.rescales_sum = false; }

}  // namespace prenorm::mistakes::softmax
