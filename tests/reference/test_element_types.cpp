// Element types: widening to the compute type, and rounding from it.
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(element_types)

BOOST_AUTO_TEST_CASE_TEMPLATE(widening_and_narrowing_keep_what_fits, T, AllTypes) {
  const auto x = tensor<T>({2, 2}, {1.5, -0.0, infinity, NaN});
  BOOST_TEST(same(widen(x), x));
  BOOST_TEST(same(narrow<T>(widen(x)), x));
  static_assert(std::is_same_v<compute_t<T>, double> == std::is_same_v<T, double>);
}

BOOST_AUTO_TEST_CASE(narrowing_rounds_to_nearest_even) {
  const auto x = tensor<float>({4}, {2049, 2051, 65519, 65520});
  BOOST_TEST(same(narrow<float16>(x), tensor<double>({4}, {2048, 2052, 65504, infinity})));
  const auto z = tensor<float>({3}, {257, 259, 258});
  BOOST_TEST(same(narrow<bfloat16>(z), tensor<double>({3}, {256, 260, 258})));
  // An expression is computed in the compute type and rounded once: 1 + 2^-8 + 2^-8 is 1 + 2^-7.
  const auto one = tensor<float>({1}, {1}), half_step = tensor<float>({1}, {0x1p-8});
  BOOST_TEST(
      same(narrow<bfloat16>(one + half_step + half_step), tensor<double>({1}, {1 + 0x1p-7})));
}

BOOST_AUTO_TEST_SUITE_END()
