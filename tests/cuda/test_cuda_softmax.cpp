// Softmax's kernels, emulated: at the limits between them, with clusters and without, and with
// slices that are not finite. Fixtures have the small shapes.
#include "cuda_testing.hpp"
#include "softmax.cuh"
#include "softmax_spans.cuh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

extern "C" int prenorm_softmax(const prenorm_call* call);

namespace {

using Types = std::tuple<double, float, float16, bfloat16>;
constexpr double inf = std::numeric_limits<double>::infinity();

/// A device with clusters of blocks, or one without.
class Device {
 public:
  explicit Device(bool clusters) { emulator::has_clusters = clusters; }
  ~Device() { emulator::has_clusters = true; }
};

/// x as [outer, n, inner], always the same for its size.
template <class T>
struct Input {
  std::int64_t outer, n, inner;
  std::vector<T> x;

  Input(std::int64_t o, std::int64_t length, std::int64_t i)
      : outer(o),
        n(length),
        inner(i),
        x(uniform<T>(o * n * i, static_cast<std::uint64_t>(o * 31 + n * 7 + i), 6)) {}
  T& at(std::int64_t o, std::int64_t row, std::int64_t i) {
    return x[static_cast<std::size_t>((o * n + row) * inner + i)];
  }
};

template <class T>
std::vector<T> softmax_of(Input<T>& input) {
  // Beside y are values that must stay.
  const std::size_t size = input.x.size(), beside = 64;
  std::vector<T> y(size + 2 * beside, T(77.0));
  std::int64_t shape[3] = {input.outer, input.n, input.inner};
  std::int64_t strides[3] = {input.n * input.inner, input.inner, 1};
  DLTensor from{input.x.data(), {kDLCPU, 0}, 3, dtype_of<T>(), shape, strides, 0};
  DLTensor to{y.data() + beside, {kDLCPU, 0}, 3, dtype_of<T>(), shape, strides, 0};
  const DLTensor* inputs[] = {&from};
  DLTensor* outputs[] = {&to};
  prenorm_scalar dim{PRENORM_INT, {.i = 1}};
  char error[256] = "";
  const prenorm_call call{inputs, 1, 1, &dim, outputs, 1, nullptr, error, sizeof error};
  BOOST_REQUIRE_MESSAGE(prenorm_softmax(&call) == PRENORM_OK, error);
  for (std::size_t i = 0; i < beside; ++i) {
    BOOST_REQUIRE(y[i] == T(77.0) && y[size + beside + i] == T(77.0));
  }
  return {y.begin() + beside, y.end() - beside};
}

/// The largest error, in units of the type's precision at the value; NaN where one is not wanted,
/// or is wanted and missing.
template <class T>
double error_of(Input<T>& input) {
  const std::vector<T> y = softmax_of(input);
  double most = 0;
  for (std::int64_t slice = 0; slice < input.outer * input.inner; ++slice) {
    const std::int64_t first = slice / input.inner * input.n * input.inner + slice % input.inner;
    const auto x = [&](std::int64_t i) {
      return static_cast<double>(input.x[static_cast<std::size_t>(first + i * input.inner)]);
    };
    double largest = -inf, sum = 0;
    for (std::int64_t i = 0; i < input.n; ++i) largest = std::max(largest, x(i));
    for (std::int64_t i = 0; i < input.n; ++i) sum += std::exp(x(i) - largest);
    for (std::int64_t i = 0; i < input.n; ++i) {
      const double wanted = std::exp(x(i) - largest) / sum;
      const auto found = static_cast<double>(y[static_cast<std::size_t>(first + i * input.inner)]);
      if (std::isnan(wanted) != std::isnan(found)) return std::nan("");
      if (std::isnan(wanted)) continue;
      // float16 has no smaller numbers than 2^-24.
      const double least = std::is_same_v<T, float16> ? 0x1p-14 : 0x1p-126;
      most = std::max(most, std::abs(found - wanted) / std::max(wanted, least));
    }
  }
  return most;
}

template <class T>
double tolerance() {
  return std::is_same_v<T, double>    ? 1e-13
         : std::is_same_v<T, float>   ? 4e-6
         : std::is_same_v<T, float16> ? 0x1.02p-11
                                      : 0x1.02p-8;
}

/// Which kernel softmax of [outer, n, inner] along n launches; it must be right.
template <class T>
std::string kernel_for(std::int64_t outer, std::int64_t n, std::int64_t inner) {
  Input<T> input(outer, n, inner);
  double error = 0;
  const Kernels launched = launches([&] { error = error_of(input); });
  BOOST_TEST_CONTEXT("[" << outer << ", " << n << ", " << inner << "]") {
    BOOST_TEST(error <= tolerance<T>());
  }
  BOOST_REQUIRE(launched.size() == 1u);
  return launched.front().substr(std::string("softmax v3 ").size());
}

constexpr std::int64_t block_holds = (kept_in_registers + kept_in_shared) * softmax_threads;

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_softmax)

