// The text's helpers: shapes and batch axes, and the traps of xtensor.
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::reference;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(tensors)

BOOST_AUTO_TEST_CASE(shapes) {
  const auto x = empty<float>({2, 3, 5});
  BOOST_TEST((shape_of(x) == Shape{2, 3, 5}));
  BOOST_TEST(size(x, -1) == 5u);
  BOOST_TEST(size(x, -3) == 2u);
  BOOST_TEST((batch_of(x, 2) == Shape{2}));
  BOOST_TEST((batch_of(x, 3) == Shape{}));
  BOOST_TEST((with(batch_of(x, 2), {7, 1}) == Shape{2, 7, 1}));
  BOOST_TEST(elements({}) == 1u);
  BOOST_TEST(elements({3, 0, 2}) == 0u);
  BOOST_TEST((shape_of(empty<float>({2, 0})) == Shape{2, 0}));
  BOOST_TEST((shape_of(empty<float>({})) == Shape{}));
}

BOOST_AUTO_TEST_CASE(axes_change_places_and_elements_keep_their_order) {
  const auto x = tensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST(same(swap_axes(x, -2, -1), tensor<float>({1, 3, 2}, {1, 4, 2, 5, 3, 6})));
  BOOST_TEST(same(swap_axes(x, -3, -2), tensor<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6})));
  BOOST_TEST(same(reshape(swap_axes(x, -2, -1), {6}), tensor<float>({6}, {1, 4, 2, 5, 3, 6})));
}

BOOST_AUTO_TEST_CASE(batch_axes_broadcast_from_the_right) {
  BOOST_TEST((broadcast("x", {{2, 1, 4}, {3, 1}, {}}) == Shape{2, 3, 4}));
  BOOST_TEST((broadcast("x", {}) == Shape{}));
  BOOST_TEST((broadcast("x", {{1}, {0}}) == Shape{0}));
  CHECK_REFUSED(broadcast("somewhere", {{4, 1}, {2, 3}, {2}}),
                "somewhere: batch axes do not broadcast: [[4, 1], [2, 3], [2]]");
}

BOOST_AUTO_TEST_CASE(the_matrix_of_a_batch_index) {
  // [2, 1, ...] and [3, ...] in a batch of [2, 3].
  const auto x = tensor<double>({2, 1, 1, 2}, {1, 2, 3, 4});
  const auto z = tensor<double>({3, 2, 1}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST(same(matrix_at(2, {2, 3}, x), tensor<double>({1, 2}, {1, 2})));
  BOOST_TEST(same(matrix_at(3, {2, 3}, x), tensor<double>({1, 2}, {3, 4})));
  BOOST_TEST(same(matrix_at(5, {2, 3}, z), tensor<double>({2, 1}, {5, 6})));
  BOOST_TEST(same(matrix_at(0, {}, slice(z, 0, 1, 2)), tensor<double>({2, 1}, {3, 4})));
}

// Traps: what README.md says of xtensor is so.

BOOST_AUTO_TEST_CASE(an_expression_is_lazy) {
  auto x = tensor<double>({2}, {1, 2});
  const auto lazy = x + 1.0;
  const Tensor<double> now = x + 1.0;
  x(0) = 10;
  BOOST_TEST(lazy(0) == 11);
  BOOST_TEST(now(0) == 2);
}

BOOST_AUTO_TEST_CASE(axes_of_one_broadcast_in_silence) {
  const auto x = filled<double>({4}, 1), weight = filled<double>({1}, 2);
  BOOST_TEST(same(Tensor<double>(x * weight), filled<double>({4}, 2)));
  CHECK_REFUSED(require_same_shape(x, weight, "x and weight"),
                "x and weight must have the same shape, have [4] and [1]");
}

BOOST_AUTO_TEST_CASE(blas_takes_no_view_of_some_columns) {
  const auto x = tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto columns = xt::view(x, xt::all(), xt::range(0, 2));
  BOOST_CHECK_THROW(Tensor<double>(xt::linalg::dot(columns, x)), std::runtime_error);
  const Tensor<double> copy = columns;
  BOOST_TEST(same(Tensor<double>(xt::linalg::dot(copy, xt::transpose(copy))),
                  tensor<double>({2, 2}, {5, 14, 14, 41})));
}

BOOST_AUTO_TEST_CASE(a_strided_view_is_assigned_to_without_a_temporary_copy) {
  const auto x = tensor<double>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto even = [](auto& t) {
    return xt::strided_view(t, {xt::ellipsis(), xt::range(0, _, 2)});
  };
  auto y = filled<double>({2, 4}, 0);
  // The type of the copy has four axes, where x has two; to make one would be undefined.
  using Copy = typename decltype(even(y))::temporary_type;
  if constexpr (XTENSOR_VERSION_MINOR == 24) static_assert(Copy::rank == 4);
  xt::noalias(even(y)) = 2 * even(x);
  BOOST_TEST(same(y, tensor<double>({2, 4}, {2, 0, 6, 0, 10, 0, 14, 0})));
}

BOOST_AUTO_TEST_CASE(sums_of_floats_are_taken_in_float) {
  // 2^24 + 1 is no float.
  const auto x = tensor<float>({5}, {0x1p24, 1, 1, 1, 1});
  const Tensor<float> sum = xt::sum(x, {-1}, xt::keep_dims);
  BOOST_TEST(same(sum, tensor<float>({1}, {0x1p24})));
  const Tensor<float> in_double = xt::sum<double>(x, {-1}, xt::keep_dims);
  BOOST_TEST(same(in_double, tensor<float>({1}, {0x1p24 + 4})));
  const Tensor<float> mean = xt::mean(x, {-1}, xt::keep_dims);
  BOOST_TEST(same(mean, tensor<float>({1}, {0x1p24 / 5})));
}

BOOST_AUTO_TEST_SUITE_END()
