// The launched RMSNorm, emulated: rows at the limits between its cases. Fixtures have the small
// shapes.
#include "cuda_testing.hpp"
#include "rmsnorm.cuh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <tuple>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

using Types = std::tuple<double, float, float16, bfloat16>;

/// The kernel that is launched for rows of n elements. All must be right, and those beside y stay.
template <class T>
std::string kernel_for(std::int64_t rows, std::int64_t n, T first = T(1.0)) {
  constexpr std::int64_t beside = 64;
  const std::size_t size = static_cast<std::size_t>(rows * n);
  auto x = uniform<T>(rows * n, static_cast<std::uint64_t>(rows * 31 + n), 6);
  const auto weight = uniform<T>(n, 5, 2);
  x[0] = first;
  std::vector<T> y(size + 2 * beside, T(77.0));
  const Kernels launched = launches([&] {
    norm_launched<T>({x.data(), weight.data(), y.data() + beside, rows, n, 1e-5}, {});
  });
  const double tolerance = sizeof(T) == 8 ? 1e-14 : sizeof(T) == 4 ? 4e-6 : 0x1.02p-8;
  BOOST_TEST_CONTEXT("[" << rows << ", " << n << "]") {
    bool right = true;
    for (std::size_t i = 0; i < size; i += static_cast<std::size_t>(n)) {
      double sum = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
        sum += static_cast<double>(x[i + k]) * static_cast<double>(x[i + k]);
      }
      const double rms = std::sqrt(sum / static_cast<double>(n) + 1e-5);
      for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
        const double wanted = static_cast<double>(x[i + k]) / rms * static_cast<double>(weight[k]);
        const auto found = static_cast<double>(y[beside + i + k]);
        right &= std::isnan(wanted)
                     ? std::isnan(found)
                     : std::abs(found - wanted) <= tolerance * std::max(std::abs(wanted), 0x1p-14);
      }
    }
    BOOST_TEST(right);
    bool untouched = true;
    for (std::size_t i = 0; i < beside; ++i) {
      untouched &= y[i] == T(77.0) && y[size + beside + i] == T(77.0);
    }
    BOOST_TEST(untouched, "beside y");
  }
  BOOST_REQUIRE(launched.size() == 1u);
  return launched.front();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_rmsnorm)

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_at_the_limits, T, Types) {
  for (const std::int64_t vectors :
       {1, 31, 32, 33, 127, 128, 129, 255, 256, 257, 448, 4095, 4096}) {
    for (const std::int64_t rows : {1, 5}) {
      BOOST_TEST(kernel_for<T>(rows, in<T>(vectors)) == "rmsnorm v3");
    }
  }
  BOOST_TEST(kernel_for<T>(2, in<T>(4097)) == "rmsnorm v2");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_that_are_no_vectors, T, Types) {
  for (const std::int64_t n : {1, 3, 31, 33, 255, 257, 511, 4095}) {
    BOOST_TEST(kernel_for<T>(5, n) == "rmsnorm v3");
  }
  BOOST_TEST(kernel_for<T>(2, 4097) == "rmsnorm v2");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_that_are_not_finite, T, Types) {
  for (const double first : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    for (const std::int64_t n : {in<T>(128), in<T>(300)}) kernel_for<T>(3, n, T(first));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_rows_launch_nothing, T, Types) {
  BOOST_TEST(launches([] {
               norm_launched<T>({nullptr, nullptr, nullptr, 0, 8, 1e-5}, {});
             }).empty());
}

BOOST_AUTO_TEST_SUITE_END()