BOOST_AUTO_TEST_CASE_TEMPLATE(short_rows, T, Types) {
  const Device device(true);
  for (const std::int64_t n : {1, 2, 3, 31, 32}) BOOST_TEST(kernel_for<T>(7, n, 1) == "short rows");
  BOOST_TEST(kernel_for<T>(33, in<T>(32), 1) == "short rows");
  BOOST_TEST(kernel_for<T>(9, in<T>(32) + 1, 1) == "rows");
  BOOST_TEST(kernel_for<T>(9, in<T>(32) - 1, 1) == "rows");
  BOOST_TEST(kernel_for<T>(5, in<T>(33), 1) == "rows");
}

/// More rows than blocks, so that a block takes several, each with its own alignment.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_block_takes_row_after_row, T, Types) {
  const Device device(true);
  for (const std::int64_t n : {in<T>(255), in<T>(256), in<T>(256) + 1, in<T>(257) - 1}) {
    for (const std::int64_t rows : {1, 3, 67}) BOOST_TEST(kernel_for<T>(rows, n, 1) == "rows");
  }
  BOOST_TEST(kernel_for<T>(11, in<T>(1000) + 1, 1) == "rows");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_at_the_limits, T, Types) {
  const Device device(true);
  const std::int64_t most = in<T>(row_vectors), one_block = in<T>(block_holds);
  BOOST_TEST(kernel_for<T>(9, most, 1) == "rows");
  BOOST_TEST(kernel_for<T>(3, most - vector_width<T> + 1, 1) == "rows");
  BOOST_TEST(kernel_for<T>(3, most - vector_width<T> + 2, 1) ==
             (vector_width<T> == 2 ? "rows" : "long rows"));
  BOOST_TEST(kernel_for<T>(3, most + 1, 1) == "long rows");
  BOOST_TEST(kernel_for<T>(2, in<T>(kept_in_shared * softmax_threads), 1) == "long rows");
  BOOST_TEST(kernel_for<T>(2, in<T>(kept_in_shared * softmax_threads) + 1, 1) == "long rows");
  BOOST_TEST(kernel_for<T>(2, one_block, 1) == "long rows");
  BOOST_TEST(kernel_for<T>(2, one_block + 1, 1) == "cluster rows");
  BOOST_TEST(kernel_for<T>(1, one_block + vector_width<T>, 1) == "cluster rows");
}

