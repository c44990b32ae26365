// multihead_self_attention: heads by hand, positions, prefixes, roundings, errors.
#include "multihead_self_attention.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;
using Positions = std::optional<Tensor<std::int64_t>>;

BOOST_AUTO_TEST_SUITE(multihead_self_attention)

/// x[..., seq, d_model] and four weights, small enough for scores that matter.
template <class T>
struct Case {
  Tensor<T> x, w_q, w_k, w_v, w_o;

  Case(const Shape& shape, double scale = 0.5)
      : x(random<T>(shape, 1, 2)),
        w_q(random<T>({shape.back(), shape.back()}, 2, scale)),
        w_k(random<T>({shape.back(), shape.back()}, 3, scale)),
        w_v(random<T>({shape.back(), shape.back()}, 4, scale)),
        w_o(random<T>({shape.back(), shape.back()}, 5, scale)) {}

  Tensor<T> plain(std::int64_t heads) const {
    return room::multihead_self_attention(x, w_q, w_k, w_v, w_o, heads);
  }
  Tensor<T> with_rope(std::int64_t heads, const Positions& at = {}) const {
    return multihead_self_attention_with_rope(x, w_q, w_k, w_v, w_o, at, heads, 10000, 5000);
  }
};

BOOST_AUTO_TEST_CASE(two_heads_by_hand) {
  // Keys are 0, so each position averages v over the positions up to its own; w_o exchanges heads.
  const auto x = tensor<double>({3, 2}, {1, 10, 3, 20, 5, 60});
  const auto zero = filled<double>({2, 2}, 0), swap = tensor<double>({2, 2}, {0, 1, 1, 0});
  const Tensor<double> identity = xt::eye<double>(2);
  const auto y = room::multihead_self_attention(x, identity, zero, identity, swap, 2);
  BOOST_TEST(close(y, tensor<double>({3, 2}, {10, 1, 15, 2, 30, 3}), 1e-15));
}

BOOST_AUTO_TEST_CASE(positions_default_to_counting_and_shift_together) {
  const Case<double> c({2, 5, 8});
  const Tensor<std::int64_t> counted = xt::arange<std::int64_t>(5);
  BOOST_TEST(same(c.with_rope(2), c.with_rope(2, counted)));
  const Tensor<std::int64_t> shifted = counted + std::int64_t{1000};
  BOOST_TEST(close(c.with_rope(2, shifted), c.with_rope(2), 1e-11));
  const Tensor<std::int64_t> still = xt::zeros<std::int64_t>({5});
  BOOST_TEST(same(c.with_rope(2, still), c.plain(2)));
  BOOST_TEST(!close(c.with_rope(2), c.plain(2), 1e-3));
}

/// Causal attention of q, k, v[seq, heads * d_k], as the room's function computes it.
Tensor<float> all_heads(const Tensor<float>& q, const Tensor<float>& k, const Tensor<float>& v,
                        std::int64_t heads) {
#if defined(PRENORM_TEXT)
  return attend_and_project(split_heads(q, heads), split_heads(k, heads), split_heads(v, heads),
                            Tensor<float>(xt::eye<float>(size(q, -1))));
#else
  return causal_heads(q, k, v, heads);
#endif
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_each_step, T, SixteenBits) {
  const Case<T> c({33, 16}, 0.3);
  const auto rounded = [](const Tensor<float>& a) { return converted<float>(converted<T>(a)); };
  const auto product = [&](const Tensor<T>& a, const Tensor<T>& w) {
    return rounded(room::linear(converted<float>(a), converted<float>(w)));
  };
  const Tensor<std::int64_t> at = xt::arange<std::int64_t>(33);
  const auto turned = [&](Tensor<float> a) {
    for (const std::size_t first : {0u, 8u}) {
      xt::view(a, xt::all(), xt::range(first, first + 8)) =
          room::rope(slice(a, 1, first, first + 8), at, 10000, 5000);
    }
    return rounded(a);
  };
  const auto heads =
      all_heads(turned(product(c.x, c.w_q)), turned(product(c.x, c.w_k)), product(c.x, c.w_v), 2);
  BOOST_TEST(same(c.with_rope(2), product(converted<T>(heads), c.w_o)));
}

