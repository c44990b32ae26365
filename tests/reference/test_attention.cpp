// scaled_dot_product_attention: weights by hand, masks, shifts, broadcasting, what is not finite.
#include "attention.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;
using Mask = std::optional<Tensor<bool>>;

BOOST_AUTO_TEST_SUITE(attention)

Tensor<bool> mask(const Shape& shape, const std::vector<double>& allowed) {
  return tensor<bool>(shape, allowed);
}

/// The function, with tensors of the same type.
template <class T>
Tensor<T> attend(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                 const Mask& allowed = {}) {
  return room::scaled_dot_product_attention(q, k, v, allowed);
}

/// One sequence, the formula in float64 term by term.
Tensor<double> by_formula(const Tensor<double>& q, const Tensor<double>& k, const Tensor<double>& v,
                          const Mask& allowed = {}) {
  const std::size_t n = q.shape(0), m = k.shape(0), d_k = q.shape(1), d_v = v.shape(1);
  Tensor<double> y = xt::zeros<double>({n, d_v});
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> weights(m);
    double sum = 0;
    for (std::size_t j = 0; j < m; ++j) {
      double score = 0;
      for (std::size_t l = 0; l < d_k; ++l) score += q(i, l) * k(j, l);
      const bool attends = !allowed || (*allowed)(i, j);
      weights[j] = attends ? std::exp(score / std::sqrt(static_cast<double>(d_k))) : 0.0;
      sum += weights[j];
    }
    for (std::size_t j = 0; j < m && sum > 0; ++j) {
      for (std::size_t l = 0; l < d_v; ++l) y(i, l) += weights[j] / sum * v(j, l);
    }
  }
  return y;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_by_hand, T, AllTypes) {
  // d_k = 4, so scores are products over 2: (1, 2, 3), whose softmax is known.
  const auto q = tensor<T>({1, 4}, {1, 1, 0, 0});
  const auto k = tensor<T>({3, 4}, {1, 1, 5, 0, 2, 2, 0, 5, 4, 2, 1, 1});
  const auto v = tensor<T>({3, 2}, {1, 0, 0, 1, 0, 0});
  BOOST_TEST(close(attend(q, k, v),
                   tensor<double>({1, 2}, {0.090030573170380458, 0.24472847105479765}),
                   epsilon<T>()));
}

BOOST_AUTO_TEST_CASE(agrees_with_the_formula) {
  const auto q = random<double>({5, 7}, 1, 2), k = random<double>({11, 7}, 2, 2),
             v = random<double>({11, 3}, 3);
  BOOST_TEST(close(attend(q, k, v), by_formula(q, k, v), 1e-14));
  Tensor<bool> allowed = random<double>({5, 11}, 4) > 0.0;
  BOOST_TEST(close(attend(q, k, v, Mask(allowed)), by_formula(q, k, v, allowed), 1e-14));
}

BOOST_AUTO_TEST_CASE(more_queries_than_one_block) {
  const auto q = random<double>({300, 5}, 1, 2), k = random<double>({65, 5}, 2, 2),
             v = random<double>({65, 3}, 3);
  Tensor<bool> allowed = random<double>({300, 65}, 4) > 0.0;
  BOOST_TEST(close(attend(q, k, v, Mask(allowed)), by_formula(q, k, v, allowed), 1e-13));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_sum_to_one, T, AllTypes) {
  const auto y = attend(random<T>({9, 8}, 1, 4), random<T>({33, 8}, 2, 4), filled<T>({33, 2}, 1));
  BOOST_TEST(close(y, filled<double>({9, 2}, 1), 4 * epsilon<T>()));
}

