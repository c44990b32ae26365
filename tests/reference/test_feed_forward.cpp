// Feed-forward networks: a network by hand, each the composition that it says, roundings, d_ff.
#include "feed_forward.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(feed_forward)

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

BOOST_AUTO_TEST_CASE_TEMPLATE(relu_network_by_hand, T, AllTypes) {
  // x w1ᵀ = (3, -1, 4); relu (3, 0, 4); w2 sums and differs.
  const auto x = tensor<T>({1, 2}, {1, 2});
  const auto w1 = tensor<T>({3, 2}, {1, 1, 1, -1, 0, 2});
  const auto w2 = tensor<T>({2, 3}, {1, 1, 1, 1, 5, -1});
  BOOST_TEST(same(ffn_relu(x, w1, w2), tensor<T>({1, 2}, {7, -1})));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_gate_of_glu_is_on_w1, T, AllTypes) {
  // x w1ᵀ = (0, 1), x w2ᵀ = (3, 2).
  const auto y = glu(tensor<T>({1, 2}, {1, 1}), tensor<T>({2, 2}, {1, -1, 0, 1}),
                     tensor<T>({2, 2}, {1, 2, 1, 1}));
  BOOST_TEST(close(y, tensor<double>({1, 2}, {1.5, 2 * 0.73105857863000488}), epsilon<T>()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(swiglu_by_hand, T, AllTypes) {
  // d_model 1, d_ff 2: silu(x w1) = silu(1), silu(2); x w3 = 3, 5; w2 = (1, 10).
  const auto y = ffn_swiglu(tensor<T>({1, 1}, {1}), tensor<T>({2, 1}, {1, 2}),
                            tensor<T>({1, 2}, {1, 10}), tensor<T>({2, 1}, {3, 5}));
  const double expected = 3 * 0.73105857863000488 + 50 * 2 * 0.88079707797788244;
  BOOST_TEST(close(y, tensor<double>({1, 1}, {expected}), 3 * epsilon<T>()));
}

BOOST_AUTO_TEST_CASE(swiglu_term_by_term) {
  const auto x = random<double>({2, 3}, 1), w1 = random<double>({5, 3}, 2);
  const auto w2 = random<double>({3, 5}, 3), w3 = random<double>({5, 3}, 4);
  Tensor<double> expected = xt::zeros<double>({2, 3});
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t f = 0; f < 5; ++f) {
      double gate = 0, value = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        gate += x(row, i) * w1(f, i);
        value += x(row, i) * w3(f, i);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        expected(row, i) += gate * sigmoid(gate) * value * w2(i, f);
      }
    }
  }
  BOOST_TEST(close(ffn_swiglu(x, w1, w2, w3), expected, 1e-14));
}

BOOST_AUTO_TEST_CASE(each_network_has_its_own_activation) {
  const auto x = random<double>({4, 3}, 1, 3), w1 = random<double>({5, 3}, 2);
  const auto w2 = random<double>({3, 5}, 3);
  const auto inner = room::linear(x, w1);
  BOOST_TEST(same(ffn_relu(x, w1, w2), room::linear(relu(inner), w2)));
  BOOST_TEST(same(ffn_silu(x, w1, w2), room::linear(silu(inner), w2)));
  BOOST_TEST(same(ffn_gelu(x, w1, w2), room::linear(gelu(inner), w2)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sixteen_bit_types_round_each_step, T, SixteenBits) {
  const auto x = random<T>({4, 33}, 1), w1 = random<T>({65, 33}, 2), w2 = random<T>({33, 65}, 3);
  const auto w3 = random<T>({65, 33}, 4);
  const auto rounded_linear = [](const Tensor<float>& a, const Tensor<T>& w) {
    return converted<float>(converted<T>(room::linear(a, converted<float>(w))));
  };
  const auto wide = converted<float>(x);
  const auto gate = converted<float>(converted<T>(silu(rounded_linear(wide, w1))));
  const Tensor<float> product = gate * rounded_linear(wide, w3);
  const auto gated = converted<float>(converted<T>(product));
  BOOST_TEST(same(ffn_swiglu(x, w1, w2, w3), rounded_linear(gated, w2)));
}

BOOST_AUTO_TEST_CASE(batch_axes) {
  const auto x = random<double>({2, 3, 4}, 1), w1 = random<double>({7, 4}, 2);
  const auto w2 = random<double>({4, 7}, 3), w3 = random<double>({7, 4}, 4);
  const auto y = ffn_swiglu(x, w1, w2, w3);
  BOOST_TEST((shape_of(y) == Shape{2, 3, 4}));
  BOOST_TEST(close(ffn_swiglu(slice(x, 0, 1, 2), w1, w2, w3), slice(y, 0, 1, 2), 1e-15));
  BOOST_TEST((shape_of(glu(x, w1, w3)) == Shape{2, 3, 7}));
  BOOST_TEST((shape_of(ffn_gelu(empty<double>({0, 4}), w1, w2)) == Shape{0, 4}));
}

BOOST_AUTO_TEST_CASE(nan_stays_in_its_row) {
  const auto ones = filled<double>({2, 2}, 1);
  const auto y = ffn_swiglu(tensor<double>({2, 2}, {NaN, 1, 0, 0}), ones, ones, ones);
  BOOST_TEST(same(y, tensor<double>({2, 2}, {NaN, NaN, 0, 0})));
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto of = [](const Shape& shape) { return filled<double>(shape, 1); };
  CHECK_REFUSED(ffn_relu(of({1, 3}), of({5, 2}), of({3, 5})),
                "linear: x must be [..., 2], is [1, 3]");
  CHECK_REFUSED(ffn_gelu(of({1, 3}), of({5, 3}), of({3, 4})),
                "linear: x must be [..., 4], is [1, 5]");
  // A w3 of one row would broadcast over the gate, were it not checked.
  CHECK_REFUSED(ffn_swiglu(of({1, 3}), of({5, 3}), of({3, 5}), of({1, 3})),
                "ffn_swiglu: w1 and w3 must have the same shape, have [5, 3] and [1, 3]");
  CHECK_REFUSED(glu(of({1, 3}), of({5, 3}), of({1, 3})),
                "glu: w1 and w2 must have the same shape, have [5, 3] and [1, 3]");
}

#if defined(PRENORM_TEXT)
BOOST_AUTO_TEST_CASE(width_of_swiglu) {
  // 8/3 d_model to the nearest multiple of 64; 36 lies between 64 and 128 and goes up.
  for (const auto& [d_model, d_ff] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64},
                                                          {24, 64},
                                                          {35, 64},
                                                          {36, 128},
                                                          {48, 128},
                                                          {64, 192},
                                                          {512, 1344},
                                                          {768, 2048},
                                                          {1024, 2752},
                                                          {4096, 10944}}) {
    BOOST_TEST(swiglu_d_ff(d_model) == d_ff);
  }
  for (std::int64_t d_model = 24; d_model < 3000; ++d_model) {
    const double distance =
        static_cast<double>(swiglu_d_ff(d_model)) - 8.0 / 3 * static_cast<double>(d_model);
    BOOST_TEST(distance > -32);
    BOOST_TEST(distance <= 32 + 1e-9);
    BOOST_TEST(swiglu_d_ff(d_model) % 64 == 0);
  }
  CHECK_REFUSED(swiglu_d_ff(0), "swiglu_d_ff: d_model must be positive, is 0");
}
#endif

BOOST_AUTO_TEST_SUITE_END()
