// multihead_self_attention: heads by hand, causality, prefixes, RoPE, three products and one.
#include "multihead_self_attention.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;
using Positions = std::optional<Tensor<std::int64_t>>;

BOOST_AUTO_TEST_SUITE(multihead_self_attention)

Tensor<double> identity(std::size_t n) { return xt::eye<double>(n); }

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
  Tensor<T> with_rope(std::int64_t heads, const Positions& at = {}, double theta = 10000) const {
    return multihead_self_attention_with_rope(x, w_q, w_k, w_v, w_o, at, heads, theta, 5000);
  }
};

/// The module's formula with the functions of single heads: slices, attention, concatenation.
Tensor<double> head_by_head(const Case<double>& c, std::int64_t heads, const Positions& at = {}) {
  const std::size_t seq = c.x.shape(0), d_model = c.x.shape(1);
  const std::size_t d_k = d_model / static_cast<std::size_t>(heads);
  Tensor<bool> causal = xt::zeros<bool>({seq, seq});
  for (std::size_t i = 0; i < seq; ++i) {
    for (std::size_t j = 0; j <= i; ++j) causal(i, j) = true;
  }
  Tensor<double> joined = xt::zeros<double>({seq, d_model});
  for (std::size_t first = 0; first < d_model; first += d_k) {
    const auto part = [&](const Tensor<double>& w) {
      return room::linear(c.x, slice(w, 0, first, first + d_k));
    };
    Tensor<double> q = part(c.w_q), k = part(c.w_k);
    if (at) {
      q = room::rope(q, *at, 10000, 5000);
      k = room::rope(k, *at, 10000, 5000);
    }
    xt::view(joined, xt::all(), xt::range(first, first + d_k)) =
        scaled_dot_product_attention(q, k, part(c.w_v), std::optional(causal));
  }
  return room::linear(joined, c.w_o);
}

BOOST_AUTO_TEST_CASE(two_heads_by_hand) {
  // Keys are 0, so each position averages v over the positions up to its own; w_o exchanges heads.
  const auto x = tensor<double>({3, 2}, {1, 10, 3, 20, 5, 60});
  const auto zero = filled<double>({2, 2}, 0), swap = tensor<double>({2, 2}, {0, 1, 1, 0});
  const auto y = room::multihead_self_attention(x, identity(2), zero, identity(2), swap, 2);
  BOOST_TEST(close(y, tensor<double>({3, 2}, {10, 1, 15, 2, 30, 3}), 1e-15));
}

BOOST_AUTO_TEST_CASE(heads_are_rows_of_the_weights) {
  const Case<double> c({7, 12});
  for (const std::int64_t heads : {1, 2, 3, 12}) {
    BOOST_TEST(close(c.plain(heads), head_by_head(c, heads), 1e-13));
  }
  BOOST_TEST(!close(c.plain(2), c.plain(3), 1e-3));
}

