// The product on Hopper's tensor cores, cuda/product_wgmma.cu, on the CPU: the kernel's own source
// with a model of Hopper's instructions (hopper/), as test_attention_wgmma.cpp has attention's.
#include "product_wgmma.cu"
#include "model.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;
using namespace prenorm::cuda::product_v5;

namespace {

template <class T>
struct Problem {
  std::int64_t rows, columns, terms, stride;
  std::vector<T> x, weight, gate, residual, y;

  Problem(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t padding = 0)
      : rows(m), columns(n), terms(k), stride(n + padding) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> some(-8, 8);
    const auto fill = [&](std::vector<T>& v, std::int64_t size) {
      v.resize(static_cast<std::size_t>(size));
      for (T& e : v) e = static_cast<T>(static_cast<float>(some(random)) / 8.0f);
    };
    fill(x, m * k);
    fill(weight, n * k);
    fill(gate, n * k);
    fill(residual, m * stride);
  }

  double sum(std::int64_t i, std::int64_t j, const std::vector<T>& w) const {
    double all = 0;
    for (std::int64_t k = 0; k < terms; ++k) {
      all += static_cast<double>(static_cast<float>(x[static_cast<std::size_t>(i * terms + k)])) *
             static_cast<float>(w[static_cast<std::size_t>(j * terms + k)]);
    }
    return all;
  }

  template <class Ending, class S>
  void check(int group) {
    using hopper::When;
    for (const auto& [copies, products] :
         {std::pair{When::early, When::early}, {When::early, When::late}, {When::late, When::late}}) {
      hopper::copies = copies;
      hopper::products = products;
      T poison;
      poison.bits = 0x7fff;
      y.assign(static_cast<std::size_t>(rows * stride), poison);
      Product<T> p{"test", x.data(), weight.data(), y.data(), rows, columns, terms};
      p.y_stride = stride;
      if (Ending::adds) p.residual = residual.data();
      BOOST_TEST_REQUIRE((multiply_wgmma<Ending, S>(p, gate.data(), group, Stream{})));
      double worst = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < stride; ++j) {
          const auto at = static_cast<std::size_t>(i * stride + j);
          if (j >= columns) {
            if (y[at].bits != poison.bits) worst = INFINITY;
            continue;
          }
          double right = sum(i, j, weight);
          if constexpr (Ending::gated) right = right / (1 + std::exp(-right)) * sum(i, j, gate);
          if constexpr (Ending::adds) right += static_cast<float>(residual[at]);
          if constexpr (std::is_same_v<Ending, Activated<Gelu>>) {
            right = right * 0.5 * std::erfc(-right / std::sqrt(2.0));
          }
          const double error =
              std::abs(right - static_cast<float>(y[at])) / (1e-2 + std::abs(right));
          if (!(error <= worst)) worst = error;
        }
      }
      BOOST_TEST(worst < (std::is_same_v<T, float16> ? 6e-4 : 4.5e-3),
                 rows << " x " << columns << " x " << terms << ", " << stride << " apart, cluster "
                      << S::cluster << ", columns " << S::columns << ": " << worst);
    }
  }
};

template <class S>
void check_all() {
  for (const auto& [m, n, k] : {std::tuple(1, 8, 8), {7, 1, 64}, {129, 100, 72}, {64, 257, 128},
                                {128, 256, 64}, {300, 200, 320}, {130, 530, 200}}) {
    Problem<bfloat16> p(m, n, k);
    p.check<Plain, S>(1);
    p.check<Added, S>(4);
    p.check<Activated<Gelu>, S>(2);
    p.check<Gated<Silu>, S>(2);
    Problem<bfloat16>(m, n, k, n % 8 == 0 ? 16 : 5).template check<Added, S>(2);
  }
  Problem<float16>(700, 300, 136).template check<Plain, S>(3);
  Problem<float16>(700, 304, 328).template check<Gated<Silu>, S>(3);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hopper_product)
BOOST_AUTO_TEST_CASE(wide) { check_all<Shape<256, 4, 1>>(); }
BOOST_AUTO_TEST_CASE(narrow_tiles) { check_all<Shape<128, 6, 1>>(); }
BOOST_AUTO_TEST_CASE(clusters) { check_all<Shape<256, 4, 2>>(); }
BOOST_AUTO_TEST_CASE(narrow_clusters) { check_all<Shape<128, 6, 2>>(); }
BOOST_AUTO_TEST_SUITE_END()
