#include "compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <prenorm/float16.hpp>
#include <stdexcept>

namespace prenorm::harness {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr std::int64_t block_size = 1024;  // elements judged at a time: both arrays stay in cache
constexpr std::size_t lanes = 8;           // sums and maxima kept side by side, for SIMD

/// What an element is held against.
struct Rule {
  double atol, rtol;
  double overflow;                              // the least magnitude that rounds to infinity
  double smallest_power, largest_power, units;  // a spacing is a power of two between, over units

  Rule(DType dtype, const Tolerance& tolerance)
      : atol(tolerance.atol),
        rtol(tolerance.rtol),
        overflow(overflow_threshold(dtype)),
        smallest_power(spacing(dtype, 0) / epsilon(dtype)),
        largest_power(spacing(dtype, largest) / epsilon(dtype)),
        units(1 / epsilon(dtype)) {}
};

/// What is said of one element where actual and expected are finite.
struct Element {
  double difference, relative, ulps;
  bool passes;
  double badness;  // up to 1 where it passes, from 2 on where it does not
};

inline double power_of_two_below(double positive) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(positive) & 0x7ff0000000000000u);
}

inline Element judge(double actual, double expected, const Rule& rule) {
  // Where the bound is zero the differences themselves are ranked, by way of a tiny bound.
  constexpr double tiny = 0x1p-900;
  const double magnitude = std::fabs(expected);
  const double difference = std::fabs(actual - expected);
  const double bound = rule.atol + rule.rtol * magnitude;
  const bool passes = difference <= bound;
  double power = magnitude > rule.smallest_power ? magnitude : rule.smallest_power;
  power = power_of_two_below(power < rule.largest_power ? power : rule.largest_power);
  return {difference, magnitude > 0 ? difference / magnitude : 0.0, difference / power * rule.units,
          passes, difference / (bound + tiny) + (passes ? 0.0 : 2.0)};
}

/// The same where one of them is NaN or infinite.
inline bool passes_without_numbers(double actual, double expected, const Rule& rule) {
  const bool overflows = std::fabs(expected) >= rule.overflow;  // true for an infinity as well
  return std::isnan(expected) ? std::isnan(actual)
                              : overflows && actual == std::copysign(infinity, expected);
}

/// What is said of many elements.
struct Totals {
  double max_abs = 0, max_rel = 0, max_ulp = 0;
  double sum_difference_squared = 0, sum_expected_squared = 0;
  std::int64_t finite = 0, mismatches = 0;
  double worst_badness = -1;
  std::int64_t worst = 0;

  void worse(double badness, std::int64_t i) {
    if (badness > worst_badness) {
      worst_badness = badness;
      worst = i;
    }
  }
};

/// Any values, one element after the other; `first` is the number of the first.
void judge_with_care(const double* actual, const double* expected, std::int64_t count,
                     std::int64_t first, const Rule& rule, Totals& totals) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double y = actual[i], e = expected[i];
    if (std::isfinite(y) && std::isfinite(e)) {
      const Element element = judge(y, e, rule);
      totals.max_abs = std::max(totals.max_abs, element.difference);
      totals.max_rel = std::max(totals.max_rel, element.relative);
      totals.max_ulp = std::max(totals.max_ulp, element.ulps);
      totals.sum_difference_squared += element.difference * element.difference;
      totals.sum_expected_squared += e * e;
      totals.finite += 1;
      totals.mismatches += element.passes ? 0 : 1;
      totals.worse(element.badness, first + i);
      continue;
    }
    const bool passes = passes_without_numbers(y, e, rule);
    totals.mismatches += passes ? 0 : 1;
    totals.worse(passes ? 0 : infinity, first + i);
  }
}

