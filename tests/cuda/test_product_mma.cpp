// Versions 3 and 4 of the product on the CPU.
#include "product_mma.cu"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

template <class T>
void check(std::int64_t m, std::int64_t n, std::int64_t k, void (*multiply)(const Product<T>&, Stream),
           const char* what) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> some(-8, 8);
  const auto filled = [&](std::int64_t size) {
    std::vector<T> v(static_cast<std::size_t>(size));
    for (T& e : v) e = static_cast<T>(static_cast<float>(some(random)) / 8.0f);
    return v;
  };
  const auto x = filled(m * k), w = filled(n * k), r = filled(m * n);
  std::vector<T> y(r.size());
  for (const bool add : {false, true}) {
    multiply({"test", x.data(), w.data(), y.data(), m, n, k, add ? r.data() : nullptr}, Stream{});
    double worst = 0;
    for (std::int64_t i = 0; i < m * n; ++i) {
      double right = add ? static_cast<double>(r[static_cast<std::size_t>(i)]) : 0.0;
      for (std::int64_t t = 0; t < k; ++t) {
        right += static_cast<double>(x[static_cast<std::size_t>(i / n * k + t)]) *
                 static_cast<double>(w[static_cast<std::size_t>(i % n * k + t)]);
      }
      const double off = std::abs(right - static_cast<double>(y[static_cast<std::size_t>(i)])) /
                         (1e-2 + std::abs(right));
      if (!(off <= worst)) worst = off;
    }
    BOOST_TEST(worst < (sizeof(T) == 2 ? 4.5e-3 : 1e-4), what << " " << m << " x " << n << " x " << k << ": " << worst);
  }
}

template <class T>
void check_v3() {
  for (const auto& [m, n, k] : {std::tuple(1, 1, 1), {7, 130, 33}, {129, 100, 48}, {260, 128, 36}}) {
    check<T>(m, n, k, product_registers<T>, "v3");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(product_steps)
BOOST_AUTO_TEST_CASE(registers) {
  check_v3<float>();
  check_v3<double>();
  check_v3<bfloat16>();
}
BOOST_AUTO_TEST_CASE(tensor_cores) {
  for (const auto& [m, n, k] : {std::tuple(1, 1, 1), {7, 130, 33}, {129, 100, 72}, {260, 128, 200}}) {
    check<bfloat16>(m, n, k, product_mma<4, 4, bfloat16>, "v4, 4 warps");
    check<bfloat16>(m, n, k, product_mma<8, 3, bfloat16>, "v4, 8 warps");
    check<float16>(m, n, k, product_mma<4, 3, float16>, "v4, 4 warps");
  }
}
BOOST_AUTO_TEST_SUITE_END()
