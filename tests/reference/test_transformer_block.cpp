// Transformer blocks: the order of their parts, residual streams, roundings.
#include "transformer_block.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(transformer_block)

/// x[..., seq, d_model] and the parameters of a block.
template <class T>
struct Case {
  Tensor<T> x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3;

  Case(const Shape& shape, std::size_t d_ff, double scale = 0.5)
      : x(random<T>(shape, 1, 2)),
        ln1(random<T>({shape.back()}, 2)),
        ln2(random<T>({shape.back()}, 3)) {
    const std::size_t d = shape.back();
    std::uint64_t seed = 10;
    for (Tensor<T>* w : {&w_q, &w_k, &w_v, &w_o}) *w = random<T>({d, d}, ++seed, scale);
    w1 = random<T>({d_ff, d}, 20, scale);
    w2 = random<T>({d, d_ff}, 21, scale);
    w3 = random<T>({d_ff, d}, 22, scale);
  }

  // The text takes its parameters as a struct, reference/fast/ one by one.
#if defined(PRENORM_TEXT)
  Tensor<T> pre_norm(std::int64_t heads, double eps = 1e-5) const {
    return room::transformer_block(x, weights<SwiGLUWeights>({w1, w2, w3}), heads, 10000, 512, eps);
  }
  Tensor<T> post_norm(std::int64_t heads, double eps = 1e-5) const {
    return transformer_block_post_norm(x, weights<SwiGLUWeights>({w1, w2, w3}), heads, 10000, 512,
                                       eps);
  }
  Tensor<T> with_gelu(std::int64_t heads, double eps = 1e-5) const {
    return transformer_block_gelu(x, weights<GELUWeights>({w1, w2}), heads, eps);
  }
  template <template <class> class FFNWeights>
  BlockWeights<T, FFNWeights> weights(const FFNWeights<T>& ffn) const {
    return {ln1, {w_q, w_k, w_v, w_o}, ln2, ffn};
  }
#else
  Tensor<T> pre_norm(std::int64_t heads, double eps = 1e-5) const {
    return room::transformer_block(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3, heads, 10000, 512,
                                   eps);
  }
  Tensor<T> post_norm(std::int64_t heads, double eps = 1e-5) const {
    return transformer_block_post_norm(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3, heads, 10000,
                                       512, eps);
  }
  Tensor<T> with_gelu(std::int64_t heads, double eps = 1e-5) const {
    return transformer_block_gelu(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, heads, eps);
  }
#endif
  Tensor<T> attention(const Tensor<T>& z, std::int64_t heads) const {
    return multihead_self_attention_with_rope(z, w_q, w_k, w_v, w_o, {}, heads, 10000, 512);
  }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(with_zero_outputs_the_block_is_the_identity, T, AllTypes) {
  Case<T> c({2, 5, 8}, 12);
  c.w_o = filled<T>({8, 8}, 0);
  c.w2 = filled<T>({8, 12}, 0);
  BOOST_TEST(same(c.pre_norm(2), c.x));
  BOOST_TEST(same(c.with_gelu(2), c.x));
  // The post-norm block normalizes the stream itself, twice.
  BOOST_TEST(same(c.post_norm(2), room::rmsnorm(room::rmsnorm(c.x, c.ln1), c.ln2)));
}

BOOST_AUTO_TEST_CASE(one_number_by_hand) {
  // seq 1: attention is w_o w_v. x = 2 normalizes to 1, ln1 makes it 3; y = 2 + 3 * 5 * 0.2 = 5.
  // 5 normalizes to 1 too; w1 = 0 would close the gate, the GELU edition with w1 = 1 adds gelu(1).
  const auto of = [](double value) { return tensor<double>({1, 1}, {value}); };
  Case<double> c({1, 1}, 1);
  c.x = of(2);
  c.ln1 = tensor<double>({1}, {3});
  c.ln2 = tensor<double>({1}, {1});
  c.w_q = c.w_k = c.w1 = of(1);
  c.w_v = of(5);
  c.w_o = of(0.2);
  c.w2 = of(10);
  const auto y = c.with_gelu(1, 0.0);
  BOOST_TEST(close(y, of(5 + 10 * 0.84134474606854295), 1e-14));
}

BOOST_AUTO_TEST_CASE(the_order_of_pre_norm) {
  const Case<double> c({5, 8}, 12);
  const Tensor<double> y = c.x + c.attention(room::rmsnorm(c.x, c.ln1), 2);
  const Tensor<double> expected = y + ffn_swiglu(room::rmsnorm(y, c.ln2), c.w1, c.w2, c.w3);
  BOOST_TEST(close(c.pre_norm(2), expected, 1e-14));
}

BOOST_AUTO_TEST_CASE(the_order_of_post_norm) {
  const Case<double> c({5, 8}, 12);
  const auto y = room::rmsnorm(Tensor<double>(c.x + c.attention(c.x, 2)), c.ln1);
  const auto expected = room::rmsnorm(Tensor<double>(y + ffn_swiglu(y, c.w1, c.w2, c.w3)), c.ln2);
  BOOST_TEST(close(c.post_norm(2), expected, 1e-14));
  BOOST_TEST(!close(c.post_norm(2), c.pre_norm(2), 1e-3));
}

BOOST_AUTO_TEST_CASE(the_gelu_edition_has_no_positions) {
  const Case<double> c({5, 8}, 12);
  const Tensor<double> y = c.x + room::multihead_self_attention(room::rmsnorm(c.x, c.ln1), c.w_q,
                                                                c.w_k, c.w_v, c.w_o, 2);
  const Tensor<double> expected = y + ffn_gelu(room::rmsnorm(y, c.ln2), c.w1, c.w2);
  BOOST_TEST(close(c.with_gelu(2), expected, 1e-14));
  // Two equal inputs one after the other: without positions they get equal outputs.
  Case<double> twin({2, 8}, 12);
  for (std::size_t j = 0; j < 8; ++j) twin.x(1, j) = twin.x(0, j);
  const auto z = twin.with_gelu(2);
  BOOST_TEST(close(slice(z, 0, 0, 1), slice(z, 0, 1, 2), 1e-14));
}

BOOST_AUTO_TEST_CASE(post_norm_hides_the_scale_of_the_last_sum) {
  // Pre-norm: what is added to the stream does not depend on the scale of x, the stream does.
  Case<double> c({5, 8}, 12);
  const Tensor<double> added = c.pre_norm(2, 0.0) - c.x;
  Case<double> scaled = c;
  scaled.x = c.x * 1e6;
  scaled.w_o = filled<double>({8, 8}, 0);
  c.w_o = scaled.w_o;
  const Tensor<double> small = c.pre_norm(2, 0.0) - c.x;
  const Tensor<double> large = scaled.pre_norm(2, 0.0) - scaled.x;
  BOOST_TEST(close(large, small, 1e-8));
  BOOST_TEST(!close(added, small, 1e-3));
}

BOOST_AUTO_TEST_CASE(causal) {
  Case<double> c({9, 8}, 12);
  const auto pre = c.pre_norm(2), post = c.post_norm(2), gelu = c.with_gelu(2);
  for (std::size_t j = 0; j < 8; ++j) c.x(6, j) += 1;
  const auto agrees_before_6 = [](const Tensor<double>& a, const Tensor<double>& b) {
    return close(slice(a, 0, 0, 6), slice(b, 0, 0, 6), 1e-14);
  };
  BOOST_TEST(agrees_before_6(c.pre_norm(2), pre));
  BOOST_TEST(agrees_before_6(c.post_norm(2), post));
  BOOST_TEST(agrees_before_6(c.with_gelu(2), gelu));
  for (std::size_t i = 6; i < 9; ++i) {
    BOOST_TEST(!close(slice(c.pre_norm(2), 0, i, i + 1), slice(pre, 0, i, i + 1), 1e-4));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_each_step, T, SixteenBits) {
  const Case<T> c({3, 16}, 24, 0.3);
  const auto sum = [](const Tensor<T>& a, const Tensor<T>& b) {
    return converted<T>(Tensor<float>(converted<float>(a) + converted<float>(b)));
  };
  const auto y = sum(c.x, c.attention(room::rmsnorm(c.x, c.ln1), 4));
  BOOST_TEST(same(c.pre_norm(4), sum(y, ffn_swiglu(room::rmsnorm(y, c.ln2), c.w1, c.w2, c.w3))));
}

BOOST_AUTO_TEST_CASE(eps_goes_to_both_norms) {
  Case<double> c({3, 8}, 12);
  const auto y = c.pre_norm(2, 1.0);
  BOOST_TEST(!close(y, c.pre_norm(2), 1e-3));
  c.w_o = filled<double>({8, 8}, 0);
  BOOST_TEST(!close(c.pre_norm(2, 1.0), c.pre_norm(2), 1e-3));
}

BOOST_AUTO_TEST_CASE(batches_do_not_mix) {
  const Case<double> c({2, 3, 5, 8}, 12);
  const auto y = c.pre_norm(4);
  BOOST_TEST((shape_of(y) == Shape{2, 3, 5, 8}));
  Case<double> one = c;
  one.x = slice(slice(c.x, 0, 1, 2), 1, 2, 3);
  BOOST_TEST(close(one.pre_norm(4), slice(slice(y, 0, 1, 2), 1, 2, 3), 1e-14));
}

BOOST_AUTO_TEST_CASE(empty_tensors_give_empty_results) {
  for (const Shape& shape : {Shape{0, 3, 8}, Shape{2, 0, 8}}) {
    const Case<float> c(shape, 12);
    BOOST_TEST((shape_of(c.pre_norm(2)) == shape));
    BOOST_TEST((shape_of(c.post_norm(2)) == shape));
    BOOST_TEST((shape_of(c.with_gelu(2)) == shape));
  }
}

BOOST_AUTO_TEST_CASE(errors) {
  const Case<double> c({3, 8}, 12);
  CHECK_REFUSED(c.pre_norm(3), "d_model = 8 is not divisible by num_heads = 3");
  CHECK_REFUSED(c.post_norm(8), "rope: d_k must be even, is 1");
  Case<double> wrong = c;
  wrong.ln2 = filled<double>({1}, 1);
  CHECK_REFUSED(wrong.pre_norm(2), "rmsnorm: weight must be [8], is [1]");
  wrong = c;
  wrong.w2 = filled<double>({1, 12}, 1);  // would broadcast over the residual stream
  CHECK_REFUSED(wrong.pre_norm(2),
                "the terms of a residual sum must have the same shape, have [3, 8] and [3, 1]");
  CHECK_REFUSED(Case<double>({513, 8}, 12).pre_norm(2),
                "rope: position 512 is not in [0, max_seq_len = 512)");
}

BOOST_AUTO_TEST_SUITE_END()