BOOST_AUTO_TEST_CASE(each_position_is_the_last_of_its_prefix) {
  // The naive way to be causal: attention, without a mask, on each of the n prefixes.
  const Case<double> c({9, 8});
  const auto y = c.plain(2), turned = c.with_rope(2);
  for (std::size_t n = 1; n <= 9; ++n) {
    Case<double> prefix = c;
    prefix.x = slice(c.x, 0, 0, n);
    BOOST_TEST(close(slice(prefix.plain(2), 0, n - 1, n), slice(y, 0, n - 1, n), 1e-14));
    BOOST_TEST(close(slice(prefix.with_rope(2), 0, n - 1, n), slice(turned, 0, n - 1, n), 1e-14));
    Tensor<double> joined = xt::zeros<double>({n, std::size_t{8}});
    for (const std::size_t first : {0u, 4u}) {
      const auto part = [&](const Tensor<double>& w) {
        return room::linear(prefix.x, slice(w, 0, first, first + 4));
      };
      xt::view(joined, xt::all(), xt::range(first, first + 4)) =
          scaled_dot_product_attention(part(c.w_q), part(c.w_k), part(c.w_v));
    }
    BOOST_TEST(
        close(slice(room::linear(joined, c.w_o), 0, n - 1, n), slice(y, 0, n - 1, n), 1e-14));
  }
}

BOOST_AUTO_TEST_CASE(nan_reaches_every_later_position) {
  // What a key that is not attended to holds is unspecified where it is not finite.
  Case<double> c({4, 4});
  c.x(2, 0) = NaN;
  BOOST_TEST(same(slice(c.plain(2), 0, 2, 4), filled<double>({2, 4}, NaN)));
}

BOOST_AUTO_TEST_CASE(errors) {
  const Case<double> c({3, 6});
  CHECK_REFUSED(c.plain(4), "d_model = 6 is not divisible by num_heads = 4");
  CHECK_REFUSED(c.plain(0), "num_heads = 0");
  CHECK_REFUSED(c.plain(-2), "num_heads = -2");
  // Two heads of width 3 have no pairs to turn.
  BOOST_CHECK_NO_THROW(c.plain(2));
  CHECK_REFUSED(c.with_rope(2), "rope: d_k must be even, is 3");
  CHECK_REFUSED(c.with_rope(3, tensor<std::int64_t>({3}, {0, 1, 5000})),
                "rope: position 5000 is not in [0, max_seq_len = 5000)");
  CHECK_REFUSED(c.with_rope(3, tensor<std::int64_t>({2}, {0, 1})),
                "rope: token_positions must be [..., 3], is [2]");
  const auto w = filled<double>({6, 6}, 1);
  CHECK_REFUSED(room::multihead_self_attention(filled<double>({6}, 1), w, w, w, w, 2),
                "x must be [..., seq, d_model], is [6]");
  // Weights must be square: a q of another width than x is no q of these heads.
  const auto wide = filled<double>({12, 6}, 1), narrow = filled<double>({3, 6}, 1);
  for (const auto& wrong : {wide, narrow}) {
    CHECK_REFUSED(room::multihead_self_attention(c.x, wrong, w, w, w, 3), "must be [6, 6]");
    CHECK_REFUSED(room::multihead_self_attention(c.x, w, wrong, w, w, 3), "must be [6, 6]");
    CHECK_REFUSED(room::multihead_self_attention(c.x, w, w, wrong, w, 3), "must be [6, 6]");
    CHECK_REFUSED(room::multihead_self_attention(c.x, w, w, w, wrong, 3), "must be [6, 6]");
  }
  CHECK_REFUSED(multihead_self_attention_fused_qkv(c.x, filled<double>({12, 6}, 1), w, 3),
                "w_qkv must be [18, 6], is [12, 6]");
}

BOOST_AUTO_TEST_SUITE_END()