/// The same for a whole block without branches, so that the compiler makes SIMD of it.
///
/// False, and nothing added, where an element is not finite.
bool judge_finite_block(const double* actual, const double* expected, std::int64_t first,
                        const Rule& rule, Totals& totals) {
  std::array<double, lanes> max_abs{}, max_rel{}, max_ulp{}, badness{}, squares{},
      expected_squares{}, mismatches{};
  for (std::int64_t i = 0; i < block_size; i += static_cast<std::int64_t>(lanes)) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double e = expected[static_cast<std::size_t>(i) + lane];
      const Element element = judge(actual[static_cast<std::size_t>(i) + lane], e, rule);
      const auto raise = [lane](std::array<double, lanes>& to, double value) {
        to[lane] = value > to[lane] ? value : to[lane];
      };
      raise(max_abs, element.difference);
      raise(max_rel, element.relative);
      raise(max_ulp, element.ulps);
      raise(badness, element.badness);
      squares[lane] += element.difference * element.difference;
      expected_squares[lane] += e * e;
      mismatches[lane] += element.passes ? 0.0 : 1.0;
    }
  }
  const double sum = [&] {  // NaN or infinite if any difference is
    double all = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) all += squares[lane];
    return all;
  }();
  if (!(sum <= largest)) return false;

  const double worst = *std::ranges::max_element(badness);
  if (worst > totals.worst_badness) {  // rare: look where it was
    for (std::int64_t i = 0; i < block_size; ++i) {
      totals.worse(judge(actual[i], expected[i], rule).badness, first + i);
    }
  }
  totals.max_abs = std::max(totals.max_abs, *std::ranges::max_element(max_abs));
  totals.max_rel = std::max(totals.max_rel, *std::ranges::max_element(max_rel));
  totals.max_ulp = std::max(totals.max_ulp, *std::ranges::max_element(max_ulp));
  totals.sum_difference_squared += sum;
  for (const double part : expected_squares) totals.sum_expected_squared += part;
  for (const double part : mismatches) totals.mismatches += static_cast<std::int64_t>(part);
  totals.finite += block_size;
  return true;
}

template <class T>
Totals judge_all(const T* actual, const double* expected, std::int64_t count, const Rule& rule) {
  Totals totals;
  std::array<double, block_size> widened;
  for (std::int64_t first = 0; first < count; first += block_size) {
    const std::int64_t here = std::min(block_size, count - first);
    for (std::int64_t i = 0; i < here; ++i) {
      widened[static_cast<std::size_t>(i)] = static_cast<double>(actual[first + i]);
    }
    if (here < block_size ||
        !judge_finite_block(widened.data(), expected + first, first, rule, totals)) {
      judge_with_care(widened.data(), expected + first, here, first, rule, totals);
    }
  }
  return totals;
}

Totals judge_all(const Tensor& actual, const double* expected, const Rule& rule) {
  const void* data = actual.data.data();
  const std::int64_t count = actual.size();
  switch (actual.dtype) {
    case DType::float64: return judge_all(static_cast<const double*>(data), expected, count, rule);
    case DType::float32: return judge_all(static_cast<const float*>(data), expected, count, rule);
    case DType::float16: return judge_all(static_cast<const float16*>(data), expected, count, rule);
    case DType::bfloat16:
      return judge_all(static_cast<const bfloat16*>(data), expected, count, rule);
    case DType::int64:
      return judge_all(static_cast<const std::int64_t*>(data), expected, count, rule);
    case DType::boolean:
      return judge_all(static_cast<const std::uint8_t*>(data), expected, count, rule);
  }
  throw std::logic_error("unknown element type");
}

/// ||y - e|| / ||e|| over the elements where both are finite, scaled so that no square overflows
/// or vanishes: for values near the ends of float64's range.
double relative_l2_with_care(const Tensor& actual, const double* expected) {
  const auto norm = [&](auto value) {
    double scale = 0, sum = 0;
    for (const bool measuring : {true, false}) {
      for (std::int64_t i = 0; i < actual.size(); ++i) {
        const double y = actual.at(i), e = expected[i];
        if (!std::isfinite(y) || !std::isfinite(e)) continue;
        const double v = std::fabs(value(y, e));
        if (measuring)
          scale = std::max(scale, v);
        else
          sum += (v / scale) * (v / scale);
      }
      if (scale == 0 || std::isinf(scale)) return scale;
    }
    return scale * std::sqrt(sum);
  };
  const double difference = norm([](double y, double e) { return y - e; });
  const double reference = norm([](double, double e) { return e; });
  return difference == 0 ? 0 : difference / reference;
}

