// Activation functions in kernels, emulated and in the kit on a device: every number of the 16-bit
// types, whose exponentials and quotients are approximate.
#include "activations.cuh"
#include "cuda_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

double exact(Relu, double x) { return x < 0 ? 0 : x; }
double exact(Sigmoid, double x) { return 1 / (1 + std::exp(-x)); }
double exact(Silu, double x) { return x / (1 + std::exp(-x)); }
double exact(Gelu, double x) { return x * (std::erfc(-x / std::sqrt(2.0)) / 2); }

template <class T>
struct Format;
template <>
struct Format<float16> {
  static constexpr int digits = 11, smallest_exponent = -14;
};
template <>
struct Format<bfloat16> {
  static constexpr int digits = 8, smallest_exponent = -126;
};

/// |y - wanted| in units in T's last place.
template <class T>
double units(T y, double wanted) {
  const double value = static_cast<float>(y);
  if (value == wanted) return 0;
  const int exponent = wanted == 0 ? Format<T>::smallest_exponent
                                   : std::max(std::ilogb(wanted), Format<T>::smallest_exponent);
  return std::abs(std::ldexp(value - wanted, Format<T>::digits - 1 - exponent));
}

/// All 65536 numbers: infinities, NaN, subnormal numbers and both zeros among them.
template <class T>
std::vector<T> every_number() {
  std::vector<T> numbers(1 << 16);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i].bits = static_cast<std::uint16_t>(i);
  }
  return numbers;
}

template <class T>
using Activate = void (*)(const char*, const T*, T*, std::int64_t, Stream);

template <class T>
std::vector<T> activated_by(Activate<T> activate, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const auto size = static_cast<std::int64_t>(x.size());
  const Mirror from(x.data(), size);
  const Mirror to(y.data(), size);
  activate("test", from.data(), to.data(), size, Stream{});
  to.take_back();
  return y;
}

/// The largest error of the launched version, in units in the last place.
template <class Activation, class T>
double largest_error() {
  const std::vector<T> x = every_number<T>();
  const std::vector<T> y = activated_by<T>(activate_launched<Activation, T>, x);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = static_cast<float>(x[i]), got = static_cast<float>(y[i]);
    const double wanted = exact(Activation(), at);
    const std::string what = "of " + std::to_string(at) + ": " + std::to_string(got);
    BOOST_REQUIRE_MESSAGE(std::isnan(got) == std::isnan(wanted), what);
    if (std::isnan(wanted)) continue;
    BOOST_REQUIRE_MESSAGE(std::signbit(got) == std::signbit(wanted), what);
    BOOST_REQUIRE_MESSAGE(std::isinf(got) == std::isinf(wanted), what);
    if (!std::isinf(wanted)) largest = std::max(largest, units(y[i], wanted));
  }
  return largest;
}

/// Rounding costs 1/2; activations.cuh says why all else is below 1/50.
template <class Activation>
void check_every_number(const char* name) {
  const double in_float16 = largest_error<Activation, float16>();
  const double in_bfloat16 = largest_error<Activation, bfloat16>();
  BOOST_TEST_MESSAGE(name << ": " << in_float16 << " units in the last place of float16, "
                          << in_bfloat16 << " of bfloat16");
  BOOST_TEST(in_float16 <= 0.52, name);
  BOOST_TEST(in_bfloat16 <= 0.52, name);
}

template <class Activation, class T>
void check_same_bits() {
  std::mt19937 random_bits{7};
  std::uniform_real_distribution<T> uniform(-40, 40);
  std::vector<T> x = {0, -T(0), INFINITY, -INFINITY, 1e-30f, -1e30f, 1e30f};
  while (x.size() < 4001) x.push_back(uniform(random_bits));
  const std::vector<T> naive = activated_by<T>(activate_v1<Activation, T>, x);
  const std::vector<T> launched = activated_by<T>(activate_launched<Activation, T>, x);
  BOOST_TEST(std::memcmp(naive.data(), launched.data(), x.size() * sizeof(T)) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_activations)

BOOST_AUTO_TEST_CASE(every_number_of_16_bits_is_rounded_well) {
  check_every_number<Sigmoid>("sigmoid");
  check_every_number<Silu>("silu");
  check_every_number<Gelu>("gelu");
  BOOST_TEST((largest_error<Relu, float16>() == 0));
  BOOST_TEST((largest_error<Relu, bfloat16>() == 0));
}

/// Only results that are rounded to 16 bits are approximated.
BOOST_AUTO_TEST_CASE(wider_types_have_the_formulas_bits) {
  check_same_bits<Sigmoid, float>();
  check_same_bits<Silu, float>();
  check_same_bits<Gelu, float>();
  check_same_bits<Silu, double>();
  check_same_bits<Gelu, double>();
}

BOOST_AUTO_TEST_SUITE_END()
