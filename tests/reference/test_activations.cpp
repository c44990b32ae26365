// relu, silu, gelu: values from mpmath, the tails, and what is not finite.
#include "activations.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(activations)

/// Whether |actual - expected| <= units * epsilon(T) |expected| at every element of a list.
template <class T>
boost::test_tools::predicate_result relatively_close(const Tensor<T>& actual,
                                                     const std::vector<double>& expected,
                                                     double units) {
  boost::test_tools::predicate_result result(true);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = static_cast<double>(actual.data()[i]);
    if (std::abs(a - expected[i]) <= units * epsilon<T>() * std::abs(expected[i])) continue;
    result = false;
    result.message() << "element " << i << " is " << a << ", wanted " << expected[i];
  }
  return result;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(relu_is_exact, T, AllTypes) {
  const auto x = tensor<T>({2, 3}, {-2, -0.0, 0, 0.5, 3, -infinity});
  const auto y = relu(x);
  BOOST_TEST(same(y, tensor<T>({2, 3}, {0, 0, 0, 0.5, 3, 0})));
  BOOST_TEST(same(relu(tensor<T>({2}, {NaN, infinity})), tensor<T>({2}, {NaN, infinity})));
}

BOOST_AUTO_TEST_CASE(relu_keeps_subnormals) {
  const auto y = relu(tensor<float>({2}, {1e-45, -1e-45}));
  BOOST_TEST(same(y, tensor<float>({2}, {1e-45, 0})));
  auto smallest = empty<float16>({1});
  smallest.data()[0].bits = 1;
  BOOST_TEST(relu(smallest).data()[0].bits == 1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(silu_of_small_numbers, T, AllTypes) {
  const auto y = silu(tensor<T>({4}, {-1, 0, 1, 20}));
  BOOST_TEST(
      relatively_close(y, {-0.26894142136999512, 0, 0.73105857863000488, 19.999999958776928}, 2));
}

BOOST_AUTO_TEST_CASE(silu_far_out) {
  BOOST_TEST(relatively_close(
      silu(tensor<double>({3}, {-700, -100, -88})),
      {-6.9017735806318396e-302, -3.720075976020836e-42, -5.3280496679530436e-37}, 4));
  BOOST_TEST(same(silu(tensor<double>({2}, {-1000, 1000})), tensor<double>({2}, {0, 1000})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(silu_is_finite_for_finite_numbers, T, AllTypes) {
  const auto y = silu(tensor<T>({6}, {-60000, -1000, -100, 100, 1000, 60000}));
  for (const double value : values(y)) BOOST_TEST(std::isfinite(value));
  BOOST_TEST(close(y, tensor<T>({6}, {0, 0, 0, 100, 1000, 60000}), epsilon<T>()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gelu_of_small_numbers, T, AllTypes) {
  const auto y = gelu(tensor<T>({6}, {-2, -1, -0.5, 0, 1, 2}));
  BOOST_TEST(relatively_close(y,
                              {-0.045500263896358414, -0.15865525393145705, -0.15426876936299345, 0,
                               0.84134474606854295, 1.9544997361036416},
                              4));
}

BOOST_AUTO_TEST_CASE(gelu_far_below_zero_is_accurate) {
  // Here 1 + erf cancels: from -6 on in float32 and from -8.3 on in float64 nothing would be left.
  const auto x = tensor<double>({10}, {-4, -5.5, -6, -8, -10, -13, -20, -30, -37, -38});
  BOOST_TEST(relatively_close(
      gelu(x),
      {-0.00012668496733247969, -1.0444259356238246e-7, -5.9195258702261888e-9,
       -4.9767684594174273e-15, -7.6198530241605261e-23, -7.9523137194148436e-38,
       -5.5072482372124674e-88, -1.4720141781444561e-196, -2.1184613523340934e-298},
      1000));
  BOOST_TEST(
      relatively_close(gelu(tensor<float>({6}, {-4, -5.5, -6, -8, -10, -13})),
                       {-0.00012668496733247969, -1.0444259356238246e-7, -5.9195258702261888e-9,
                        -4.9767684594174273e-15, -7.6198530241605261e-23, -7.9523137194148436e-38},
                       200));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gelu_is_the_exact_form, T, SixteenBits) {
  // The tanh form gives -7.0e-5 at -4, twice the sigmoid form's sign of error; both are far away.
  BOOST_TEST(relatively_close(gelu(tensor<T>({2}, {-4, -5})),
                              {-0.00012668496733247969, -1.4332578856489196e-6},
                              std::is_same_v<T, float16> ? 20 : 1));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(not_finite_as_the_formula_says, T, AllTypes) {
  const auto x = tensor<T>({3}, {-infinity, infinity, NaN});
  BOOST_TEST(same(silu(x), tensor<double>({3}, {NaN, infinity, NaN})));
  BOOST_TEST(same(gelu(x), tensor<double>({3}, {NaN, infinity, NaN})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_keep_their_sign, T, AllTypes) {
  for (const auto& y : {silu(tensor<T>({2}, {-0.0, 0.0})), gelu(tensor<T>({2}, {-0.0, 0.0}))}) {
    BOOST_TEST(same(y, filled<T>({2}, 0)));
    BOOST_TEST(std::signbit(values(y)[0]));
    BOOST_TEST(!std::signbit(values(y)[1]));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  // More elements than one part of map_elements, and a last part that is not full.
  const auto x = random<T>({3, 3001}, 1, 8);
  const auto wide = converted<float>(x);
  BOOST_TEST(same(silu(x), converted<T>(silu(wide))));
  BOOST_TEST(same(gelu(x), converted<T>(gelu(wide))));
  BOOST_TEST(same(relu(x), converted<T>(relu(wide))));
}

BOOST_AUTO_TEST_CASE(identities) {
  const auto x = random<double>({1000}, 1, 6);
  const Tensor<double> minus_x = -x;
  BOOST_TEST(close(Tensor<double>(silu(x) - silu(minus_x)), x, 1e-14));
  BOOST_TEST(close(Tensor<double>(gelu(x) - gelu(minus_x)), x, 1e-14));
  BOOST_TEST(same(Tensor<double>(relu(x) - relu(minus_x)), x));
}

BOOST_AUTO_TEST_CASE(shapes_without_axes_or_elements) {
  BOOST_TEST(same(relu(tensor<float>({}, {-1})), tensor<float>({}, {0})));
  for (const auto& y : {relu(empty<float>({2, 0, 3})), silu(empty<float>({2, 0, 3})),
                        gelu(empty<float>({2, 0, 3}))}) {
    BOOST_TEST((shape_of(y) == Shape{2, 0, 3}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