BOOST_AUTO_TEST_CASE(rope_turns_each_head) {
  const Case<double> c({7, 12});
  Tensor<std::int64_t> at = xt::arange<std::int64_t>(7);
  for (const std::int64_t heads : {1, 2, 3, 6}) {
    BOOST_TEST(close(c.with_rope(heads), head_by_head(c, heads, at), 1e-13));
  }
  at = tensor<std::int64_t>({7}, {4000, 3, 3, 0, 17, 1, 2});
  BOOST_TEST(close(c.with_rope(3, at), head_by_head(c, 3, at), 1e-13));
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

BOOST_AUTO_TEST_CASE(the_future_does_not_matter) {
  Case<double> c({200, 8});
  const auto plain = c.plain(2), turned = c.with_rope(2);
  const auto first = [](const Tensor<double>& y) { return slice(y, 0, 0, 130); };
  for (std::size_t i = 130; i < 200; ++i) {
    for (std::size_t j = 0; j < 8; ++j) c.x(i, j) += 1;
  }
  BOOST_TEST(close(first(c.plain(2)), first(plain), 1e-15));
  BOOST_TEST(close(first(c.with_rope(2)), first(turned), 1e-15));
  // ... but a position's own input does.
  BOOST_TEST(!close(slice(c.plain(2), 0, 130, 131), slice(plain, 0, 130, 131), 1e-3));
}

BOOST_AUTO_TEST_CASE(the_mask_goes_by_index_not_by_position) {
  // Positions run backwards; the last input still sees all others, the first only itself.
  Case<double> c({4, 8});
  const auto backwards = tensor<std::int64_t>({4}, {3, 2, 1, 0});
  const auto before = c.with_rope(2, backwards);
  for (std::size_t j = 0; j < 8; ++j) c.x(3, j) += 1;
  const auto after = c.with_rope(2, backwards);
  BOOST_TEST(close(slice(after, 0, 0, 3), slice(before, 0, 0, 3), 1e-15));
  BOOST_TEST(!close(slice(after, 0, 3, 4), slice(before, 0, 3, 4), 1e-3));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fused_equals_unfused, T, AllTypes) {
  const Case<T> c({2, 5, 8});
  const Tensor<T> w_qkv = xt::concatenate(xt::xtuple(c.w_q, c.w_k, c.w_v), 0);
  BOOST_TEST(close(multihead_self_attention_fused_qkv(c.x, w_qkv, c.w_o, 2), c.plain(2),
                   4 * epsilon<T>()));
}

BOOST_AUTO_TEST_CASE(batches_do_not_mix) {
  const Case<double> c({2, 3, 5, 8});
  const auto y = c.with_rope(4);
  BOOST_TEST((shape_of(y) == Shape{2, 3, 5, 8}));
  Case<double> one = c;
  one.x = slice(slice(c.x, 0, 1, 2), 1, 2, 3);
  BOOST_TEST(close(one.with_rope(4), slice(slice(y, 0, 1, 2), 1, 2, 3), 1e-14));
}

BOOST_AUTO_TEST_CASE(positions_may_have_or_bring_the_batch_axes) {
  const auto at = tensor<std::int64_t>({2, 3}, {0, 1, 2, 9, 5, 7});
  for (const Shape& shape : {Shape{2, 3, 8}, Shape{3, 8}}) {
    const Case<double> c(shape);
    const auto y = c.with_rope(2, at);
    BOOST_TEST((shape_of(y) == Shape{2, 3, 8}));
    for (std::size_t b = 0; b < 2; ++b) {
      Case<double> one = c;
      if (shape.size() == 3) one.x = slice(c.x, 0, b, b + 1);
      const auto of_one = one.with_rope(2, reshaped(slice(at, 0, b, b + 1), {3}));
      BOOST_TEST(close(reshaped(of_one, {1, 3, 8}), slice(y, 0, b, b + 1), 1e-14));
    }
  }
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

BOOST_AUTO_TEST_CASE(queries_keys_and_values_have_a_product_each) {
  // A change of one weight changes only what its product gives. Position 0 attends to itself alone,
  // whatever its score.
  const Case<double> c({3, 4});
  const auto row = [](const Tensor<double>& y, std::size_t i) { return slice(y, 0, i, i + 1); };
  const auto y = c.plain(2);
  Case<double> other = c;
  for (Tensor<double> Case<double>::*const weight : {&Case<double>::w_q, &Case<double>::w_k}) {
    other = c;
    other.*weight = c.*weight * 3.0;  // scores alone
    BOOST_TEST(close(row(other.plain(2), 0), row(y, 0), 1e-14));
    BOOST_TEST(!close(row(other.plain(2), 2), row(y, 2), 1e-3));
  }
  // Scores are bilinear in w_q and w_k, the result is linear in w_v.
  other = c;
  other.w_q = c.w_q * 4.0;
  other.w_k = c.w_k * 0.25;
  BOOST_TEST(close(other.plain(2), y, 1e-14));
  other = c;
  other.w_v = c.w_v * 3.0;
  BOOST_TEST(close(other.plain(2), Tensor<double>(y * 3.0), 1e-14));
  // The rows of a weight that belong to the second head leave the first one as it is.
  other = c;
  other.w_o = identity(4);
  const auto heads = other.plain(2);
  for (Tensor<double> Case<double>::*const weight :
       {&Case<double>::w_q, &Case<double>::w_k, &Case<double>::w_v}) {
    Case<double> changed = other;
    xt::view(changed.*weight, xt::range(2, 4)) *= 3.0;
    BOOST_TEST(close(slice(changed.plain(2), 1, 0, 2), slice(heads, 1, 0, 2), 1e-14));
    BOOST_TEST(!close(slice(changed.plain(2), 1, 2, 4), slice(heads, 1, 2, 4), 1e-3));
  }
}

BOOST_AUTO_TEST_CASE(nan_reaches_every_later_position) {
  // What a key that is not attended to holds is unspecified where it is not finite.
  Case<double> c({4, 4});
  c.x(2, 0) = NaN;
  BOOST_TEST(same(slice(c.plain(2), 0, 2, 4), filled<double>({2, 4}, NaN)));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  const auto w = filled<float>({4, 4}, 1);
  for (const Shape& shape : {Shape{0, 3, 4}, Shape{2, 0, 4}}) {
    const auto x = empty<float>(shape);
    BOOST_TEST((shape_of(room::multihead_self_attention(x, w, w, w, w, 2)) == shape));
    BOOST_TEST(
        (shape_of(multihead_self_attention_with_rope(x, w, w, w, w, {}, 2, 10000, 3)) == shape));
    BOOST_TEST((shape_of(multihead_self_attention_fused_qkv(x, filled<float>({12, 4}, 1), w, 2)) ==
                shape));
  }
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
