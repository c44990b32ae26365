// linear: small products by hand, batch axes, errors, rounding.
#include "linear.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(linear)

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_of_weight_are_outputs, T, AllTypes) {
  const auto x = tensor<T>({2, 3}, {1, 2, 3, -1, 0, 2});
  const auto weight = tensor<T>({2, 3}, {1, 0, 1, 2, -1, 0});
  BOOST_TEST(same(room::linear(x, weight), tensor<T>({2, 2}, {4, 0, 1, -2})));
}

BOOST_AUTO_TEST_CASE(a_square_weight_is_not_transposed) {
  const auto x = tensor<double>({1, 2}, {1, 10});
  const auto weight = tensor<double>({2, 2}, {1, 2, 3, 4});
  BOOST_TEST(same(room::linear(x, weight), tensor<double>({1, 2}, {21, 43})));
}

BOOST_AUTO_TEST_CASE(batch_axes_are_kept_and_do_not_change_the_result) {
  const auto x = random<double>({2, 3, 4, 5}, 1), weight = random<double>({7, 5}, 2);
  const auto y = room::linear(x, weight);
  BOOST_TEST((shape_of(y) == Shape{2, 3, 4, 7}));
  const auto flat = room::linear(reshaped(x, {24, 5}), weight);
  BOOST_TEST(same(reshaped(y, {24, 7}), flat));
  const auto row = room::linear(reshaped(slice(reshaped(x, {24, 5}), 0, 23, 24), {5}), weight);
  BOOST_TEST(close(row, reshaped(slice(flat, 0, 23, 24), {7}), 1e-15));
}

BOOST_AUTO_TEST_CASE(it_is_linear) {
  const auto x = random<double>({3, 33}, 1), z = random<double>({3, 33}, 2);
  const auto weight = random<double>({5, 33}, 3);
  const Tensor<double> mixed = 2.0 * x - 3.0 * z;
  const Tensor<double> expected = 2.0 * room::linear(x, weight) - 3.0 * room::linear(z, weight);
  BOOST_TEST(close(room::linear(mixed, weight), expected, 1e-13));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto x = random<T>({3, 300}, 1), weight = random<T>({5, 300}, 2);
  const auto wide = room::linear(converted<float>(x), converted<float>(weight));
  BOOST_TEST(same(room::linear(x, weight), converted<T>(wide)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_are_taken_in_float32, T, SixteenBits) {
  // 1 + 4095 terms of 1: a sum in T would stop growing at 2048 (float16) or 256 (bfloat16).
  const auto y = room::linear(filled<T>({1, 4096}, 1), filled<T>({1, 4096}, 1));
  BOOST_TEST(same(y, tensor<T>({1, 1}, {4096})));
}

BOOST_AUTO_TEST_CASE(float16_overflows_to_infinity_when_it_is_stored) {
  const auto y = room::linear(tensor<float16>({2, 2}, {60000, 60000, 60000, -60000}),
                              filled<float16>({1, 2}, 1));
  BOOST_TEST(same(y, tensor<double>({2, 1}, {infinity, 0})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_and_infinity_come_out_where_they_belong, T, AllTypes) {
  const auto x = tensor<T>({3, 2}, {NaN, 1, infinity, 1, 2, 3});
  const auto weight = tensor<T>({2, 2}, {1, 1, 0, 1});
  BOOST_TEST(
      same(room::linear(x, weight), tensor<double>({3, 2}, {NaN, NaN, infinity, NaN, 5, 3})));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  const auto no_rows = room::linear(empty<float>({0, 3}), filled<float>({2, 3}, 1));
  BOOST_TEST((shape_of(no_rows) == Shape{0, 2}));
  const auto no_outputs = room::linear(filled<float>({4, 3}, 1), empty<float>({0, 3}));
  BOOST_TEST((shape_of(no_outputs) == Shape{4, 0}));
  const auto nothing = room::linear(empty<float>({0, 0}), empty<float>({2, 0}));
  BOOST_TEST((shape_of(nothing) == Shape{0, 2}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto call = [](const Shape& x, const Shape& weight) {
    return room::linear(filled<double>(x, 0), filled<double>(weight, 0));
  };
  CHECK_REFUSED(call({2, 3}, {3}), "linear: weight must be [d_out, d_in], is [3]");
  CHECK_REFUSED(call({2, 3}, {3, 2}), "linear: x must be [..., 2], is [2, 3]");
  CHECK_REFUSED(call({}, {2, 1}), "linear: x must have an axis d_in");
  CHECK_REFUSED(call({2, 0}, {3, 0}), "linear: d_in is 0");
  // One column would broadcast, were it not checked.
  CHECK_REFUSED(call({2, 3}, {4, 1}), "x must be [..., 1]");
}

BOOST_AUTO_TEST_SUITE_END()
