// Helpers for the tests of the reference: tensors from a few numbers, and comparisons that say
// which element differs. A comparison is a predicate, so that BOOST_TEST names the test's own line.
//
// The tests of components are compiled twice: with the headers of reference/, and with those of
// reference/fast/. The include path and PRENORM_TEXT, defined for the former, say which; room:: is
// it.
#pragma once

#include "tensor.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace prenorm {
#if defined(PRENORM_TEXT)
namespace room = reference;
#else
namespace room = fast;
#endif
}  // namespace prenorm

namespace prenorm::testing {

using namespace room;

inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The element types of every problem.
using AllTypes = std::tuple<double, float, float16, bfloat16>;
using SixteenBits = std::tuple<float16, bfloat16>;

/// The distance from 1 to the next larger number of type T.
template <class T>
constexpr double epsilon() {
  if constexpr (std::is_same_v<T, float16>) return 0x1p-10;
  if constexpr (std::is_same_v<T, bfloat16>) return 0x1p-7;
  return static_cast<double>(std::numeric_limits<compute_t<T>>::epsilon());
}

/// A tensor of that shape, its values given in row-major order and rounded to T.
template <class T>
Tensor<T> tensor(const Shape& shape, const std::vector<double>& values) {
  auto result = empty<T>(shape);
  BOOST_REQUIRE_EQUAL(result.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (sizeof(T) == 2) {
      result.data()[i] = T(values[i]);
    } else {
      result.data()[i] = static_cast<T>(values[i]);
    }
  }
  return result;
}

template <class T>
Tensor<T> filled(const Shape& shape, double value) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  return tensor<T>(shape, std::vector<double>(size, value));
}

/// Uniform values in [-scale, scale), the same in every run and on every machine.
template <class T>
Tensor<T> random(const Shape& shape, std::uint64_t seed, double scale = 1) {
  std::mt19937_64 generator(seed);
  auto result = empty<double>(shape);
  for (double& value : result)
    value = scale * (static_cast<double>(generator() >> 11) * 0x1p-52 - 1);
  return tensor<T>(shape, {result.begin(), result.end()});
}

/// Every element as float64.
template <class T>
std::vector<double> values(const Tensor<T>& x) {
  std::vector<double> result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(static_cast<double>(x.data()[i]));
  return result;
}

/// x converted to another element type: exact where that is wider, else rounded once.
template <class To, class From>
Tensor<To> converted(const Tensor<From>& x) {
  return tensor<To>(shape_of(x), values(x));
}

/// The part [first, last) of an axis, copied.
template <class T>
Tensor<T> slice(const Tensor<T>& x, std::size_t axis, std::size_t first, std::size_t last) {
  xt::xstrided_slice_vector slices(x.dimension(), xt::all());
  slices[axis] = xt::range(first, last);
  return xt::strided_view(x, slices);
}

/// The same elements in the same order, in another shape.
template <class T>
Tensor<T> reshaped(Tensor<T> x, const Shape& shape) {
  x.reshape(shape);
  return x;
}

/// Whether shapes agree and |actual - expected| <= tolerance max(1, |expected|) at every element;
/// NaN agrees with NaN, an infinity with the same infinity.
template <class T, class U>
boost::test_tools::predicate_result close(const Tensor<T>& actual, const Tensor<U>& expected,
                                          double tolerance) {
  boost::test_tools::predicate_result result(true);
  const auto fail = [&](const std::string& message) {
    result = false;
    result.message() << message;
    return result;
  };
  if (shape_of(actual) != shape_of(expected)) {
    return fail("shape " + to_text(actual.shape()) + ", wanted " + to_text(expected.shape()));
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto a = static_cast<double>(actual.data()[i]);
    const auto e = static_cast<double>(expected.data()[i]);
    const bool agrees = std::isfinite(e) ? std::abs(a - e) <= tolerance * std::max(1.0, std::abs(e))
                        : std::isnan(e)  ? std::isnan(a)
                                         : a == e;
    if (!agrees) {
      std::ostringstream message;
      message.precision(17);
      message << "element " << i << " is " << a << ", wanted " << e << ", tolerance " << tolerance;
      return fail(message.str());
    }
  }
  return result;
}

/// Whether shapes and values agree exactly (NaN with NaN).
template <class T, class U>
boost::test_tools::predicate_result same(const Tensor<T>& actual, const Tensor<U>& expected) {
  return close(actual, expected, 0);
}

/// Whether an exception's message holds a text: for BOOST_CHECK_EXCEPTION.
inline auto says(std::string text) {
  return [text = std::move(text)](const std::exception& error) {
    const bool found = std::string(error.what()).find(text) != std::string::npos;
    if (!found) BOOST_TEST_MESSAGE("the message is: " << error.what() << "; wanted: " << text);
    return found;
  };
}

}  // namespace prenorm::testing

/// A call must throw std::invalid_argument, with this text in its message.
#define CHECK_REFUSED(call, text) BOOST_CHECK_EXCEPTION(call, std::invalid_argument, says(text))