BOOST_AUTO_TEST_CASE(a_constant_on_all_scores_changes_nothing) {
  // An extra column: 1 in every key, 2000 in every query, adds 2000 to each product.
  auto q = random<double>({3, 4}, 1), k = random<double>({5, 4}, 2);
  const auto v = random<double>({5, 2}, 3);
  for (std::size_t i = 0; i < 3; ++i) q(i, 0) = 0;
  for (std::size_t j = 0; j < 5; ++j) k(j, 0) = 1;
  const auto y = attend(q, k, v);
  for (std::size_t i = 0; i < 3; ++i) q(i, 0) = 2000;
  BOOST_TEST(close(attend(q, k, v), y, 1e-11));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(true_means_attends, T, AllTypes) {
  const auto q = filled<T>({2, 2}, 1), k = filled<T>({3, 2}, 1);
  const auto v = tensor<T>({3, 1}, {1, 2, 4});
  const auto y = attend(q, k, v, Mask(mask({2, 3}, {1, 0, 1, 0, 1, 0})));
  BOOST_TEST(close(y, tensor<double>({2, 1}, {2.5, 2}), epsilon<T>()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_under_a_mask, T, AllTypes) {
  // Values that are all 1 give the sum of a query's weights, one-hot values the weights themselves.
  const auto check = [](const Tensor<bool>& allowed) {
    const std::size_t n = allowed.shape(0), m = allowed.shape(1);
    const auto q = random<T>({n, 8}, 1, 1.5), k = random<T>({m, 8}, 2, 1.5);
    const auto sums = attend(q, k, filled<T>({m, 1}, 1), Mask(allowed));
    const Tensor<double> identity = xt::eye<double>(m);
    const auto weights = attend(q, k, converted<T>(identity), Mask(allowed));
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0, attended = 0;
      for (std::size_t j = 0; j < m; ++j) {
        const auto weight = static_cast<double>(weights(i, j));
        BOOST_TEST((allowed(i, j) ? weight > 0 : weight == 0));
        sum += weight;
        attended += allowed(i, j);
      }
      const double wanted = attended > 0 ? 1 : 0;
      BOOST_TEST(std::abs(sum - wanted) <= static_cast<double>(m) * epsilon<T>());
      BOOST_TEST(std::abs(static_cast<double>(sums(i, 0)) - wanted) <= 4 * epsilon<T>());
    }
  };
  check(mask({1, 3}, {1, 1, 0}));  // the handout's [[True, True, False]]
  check(mask({3, 4}, {0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0}));
  check(random<double>({7, 33}, 3) > 0.0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(without_a_key_zeros, T, AllTypes) {
  const auto q = filled<T>({2, 2}, 1), k = filled<T>({2, 2}, 1), v = filled<T>({2, 3}, 7);
  const auto y = attend(q, k, v, Mask(mask({2, 2}, {0, 0, 1, 0})));
  BOOST_TEST(same(y, tensor<double>({2, 3}, {0, 0, 0, 7, 7, 7})));
  // All scores -infinity by value count as no key too.
  const auto minus =
      attend(tensor<T>({1, 1}, {-infinity}), filled<T>({2, 1}, 1), filled<T>({2, 3}, 7));
  BOOST_TEST(same(minus, filled<double>({1, 3}, 0)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_scores_and_values, T, AllTypes) {
  const auto v = tensor<T>({2, 1}, {1, 2});
  // A NaN query, a NaN key: whoever attends to it has NaN.
  const auto q = tensor<T>({2, 1}, {NaN, 1});
  BOOST_TEST(same(attend(q, filled<T>({2, 1}, 1), v), tensor<double>({2, 1}, {NaN, 1.5})));
  BOOST_TEST(same(attend(filled<T>({2, 1}, 1), tensor<T>({2, 1}, {NaN, 1}), v),
                  filled<double>({2, 1}, NaN)));
  // A masked NaN score is no score: the mask selects, it does not add.
  BOOST_TEST(
      same(attend(filled<T>({1, 1}, 1), tensor<T>({2, 1}, {NaN, 1}), v, Mask(mask({1, 2}, {0, 1}))),
           tensor<double>({1, 1}, {2})));
  // +infinity as a score: exp(infinity - infinity) is NaN, as in PyTorch.
  BOOST_TEST(same(attend(filled<T>({1, 1}, 1), tensor<T>({2, 1}, {infinity, 1}), v),
                  filled<double>({1, 1}, NaN)));
  // A NaN value reaches every query that attends to it.
  BOOST_TEST(
      same(attend(filled<T>({1, 1}, 1), filled<T>({2, 1}, 1), tensor<T>({2, 2}, {NaN, 1, 1, 1})),
           tensor<double>({1, 2}, {NaN, 1})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_hidden_value_counts_the_same_whatever_a_neighbour_sees, T,
                              AllTypes) {
  const auto one = filled<T>({2, 1}, 1);
  for (const double hidden : {NaN, infinity}) {
    const auto nan = [&](double neighbour_attends) {
      const Mask allowed = mask({2, 2}, {1, 0, 1, neighbour_attends});
      const Tensor<T> y = attend(one, one, tensor<T>({2, 1}, {1, hidden}), allowed);
      return std::isnan(static_cast<double>(y(0, 0)));
    };
    BOOST_TEST(nan(0) == nan(1));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_among_no_keys, T, AllTypes) {
  // All other scores are -infinity: the NaN must not be taken for a query without keys.
  const auto q = tensor<T>({1, 1}, {1});
  const auto k = tensor<T>({3, 1}, {-infinity, NaN, -infinity});
  BOOST_TEST(same(attend(q, k, filled<T>({3, 1}, 1)), filled<double>({1, 1}, NaN)));
}

BOOST_AUTO_TEST_CASE(one_huge_score_takes_all) {
  const auto y = attend(filled<float>({1, 1}, 100), tensor<float>({3, 1}, {10, -10, 0}),
                        tensor<float>({3, 1}, {3, 5, 7}));
  BOOST_TEST(same(y, filled<float>({1, 1}, 3)));
}

BOOST_AUTO_TEST_CASE(batch_axes_broadcast) {
  const auto q = random<double>({2, 1, 3, 4}, 1), k = random<double>({5, 6, 4}, 2),
             v = random<double>({6, 2}, 3);
  const Tensor<bool> allowed = random<double>({2, 5, 3, 6}, 4) > -0.5;
  const auto y = attend(q, k, v, Mask(allowed));
  BOOST_TEST((shape_of(y) == Shape{2, 5, 3, 2}));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const auto one = by_formula(
          reshaped(slice(q, 0, i, i + 1), {3, 4}), reshaped(slice(k, 0, j, j + 1), {6, 4}), v,
          reshaped(slice(slice(allowed, 0, i, i + 1), 1, j, j + 1), {3, 6}));
      BOOST_TEST(close(reshaped(slice(slice(y, 0, i, i + 1), 1, j, j + 1), {3, 2}), one, 1e-14));
    }
  }
  // A mask alone may bring the batch.
  const Tensor<bool> masks = xt::ones<bool>({7, 3, 6});
  const auto widened = attend(random<double>({3, 4}, 1), random<double>({6, 4}, 2), v, Mask(masks));
  BOOST_TEST((shape_of(widened) == Shape{7, 3, 2}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_once, T, SixteenBits) {
  const auto q = random<T>({2, 33, 16}, 1, 2), k = random<T>({2, 65, 16}, 2, 2),
             v = random<T>({2, 65, 8}, 3);
  BOOST_TEST(same(attend(q, k, v), converted<T>(attend(converted<float>(q), converted<float>(k),
                                                       converted<float>(v)))));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  const auto shape = [](const Shape& q, const Shape& k, const Shape& v) {
    return shape_of(attend(empty<float>(q), filled<float>(k, 1), filled<float>(v, 1)));
  };
  BOOST_TEST((shape({0, 2, 4}, {3, 4}, {3, 5}) == Shape{0, 2, 5}));
  BOOST_TEST((shape({0, 4}, {3, 4}, {3, 5}) == Shape{0, 5}));
  BOOST_TEST((shape({2, 4}, {3, 4}, {3, 0}) == Shape{2, 0}));
  BOOST_TEST((shape({0, 4}, {0, 4}, {0, 5}) == Shape{0, 5}));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto call = [](const Shape& q, const Shape& k, const Shape& v, const Mask& allowed = {}) {
    return attend(filled<double>(q, 1), filled<double>(k, 1), filled<double>(v, 1), allowed);
  };
  const std::string name = "scaled_dot_product_attention: ";
  CHECK_REFUSED(call({2, 4}, {3, 5}, {3, 4}), name + "k must be [..., m, 4], is [3, 5]");
  CHECK_REFUSED(call({2, 4}, {3, 4}, {1, 4}), name + "v must be [..., 3, d_v], is [1, 4]");
  CHECK_REFUSED(call({4}, {3, 4}, {3, 4}), name + "q, k and v must have two axes");
  CHECK_REFUSED(call({2, 4}, {3, 4}, {3, 4}, mask({1, 3}, {1, 1, 1})),
                name + "mask must be [..., 2, 3], is [1, 3]");
  CHECK_REFUSED(call({2, 2, 4}, {3, 3, 4}, {3, 4}), "batch axes do not broadcast");
  CHECK_REFUSED(call({2, 0}, {3, 0}, {3, 4}), name + "d_k is 0");
  CHECK_REFUSED(call({2, 4}, {0, 4}, {0, 4}), name + "m is 0");
}

BOOST_AUTO_TEST_SUITE_END()
