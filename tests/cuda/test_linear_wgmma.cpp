// quick: within_a_tile what_it_does_not_take
//
// Version 5 of the product, cuda/linear_wgmma.cu: in the kit on a device, and on the CPU, the
// kernel's own source with a model of Hopper's instructions (hopper/), as test_attention_wgmma.cpp
// has attention's.
#include "activations.cuh"
#include "hopper_testing.hpp"
#include "linear_bf16x6.cuh"
#include "product_testing.hpp"

#include <tuple>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

template <class T>
void check_all(int rows, int d_out, int d_in, int padding) {
  const ProductCase<T> one(rows, d_out, d_in, padding);
  at_all_times([&](const std::string& when) {
    one.check_sums("v5" + when, [](const auto& p, const T*) { return product_v5(p, Stream{}); });
    one.check(
        "GELU" + when,
        [](const auto& p, const T*) { return activated_product_v5<Gelu>(p, Stream{}); }, false,
        [](double a, double, double) { return a * 0.5 * std::erfc(-a / std::sqrt(2.0)); });
    one.check(
        "gate" + when,
        [](const auto& p, const T* gate) { return gated_product_v5<Silu>(p, gate, Stream{}); },
        false, [](double a, double b, double) { return a / (1 + std::exp(-a)) * b; });
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hopper_product)

BOOST_AUTO_TEST_CASE(within_a_tile) {
  check_all<bfloat16>(1, 8, 8, 0);
  check_all<float16>(7, 1, 64, 5);
}

// One more than a tile, tails of terms, a ring of four stages that goes around, rows of y that are
// not side by side or not aligned. Blocks take tile after tile.
BOOST_AUTO_TEST_CASE(sizes_that_tiles_do_not_divide) {
  for (const auto& [rows, d_out, d_in, padding] : {std::tuple(129, 100, 72, 0),
                                                   {64, 257, 128, 5},
                                                   {128, 256, 64, 16},
                                                   {300, 200, 328, 0},
                                                   {130, 530, 200, 0}}) {
    check_all<bfloat16>(rows, d_out, d_in, padding);
  }
  check_all<float16>(300, 304, 328, 8);
}

// The same sizes, and more terms than are summed before y is added to; sums are float32's.
BOOST_AUTO_TEST_CASE(float32_in_parts_of_bfloat16) {
  const auto multiply = [](const auto& p, const float*) {
    return product_bf16x6_wgmma(p, Stream{});
  };
  for (const auto& [rows, d_out, d_in, padding] : {std::tuple(1, 8, 1, 0),
                                                   {7, 1, 65, 5},
                                                   {129, 100, 72, 0},
                                                   {64, 257, 130, 5},
                                                   {5, 8, 1100, 0}}) {
    ProductCase<float> one(rows, d_out, d_in, padding);
    at_all_times(
        [&](const std::string& when) { one.check_sums("bf16x6 by wgmma" + when, multiply); });
    if (padding > 0) continue;
    fill_bits(one.x, 5);
    fill_bits(one.weight, 6);
    const double error = largest_error(one, multiply);
    BOOST_TEST(error < 6, d_in << " terms: " << error);
  }
  ProductCase<float> hard(3, 5, 7);
  hard.x[2] = INFINITY, hard.x[9] = 3.4e38f, hard.weight[3] = NAN;
  const std::vector<float> y = hard.run(multiply, true);
  for (std::int64_t i = 0; i < 15; ++i) {
    const double right =
        hard.sum(i / 5, i % 5, hard.weight) + double{hard.residual[std::size_t(i)]};
    const double found = double{y[std::size_t(i)]};
    BOOST_TEST(
        (std::isnan(right) ? std::isnan(found)
                           : std::abs(right - found) <= 1e-6 * std::abs(right) || right == found),
        i << ": " << found << ", not " << right);
  }
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take) {
  const auto taken = [](auto type, std::int64_t d_in, int bytes) {
    using T = decltype(type);
    const std::vector<T> numbers = random_numbers<T>(64, 1);
    Product<T> p{"test", numbers.data(), numbers.data(), nullptr, 1, 1, d_in};
    p.x = reinterpret_cast<const T*>(reinterpret_cast<const char*>(p.x) + bytes);
    return product_v5(p, Stream{});
  };
  BOOST_TEST(!taken(float{}, 8, 0));
  BOOST_TEST(!taken(bfloat16{}, 12, 0));
  BOOST_TEST(!taken(bfloat16{}, 8, 2));
  const Product<double> doubles{"test", nullptr, nullptr, nullptr, 1, 1, 1};
  BOOST_TEST(!product_bf16x6_wgmma(doubles, Stream{}));
}

BOOST_AUTO_TEST_SUITE_END()
