// softmax: three numbers from mpmath, shifts, every axis, what is not finite.
#include "softmax.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(softmax)

BOOST_AUTO_TEST_CASE_TEMPLATE(three_numbers, T, AllTypes) {
  const auto y = room::softmax(tensor<T>({3}, {1, 2, 3}), 0);
  BOOST_TEST(close(
      y, tensor<double>({3}, {0.090030573170380458, 0.24472847105479765, 0.66524095577482189}),
      epsilon<T>()));
}

BOOST_AUTO_TEST_CASE(each_axis_sums_to_one) {
  const auto x = random<double>({3, 5, 700}, 1, 10);
  for (std::int64_t dim = -3; dim < 3; ++dim) {
    const auto y = room::softmax(x, dim);
    const auto axis = static_cast<std::size_t>((dim + 3) % 3);
    const Tensor<double> sums = xt::sum(y, {axis});
    BOOST_TEST(close(sums, filled<double>(shape_of(sums), 1), 1e-14));
    BOOST_TEST(same(y, room::softmax(x, static_cast<std::int64_t>(axis))));
  }
}

BOOST_AUTO_TEST_CASE(another_axis_is_the_last_axis_of_the_transpose) {
  const auto x = random<double>({4, 5, 3}, 1, 3);
  const Tensor<double> turned = xt::transpose(x, {2, 0, 1});
  const Tensor<double> back = xt::transpose(room::softmax(turned, -1), {1, 2, 0});
  BOOST_TEST(close(room::softmax(x, 1), back, 1e-15));
  const Tensor<double> y =
      xt::transpose(room::softmax(Tensor<double>(xt::transpose(x, {1, 2, 0})), -1), {2, 0, 1});
  BOOST_TEST(close(room::softmax(x, 0), y, 1e-15));
}

BOOST_AUTO_TEST_CASE(a_constant_changes_nothing) {
  // Quarters, so that adding 1000 is exact.
  const Tensor<double> x = xt::round(random<double>({4, 33}, 1, 40)) / 4.0;
  for (const std::int64_t dim : {0, 1}) {
    const auto y = room::softmax(x, dim);
    BOOST_TEST(same(room::softmax(Tensor<double>(x + 1000.0), dim), y));
    BOOST_TEST(same(room::softmax(Tensor<double>(x - 1000.0), dim), y));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(large_numbers_do_not_overflow, T, AllTypes) {
  const auto x = tensor<T>({2, 2}, {1000, 1000, -60000, 60000});
  BOOST_TEST(same(room::softmax(x, 1), tensor<double>({2, 2}, {0.5, 0.5, 0, 1})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slices_that_are_not_finite, T, AllTypes) {
  const auto x = tensor<T>({4, 2}, {-infinity, -infinity, -infinity, 3, NaN, 0, infinity, 0});
  const auto rows = room::softmax(x, 1);
  BOOST_TEST(same(rows, tensor<double>({4, 2}, {NaN, NaN, 0, 1, NaN, NaN, NaN, NaN})));
  const Tensor<T> turned = xt::transpose(x);
  const Tensor<T> columns = xt::transpose(room::softmax(turned, 0));
  BOOST_TEST(same(columns, rows));
}

BOOST_AUTO_TEST_CASE(a_long_slice_with_one_nan) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{31}, std::size_t{99}}) {
    auto x = random<float>({100}, 1);
    x(at) = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(same(room::softmax(x, 0), filled<float>({100}, NaN)));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto x = random<T>({40, 257}, 1, 8);
  for (const std::int64_t dim : {0, 1}) {
    BOOST_TEST(same(room::softmax(x, dim), converted<T>(room::softmax(converted<float>(x), dim))));
  }
}

BOOST_AUTO_TEST_CASE(a_slice_of_one_is_one) {
  BOOST_TEST(same(room::softmax(random<float>({3, 1, 2}, 1, 50), 1), filled<float>({3, 1, 2}, 1)));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  for (const std::int64_t dim : {0, 1}) {
    BOOST_TEST((shape_of(room::softmax(empty<float>({0, 3}), dim)) == Shape{0, 3}));
    BOOST_TEST((shape_of(room::softmax(empty<float>({3, 0}), dim)) == Shape{3, 0}));
  }
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto x = filled<double>({2, 3}, 1);
  CHECK_REFUSED(room::softmax(x, 2), "softmax: dim 2 is no axis of x, which is [2, 3]");
  CHECK_REFUSED(room::softmax(x, -3), "softmax: dim -3 is no axis of x, which is [2, 3]");
  CHECK_REFUSED(room::softmax(filled<double>({}, 1), 0),
                "softmax: dim 0 is no axis of x, which is []");
}

BOOST_AUTO_TEST_SUITE_END()
