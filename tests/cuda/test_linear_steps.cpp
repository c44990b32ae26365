// Versions 3 and 4 of the product and that of float32 on tensor cores, emulated and in the kit on a
// device.
#include "linear_bf16x6.cuh"
#include "product_testing.hpp"

#include <tuple>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

// Within a tile, one more, tails of terms, rows that are not aligned, rows of y that are not side
// by side.
const std::tuple<int, int, int, int> sizes[] = {
    {1, 1, 1, 0}, {7, 130, 33, 3}, {129, 100, 72, 0}, {260, 128, 200, 8}};

template <class T>
void check_v3() {
  for (const auto& [rows, d_out, d_in, padding] : sizes) {
    ProductCase<T>(rows, d_out, d_in, padding).check_sums("v3", [](const auto& p, const T*) {
      product_v3(p, Stream{});
      return true;
    });
  }
}
template <class T>
void check_v4() {
  for (const auto& [rows, d_out, d_in, padding] : sizes) {
    ProductCase<T>(rows, d_out, d_in, padding).check_sums("v4", [](const auto& p, const T*) {
      return product_v4(p, Stream{});
    });
  }
}

bool by_bf16x6(const Product<float>& p, const float*) {
  product_bf16x6(p, Stream{});
  return true;
}
bool by_v1(const Product<float>& p, const float*) {
  product_v1(p, Stream{});
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear_steps)

BOOST_AUTO_TEST_CASE(register_tiles) {
  check_v3<float>();
  check_v3<double>();
  check_v3<bfloat16>();
}

BOOST_AUTO_TEST_CASE(tensor_cores) {
  check_v4<float16>();
  check_v4<bfloat16>();
  BOOST_TEST(!product_v4(Product<float>{"test", nullptr, nullptr, nullptr, 1, 1, 1}, Stream{}));
}

BOOST_AUTO_TEST_CASE(float32_on_tensor_cores) {
  for (const auto& [rows, d_out, d_in, padding] : sizes) {
    ProductCase<float>(rows, d_out, d_in, padding).check_sums("bf16x6", by_bf16x6);
  }
  BOOST_CHECK_THROW(
      product_bf16x6(Product<double>{"test", nullptr, nullptr, nullptr, 1, 1, 1}, Stream{}),
      not_implemented);
}

/// No product of parts that counts is left out, and sums are float32's.
BOOST_AUTO_TEST_CASE(bf16x6_is_as_accurate_as_float32) {
  for (const auto& [d_in, allowed] : {std::pair{1, 2.5}, {2, 2.5}, {16, 4.}, {300, 6.}}) {
    ProductCase<float> c(33, 41, d_in);
    fill_bits(c.x, 5);
    fill_bits(c.weight, 6);
    const double error = largest_error(c, by_bf16x6);
    BOOST_TEST_MESSAGE(d_in << " terms: bf16x6 " << error << ", v1 " << largest_error(c, by_v1));
    BOOST_TEST(error < allowed, d_in << " terms: " << error);
  }
}

/// Infinities, NaN, what exceeds bfloat16, products that exceed float32, and numbers so small that
/// parts of them are none, of one factor, among others and alone.
BOOST_AUTO_TEST_CASE(hard_values_are_as_those_of_v1) {
  const float hard[] = {INFINITY, -INFINITY, NAN, 3.4e38f, -3.4e38f, 1e-37f, 1e-40f, 1e-45f, -0.0f};
  for (const auto& [d_in, of] : {std::pair{5, &ProductCase<float>::x},
                                 {24, &ProductCase<float>::x},
                                 {24, &ProductCase<float>::weight}}) {
    ProductCase<float> c(41, 29, d_in, 1);
    auto row = (c.*of).begin();
    for (const float value : hard) {
      row[3] = value;
      std::fill(row + d_in, row + 2 * d_in, 0.0f);
      row[d_in + 4] = value * 0.7f;
      row += 3 * d_in;
    }
    for (const bool with_residual : {false, true}) {
      const std::vector<float> y = c.run(by_bf16x6, with_residual),
                               wanted = c.run(by_v1, with_residual);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const bool same = std::abs(y[i] - wanted[i]) <= 1e-6f * std::abs(wanted[i]) ||
                          y[i] == wanted[i] || (std::isnan(y[i]) && std::isnan(wanted[i]));
        BOOST_TEST(same, i << ": " << y[i] << ", v1 " << wanted[i]);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
