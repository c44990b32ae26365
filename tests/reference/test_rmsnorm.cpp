// rmsnorm: a row by hand, what it is invariant to, eps, widening.
#include "rmsnorm.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(rmsnorm)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_row_by_hand, T, AllTypes) {
  // The mean square of (1, 7) is 25, that of (-3, 4) with eps 12.5 is 25 too.
  const auto first = room::rmsnorm(tensor<T>({2}, {1, 7}), tensor<T>({2}, {1, 2}), 0.0);
  BOOST_TEST(close(first, tensor<double>({2}, {0.2, 2.8}), epsilon<T>()));
  const auto second = room::rmsnorm(tensor<T>({2}, {-3, 4}), tensor<T>({2}, {1, 2}), 12.5);
  BOOST_TEST(close(second, tensor<double>({2}, {-0.6, 1.6}), epsilon<T>()));
}

BOOST_AUTO_TEST_CASE(the_default_of_eps) {
  const auto x = random<double>({2, 5}, 1), weight = random<double>({5}, 2);
  BOOST_TEST(same(room::rmsnorm(x, weight), room::rmsnorm(x, weight, 1e-5)));
  BOOST_TEST(!same(room::rmsnorm(x, weight), room::rmsnorm(x, weight, 1e-6)));
}

BOOST_AUTO_TEST_CASE(each_row_has_its_own_mean) {
  const auto x = random<double>({3, 4, 33}, 1), weight = random<double>({33}, 2);
  const auto y = room::rmsnorm(x, weight);
  BOOST_TEST((shape_of(y) == Shape{3, 4, 33}));
  const auto row = room::rmsnorm(slice(slice(x, 0, 1, 2), 1, 2, 3), weight);
  BOOST_TEST(same(row, slice(slice(y, 0, 1, 2), 1, 2, 3)));
}

BOOST_AUTO_TEST_CASE(scale_does_not_matter_without_eps) {
  const auto x = random<double>({4, 257}, 1), weight = random<double>({257}, 2);
  const auto y = room::rmsnorm(x, weight, 0.0);
  BOOST_TEST(close(room::rmsnorm(Tensor<double>(x * 1000.0), weight, 0.0), y, 1e-14));
  const Tensor<double> minus_y = -y;
  BOOST_TEST(close(room::rmsnorm(Tensor<double>(x * -0.001), weight, 0.0), minus_y, 1e-14));
}

BOOST_AUTO_TEST_CASE(the_result_has_mean_square_one) {
  const auto y = room::rmsnorm(random<double>({1, 1000}, 1, 50), filled<double>({1000}, 1), 0.0);
  double sum = 0;
  for (const double value : y) sum += value * value;
  BOOST_TEST(std::abs(sum / 1000 - 1) < 1e-14);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_row_of_zeros_gives_zeros, T, AllTypes) {
  BOOST_TEST(
      same(room::rmsnorm(filled<T>({2, 3}, 0), filled<T>({3}, 5)), filled<double>({2, 3}, 0)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto x = random<T>({5, 257}, 1, 3), weight = random<T>({257}, 2);
  const auto wide = room::rmsnorm(converted<float>(x), converted<float>(weight));
  BOOST_TEST(same(room::rmsnorm(x, weight), converted<T>(wide)));
}

BOOST_AUTO_TEST_CASE(float16_squares_do_not_overflow) {
  const auto y = room::rmsnorm(tensor<float16>({2}, {60000, -60000}), filled<float16>({2}, 1));
  BOOST_TEST(same(y, tensor<double>({2}, {1, -1})));
}

BOOST_AUTO_TEST_CASE(eps_is_inside_the_root_for_tiny_values) {
  // x^2 vanishes beside eps: y = x / sqrt(eps).
  const auto y = room::rmsnorm(tensor<float>({2}, {1e-20, -2e-20}), filled<float>({2}, 1), 1e-4);
  BOOST_TEST(y.data()[0] == 1e-18f, boost::test_tools::tolerance(1e-6f));
  BOOST_TEST(y.data()[1] == -2e-18f, boost::test_tools::tolerance(1e-6f));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_and_infinity_stay_in_their_row, T, AllTypes) {
  const auto y =
      room::rmsnorm(tensor<T>({3, 2}, {NaN, 1, infinity, 1, 1, -1}), filled<T>({2}, 1), 0.0);
  BOOST_TEST(same(y, tensor<double>({3, 2}, {NaN, NaN, NaN, 0, 1, -1})));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  const auto no_rows = room::rmsnorm(empty<float>({0, 3}), filled<float>({3}, 1));
  BOOST_TEST((shape_of(no_rows) == Shape{0, 3}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto call = [](const Shape& x, const Shape& weight) {
    return room::rmsnorm(filled<double>(x, 1), filled<double>(weight, 1));
  };
  CHECK_REFUSED(call({}, {1}), "rmsnorm: x must have an axis d_model");
  CHECK_REFUSED(call({2, 3}, {2}), "rmsnorm: weight must be [3], is [2]");
  CHECK_REFUSED(call({2, 3}, {1}), "rmsnorm: weight must be [3], is [1]");
  CHECK_REFUSED(call({2, 3}, {1, 3}), "rmsnorm: weight must be [3], is [1, 3]");
}

BOOST_AUTO_TEST_SUITE_END()