double relative_l2(const Totals& totals, const Tensor& actual, const double* expected) {
  constexpr double least = 0x1p-900;
  const double difference = totals.sum_difference_squared, reference = totals.sum_expected_squared;
  if (totals.max_abs == 0) return 0;
  const bool trusted =
      difference >= least && difference <= largest && reference >= least && reference <= largest;
  if (trusted) return std::sqrt(difference) / std::sqrt(reference);
  return relative_l2_with_care(actual, expected);
}

std::string shortest(auto value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

/// The shortest text that tells the number from others of the type, and is exact for the type's
/// own.
std::string number(double value, DType dtype) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  const bool narrow = dtype != DType::float64 && std::fabs(value) <= overflow_threshold(dtype);
  return narrow ? shortest(static_cast<float>(value)) : shortest(value);
}

std::string rounded(double value) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 3);
  return {text.data(), end.ptr};
}

}  // namespace

OutputReport compare(const std::string& name, const Tensor& actual, const Tensor& expected,
                     const Tolerance& tolerance) {
  if (expected.dtype != DType::float64 || actual.shape != expected.shape) {
    throw std::invalid_argument("compare: output " + name + " is " + to_text(actual.shape) +
                                ", expected is " + std::string(harness::name(expected.dtype)) +
                                " " + to_text(expected.shape) + ", wanted float64 of one shape");
  }
  // Tensor's bytes come from operator new, which aligns them for every element type.
  const auto* truth = reinterpret_cast<const double*>(expected.data.data());
  const Totals totals = judge_all(actual, truth, Rule(actual.dtype, tolerance));

  OutputReport report;
  report.name = name;
  report.elements = actual.size();
  report.mismatches = totals.mismatches;
  report.atol = tolerance.atol;
  report.rtol = tolerance.rtol;
  if (totals.finite > 0) {
    report.max_abs_error = totals.max_abs;
    report.max_rel_error = totals.max_rel;
    report.max_ulp_error = totals.max_ulp;
    report.relative_l2_error = relative_l2(totals, actual, truth);
  }
  if (report.elements > 0) {
    report.worst_index = index_of(totals.worst, actual.shape);
    report.worst_actual = actual.at(totals.worst);
    report.worst_expected = truth[totals.worst];
  }
  return report;
}

ElementReport compare_element(DType dtype, double actual, double expected,
                              const Tolerance& tolerance) {
  const Rule rule(dtype, tolerance);
  if (std::isfinite(actual) && std::isfinite(expected)) {
    const Element element = judge(actual, expected, rule);
    return {element.passes, element.ulps};
  }
  const bool passes = passes_without_numbers(actual, expected, rule);
  return {passes, passes ? 0 : infinity};
}

std::string explain(const OutputReport& report, DType dtype) {
  const std::string elements =
      std::to_string(report.elements) + (report.elements == 1 ? " element" : " elements");
  if (report.elements == 0) return report.name + ": empty, as expected";
  const double actual = report.worst_actual.value_or(0);
  const double expected = report.worst_expected.value_or(0);
  const double bound = report.atol + report.rtol * std::fabs(expected);
  std::string text = report.name + ": ";
  if (report.mismatches == 0) {
    text += elements + " within tolerance, nearest to it at ";
  } else {
    text += std::to_string(report.mismatches) + " of " + elements + " wrong, worst at ";
  }
  // Different numbers that look the same in the output's type get all their digits.
  const bool alike = actual != expected && number(actual, dtype) == number(expected, dtype);
  const DType digits = alike ? DType::float64 : dtype;
  text += to_text(report.worst_index) + ": " + number(actual, digits) + ", expected " +
          number(expected, digits);
  if (std::isfinite(actual) && std::isfinite(expected)) {
    text +=
        " (off by " + rounded(std::fabs(actual - expected)) + ", allowed " + rounded(bound) + ")";
  }
  return text;
}

}  // namespace prenorm::harness
