// linear: a small product by hand, rounding, errors.
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

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto x = random<T>({3, 300}, 1), weight = random<T>({5, 300}, 2);
  const auto wide = room::linear(converted<float>(x), converted<float>(weight));
  BOOST_TEST(same(room::linear(x, weight), converted<T>(wide)));
}

BOOST_AUTO_TEST_CASE(float16_overflows_to_infinity_when_it_is_stored) {
  const auto y = room::linear(tensor<float16>({2, 2}, {60000, 60000, 60000, -60000}),
                              filled<float16>({1, 2}, 1));
  BOOST_TEST(same(y, tensor<double>({2, 1}, {infinity, 0})));
}

BOOST_AUTO_TEST_CASE(no_rows_of_no_elements_are_no_error) {
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