BOOST_AUTO_TEST_CASE(clusters_of_each_size) {
  const Device device(true);
  const std::int64_t one_block = in<double>(block_holds);
  for (const std::int64_t blocks : {2, 4, 8}) {
    BOOST_TEST(kernel_for<double>(1, one_block * blocks, 1) == "cluster rows");
    BOOST_TEST(kernel_for<double>(1, one_block * blocks - 1, 1) == "cluster rows");
  }
  // And more than that holds: some is read twice.
  BOOST_TEST(kernel_for<double>(2, one_block * 8 + 1, 1) == "cluster rows");
  BOOST_TEST(kernel_for<double>(1, one_block * 8 + in<double>(9001), 1) == "cluster rows");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(two_passes_without_clusters, T, Types) {
  const Device device(false);
  const std::int64_t one_block = in<T>(block_holds);
  for (const std::int64_t more : {std::int64_t{1}, in<T>(1), in<T>(2049), in<T>(2049) + 1}) {
    BOOST_TEST(kernel_for<T>(2, one_block + more, 1) == "long rows");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(columns_at_the_limits, T, Types) {
  const Device device(true);
  constexpr std::int64_t N = vector_width<T>;
  for (const std::int64_t n : {1, 2, 16, 17, 64, 65}) {
    BOOST_TEST(kernel_for<T>(2, n, 32 * N) == "columns");
    BOOST_TEST(kernel_for<T>(2, n, N) == "columns");
    BOOST_TEST(kernel_for<T>(2, n, 5) == "columns");
  }
  // 8 threads side by side have 32 rows in each of a thread's vectors, of which 22 fit.
  for (const std::int64_t n : {255, 256, 257, 640}) {
    BOOST_TEST(kernel_for<T>(2, n, 3 * N) == "columns");
    BOOST_TEST(kernel_for<T>(1, n, 9 * N) == "columns");
  }
  BOOST_TEST(kernel_for<T>(1, 1025, 8 * N) == "cluster columns");
  BOOST_TEST(kernel_for<T>(3, 2100, 3 * N) == "cluster columns");
  for (const std::int64_t n : {512, 513, 1100}) {
    BOOST_TEST((kernel_for<T>(1, n, 33).find("columns") != std::string::npos));
  }
}

/// More tiles than run at a time, so that a cluster takes several, the last one beyond the columns.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_cluster_takes_tile_after_tile, T, Types) {
  const Device device(true);
  constexpr std::int64_t N = vector_width<T>;
  for (const std::int64_t n : {3, 17, 70, 300, 640}) {
    BOOST_TEST(kernel_for<T>(2, n, 129 * N) == "columns");
    BOOST_TEST(kernel_for<T>(3, n, 43) == "columns");
  }
  BOOST_TEST(kernel_for<T>(3, 1000, 17 * N) == "cluster columns");
  BOOST_TEST(kernel_for<T>(1, 7000, 17 * N) == "cluster columns");
}

/// Tiles of 128 bytes, then of 64, then of 32; then some is read twice.
BOOST_AUTO_TEST_CASE(long_columns) {
  const Device device(true);
  for (const std::int64_t n : {8191, 8192, 8193, 16384, 16385, 32768, 32769}) {
    BOOST_TEST(kernel_for<float>(1, n, 32) == "cluster columns");
  }
  for (const std::int64_t n : {8200, 28672, 28673, 32768, 32769}) {
    BOOST_TEST(kernel_for<bfloat16>(1, n, 16) == "cluster columns");
  }
  BOOST_TEST(kernel_for<float>(1, 8193, 33) == "cluster columns");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(long_columns_without_clusters, T, Types) {
  const Device device(false);
  constexpr std::int64_t N = vector_width<T>;
  for (const std::int64_t n : {1023, 1024, 1025, 4096, 4097, 5000}) {
    BOOST_TEST(kernel_for<T>(1, n, 8 * N) == "columns");
  }
  BOOST_TEST(kernel_for<T>(1, 1100, 33) == "columns");
}

/// Each path, with slices that are all -infinity, hold one NaN or +infinity, or begin with many
/// -infinities: then parts of a slice have no number at all.
BOOST_AUTO_TEST_CASE_TEMPLATE(slices_that_are_not_finite, T, Types) {
  const std::int64_t one_block = in<T>(block_holds);
  const struct {
    std::int64_t n, inner;
    bool clusters;
  } shapes[] = {{in<T>(8), 1, true},         {in<T>(64), 1, true},
                {in<T>(64) + 1, 1, true},    {in<T>(3200), 1, true},
                {one_block + 9, 1, true},    {one_block + 9, 1, false},
                {40, vector_width<T>, true}, {1030, in<T>(1), true},
                {9000, in<T>(1), false},     {600, 3, true},
                {1030, in<T>(8), true}};
  for (const auto& shape : shapes) {
    const Device device(shape.clusters);
    Input<T> input(5, shape.n, shape.inner);
    for (std::int64_t row = 0; row < shape.n; ++row) {
      input.at(0, row, 0) = T(-inf);
      if (row < shape.n - 1) input.at(1, row, 0) = T(-inf);
      if (row > 0) input.at(2, row, 0) = T(-inf);
    }
    input.at(3, shape.n / 2, shape.inner - 1) = T(std::nan(""));
    input.at(4, shape.n - 1, 0) = T(inf);
    BOOST_TEST_CONTEXT(shape.n << " by " << shape.inner) {
      BOOST_TEST(error_of(input) <= tolerance<T>());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
