// rope: a turn by hand, relative positions, rounding, errors.
#include "rope.hpp"
#include "reference_testing.hpp"

#include <numeric>

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(rope)

/// The function, at a list of positions.
template <class T>
Tensor<T> turned(const Tensor<T>& x, const std::vector<std::int64_t>& at, double theta,
                 std::int64_t max_seq_len) {
  auto positions = empty<std::int64_t>({at.size()});
  std::copy(at.begin(), at.end(), positions.begin());
  return room::rope(x, positions, theta, max_seq_len);
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

BOOST_AUTO_TEST_CASE(products_depend_on_the_difference_of_positions_alone) {
  const auto q = random<double>({1, 16}, 1), k = random<double>({1, 16}, 2);
  const auto score = [&](std::int64_t i, std::int64_t j) {
    return dot(turned(q, {i}, 10000, 4096), turned(k, {j}, 10000, 4096));
  };
  BOOST_TEST(std::abs(score(7, 3) - score(1004, 1000)) < 1e-11);
  BOOST_TEST(std::abs(score(0, 5) - score(4000, 4005)) < 1e-11);
  BOOST_TEST(std::abs(score(7, 3) - score(3, 7)) > 1e-3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto x = random<T>({33, 64}, 1);
  std::vector<std::int64_t> at(33);
  for (std::size_t i = 0; i < 33; ++i) at[i] = static_cast<std::int64_t>(4096 * i);
  BOOST_TEST(same(turned(x, at, 10000, 131073),
                  converted<T>(turned(converted<float>(x), at, 10000, 131073))));
}

BOOST_AUTO_TEST_CASE(rows_of_no_elements_are_no_error) {
  BOOST_TEST((shape_of(turned(empty<float>({2, 1, 0}), {0}, 10000, 3)) == Shape{2, 1, 0}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto x = filled<double>({2, 4}, 1);
  CHECK_REFUSED(turned(filled<double>({2, 3}, 1), {0, 1}, 10000, 2),
                "rope: d_k must be even, is 3");
  CHECK_REFUSED(turned(x, {0, 2}, 10000, 2), "rope: position 2 is not in [0, max_seq_len = 2)");
  CHECK_REFUSED(turned(x, {-1, 0}, 10000, 2), "rope: position -1 is not in [0, max_seq_len = 2)");
  CHECK_REFUSED(turned(x, {0}, 10000, 2), "rope: token_positions must be [..., 2], is [1]");
  CHECK_REFUSED(room::rope(x, tensor<std::int64_t>({}, {0}), 10000, 2),
                "rope: token_positions must be [..., 2], is []");
  CHECK_REFUSED(turned(filled<double>({4}, 1), {0}, 10000, 2),
                "rope: x must be [..., seq, d_k], is [4]");
  CHECK_REFUSED(turned(filled<double>({2, 4}, 1), {0, 1}, -10000, 2),
                "rope: theta must be positive, is -10000");
  CHECK_REFUSED(
      room::rope(random<double>({3, 2, 4}, 1), filled<std::int64_t>({5, 2}, 0), 10000, 10),
      "batch axes do not broadcast");
}

BOOST_AUTO_TEST_SUITE_END()
