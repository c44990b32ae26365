// rope: a quarter turn by hand, mpmath far out, norms, relative positions, the matrix of all pairs.
#include "rope.hpp"
#include "reference_testing.hpp"

#include <numbers>
#include <numeric>

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(rope)

Tensor<std::int64_t> positions(const std::vector<std::int64_t>& list) {
  auto tensor = empty<std::int64_t>({list.size()});
  std::copy(list.begin(), list.end(), tensor.begin());
  return tensor;
}

/// The function, at a list of positions.
template <class T>
Tensor<T> turned(const Tensor<T>& x, const std::vector<std::int64_t>& at, double theta,
                 std::int64_t max_seq_len) {
  return room::rope(x, positions(at), theta, max_seq_len);
}

double dot(const Tensor<double>& a, const Tensor<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(neighbours_turn_counter_clockwise, T, AllTypes) {
  // theta^(2/4) = 100: the pairs at position 1 turn by 1 and by 1/100.
  const auto y = turned(tensor<T>({1, 4}, {1, 0, 0, 1}), {1}, 10000, 2);
  BOOST_TEST(close(y,
                   tensor<double>({1, 4}, {0.54030230586813972, 0.84147098480789651,
                                           -0.0099998333341666647, 0.99995000041666528}),
                   epsilon<T>()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(position_0_changes_nothing, T, AllTypes) {
  const auto x = random<T>({2, 3, 8}, 1);
  BOOST_TEST(same(turned(x, {0, 0, 0}, 10000, 1), x));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(position_131071_is_as_good_as_1, T, AllTypes) {
  // mpmath: cos and sin of 131071 / theta^(k/2). An angle of 1310.71 is rounded by up to 1.1e-13.
  const auto x = tensor<T>({1, 4}, {1, 0, 1, 0});
  BOOST_TEST(close(turned(x, {131071}, 10000, 131072),
                   tensor<double>({1, 4}, {-0.81798349938794908, -0.57524168375478937,
                                           -0.78638369025726082, -0.61773836832219874}),
                   std::max(epsilon<T>(), 2e-13)));
  BOOST_TEST(close(turned(x, {131071}, 500000, 131072),
                   tensor<double>({1, 4}, {-0.81798349938794908, -0.57524168375478937,
                                           -0.99996455813879955, -0.0084191725410151053}),
                   std::max(epsilon<T>(), 2e-13)));
}

BOOST_AUTO_TEST_CASE(all_frequencies_far_out) {
  Tensor<double> x = xt::zeros<double>({1, 64});
  for (std::size_t k = 0; k < 32; ++k) x(0, 2 * k) = 1;
  const auto y = turned(x, {131071}, 10000, 131072);
  // The angle itself is rounded to float64, so 1e-11 is what its size leaves.
  BOOST_TEST(std::abs(y(0, 2) - 0.054617930937925123) < 2e-11);
  BOOST_TEST(std::abs(y(0, 3) - 0.99850732677334924) < 2e-11);
  BOOST_TEST(std::abs(y(0, 34) + 0.91117826804366801) < 1e-13);
  BOOST_TEST(std::abs(y(0, 35) - 0.41201233457864038) < 1e-13);
  BOOST_TEST(std::abs(y(0, 62) - 0.19851170290724632) < 1e-13);
  BOOST_TEST(std::abs(y(0, 63) + 0.98009851739958528) < 1e-13);
}

BOOST_AUTO_TEST_CASE(norms_are_kept) {
  const auto x = random<double>({5, 16}, 1);
  const auto y = turned(x, {3, 1000, 77, 0, 131071}, 10000, 131072);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto a = slice(x, 0, i, i + 1), b = slice(y, 0, i, i + 1);
    BOOST_TEST(dot(a, a) == dot(b, b), boost::test_tools::tolerance(1e-14));
  }
}

BOOST_AUTO_TEST_CASE(products_depend_on_the_difference_of_positions_alone) {
  const auto q = random<double>({1, 16}, 1), k = random<double>({1, 16}, 2);
  const auto score = [&](std::int64_t i, std::int64_t j) {
    return dot(turned(q, {i}, 10000, 4096), turned(k, {j}, 10000, 4096));
  };
  BOOST_TEST(std::abs(score(7, 3) - score(1004, 1000)) < 1e-11);
  BOOST_TEST(std::abs(score(0, 5) - score(4000, 4005)) < 1e-11);
  BOOST_TEST(std::abs(score(7, 3) - score(3, 7)) > 1e-3);
}

BOOST_AUTO_TEST_CASE(turns_add_up) {
  const auto x = random<double>({1, 8}, 1);
  const auto once = turned(x, {12}, 500000, 100);
  const auto twice = turned(turned(x, {5}, 500000, 100), {7}, 500000, 100);
  BOOST_TEST(close(twice, once, 1e-14));
}

BOOST_AUTO_TEST_CASE(positions_may_be_permuted_and_repeated) {
  const auto x = random<double>({3, 4}, 1);
  const auto y = turned(x, {9, 2, 9}, 10000, 10);
  for (const auto& [row, at] :
       std::vector<std::pair<std::size_t, std::int64_t>>{{0, 9}, {1, 2}, {2, 9}}) {
    BOOST_TEST(same(slice(y, 0, row, row + 1), turned(slice(x, 0, row, row + 1), {at}, 10000, 10)));
  }
}

BOOST_AUTO_TEST_CASE(batch_axes_broadcast) {
  const auto x = random<double>({2, 1, 3, 4}, 1);
  const auto at = tensor<std::int64_t>({5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 2, 1, 0, 9, 9, 9});
  const auto y = room::rope(x, at, 10000, 10);
  BOOST_TEST((shape_of(y) == Shape{2, 5, 3, 4}));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const auto one = room::rope(reshaped(slice(x, 0, i, i + 1), {3, 4}),
                                  reshaped(slice(at, 0, j, j + 1), {3}), 10000, 10);
      const auto part = reshaped(slice(slice(y, 0, i, i + 1), 1, j, j + 1), {3, 4});
      BOOST_TEST(same(part, one));
    }
  }
  // The other way round: one batch axis of x, none of the positions; two of the positions.
  BOOST_TEST((shape_of(room::rope(random<double>({3, 4}, 1), at, 10000, 10)) == Shape{5, 3, 4}));
  CHECK_REFUSED(room::rope(random<double>({2, 3, 4}, 1), at, 10000, 10),
                "batch axes do not broadcast");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto x = random<T>({33, 64}, 1);
  std::vector<std::int64_t> at(33);
  for (std::size_t i = 0; i < 33; ++i) at[i] = static_cast<std::int64_t>(4096 * i);
  BOOST_TEST(same(turned(x, at, 10000, 131073),
                  converted<T>(turned(converted<float>(x), at, 10000, 131073))));
}

BOOST_AUTO_TEST_CASE(nan_stays_in_its_pair) {
  const auto y = turned(tensor<double>({1, 4}, {NaN, 1, 1, 1}), {1}, 10000, 2);
  BOOST_TEST(std::isnan(y(0, 0)));
  BOOST_TEST(std::isnan(y(0, 1)));
  BOOST_TEST(std::isfinite(y(0, 2)));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  BOOST_TEST((shape_of(turned(empty<float>({0, 3, 4}), {0, 1, 2}, 10000, 3)) == Shape{0, 3, 4}));
  BOOST_TEST((shape_of(turned(empty<float>({2, 0, 4}), {}, 10000, 3)) == Shape{2, 0, 4}));
  BOOST_TEST((shape_of(turned(empty<float>({2, 1, 0}), {0}, 10000, 3)) == Shape{2, 1, 0}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto x = filled<double>({2, 4}, 1);
  CHECK_REFUSED(turned(filled<double>({2, 3}, 1), {0, 1}, 10000, 2),
                "rope: d_k must be even, is 3");
  CHECK_REFUSED(turned(x, {0, 2}, 10000, 2), "rope: position 2 is not in [0, max_seq_len = 2)");
  CHECK_REFUSED(turned(x, {-1, 0}, 10000, 2), "rope: position -1 is not in [0, max_seq_len = 2)");
  const std::int64_t end = 1ll << 53;
  BOOST_CHECK_NO_THROW(turned(x, {0, end - 1}, 10000, end + 2));
  CHECK_REFUSED(turned(x, {0, end + 1}, 10000, end + 2),
                "rope: position 9007199254740993 is not below 2^53");
  CHECK_REFUSED(turned(x, {0}, 10000, 2), "rope: token_positions must be [..., 2], is [1]");
  CHECK_REFUSED(room::rope(x, tensor<std::int64_t>({}, {0}), 10000, 2),
                "rope: token_positions must be [..., 2], is []");
  CHECK_REFUSED(turned(filled<double>({4}, 1), {0}, 10000, 2),
                "rope: x must be [..., seq, d_k], is [4]");
  CHECK_REFUSED(turned(filled<double>({2, 4}, 1), {0, 1}, -10000, 2),
                "rope: theta must be positive, is -10000");
}

BOOST_AUTO_TEST_CASE(it_is_the_block_diagonal_matrix) {
  // R of the handout's equation 9, d x d: its k-th 2 x 2 block turns by position / theta^(2k/d).
  constexpr std::size_t d = 10;
  const std::vector<std::int64_t> at = {0, 1, 7, 4095};
  const auto x = random<double>({at.size(), d}, 1);
  const auto y = turned(x, at, 500, 4096);
  for (std::size_t i = 0; i < at.size(); ++i) {
    Tensor<double> matrix = xt::zeros<double>({d, d});
    for (std::size_t k = 0; k < d / 2; ++k) {
      const double angle =
          static_cast<double>(at[i]) / std::pow(500, static_cast<double>(2 * k) / d);
      matrix(2 * k, 2 * k) = matrix(2 * k + 1, 2 * k + 1) = std::cos(angle);
      matrix(2 * k, 2 * k + 1) = -std::sin(angle);
      matrix(2 * k + 1, 2 * k) = std::sin(angle);
    }
    for (std::size_t row = 0; row < d; ++row) {
      double product = 0;
      for (std::size_t column = 0; column < d; ++column) {
        product += matrix(row, column) * x(i, column);
      }
      BOOST_TEST(std::abs(y(i, row) - product) < 1e-11);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
