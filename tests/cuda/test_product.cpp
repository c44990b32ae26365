// The products of the CUDA path, emulated and in the kit on a device, and how they are put to
// cuBLASLt.
#include "cublaslt.cuh"
#include "cuda_testing.hpp"
#include "product.cuh"
#include "workspace.cuh"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

/// Small whole numbers, whose products and sums are exact.
std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7 + i / 5 * 3 + static_cast<std::size_t>(seed)) % 11) - 5;
  }
  return values;
}

struct Sizes {
  std::int64_t rows, d_out, d_in;
};

/// What the products below must give, element by element: y, with what it holds as the residual,
/// and from a row to the next `stride` elements.
std::vector<float> expected(const Sizes& s, const std::vector<float>& x,
                            const std::vector<float>& weight, std::vector<float> y,
                            std::int64_t stride) {
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t column = 0; column < s.d_out; ++column) {
      for (std::int64_t k = 0; k < s.d_in; ++k) {
        y[static_cast<std::size_t>(row * stride + column)] +=
            x[static_cast<std::size_t>(row * s.d_in + k)] *
            weight[static_cast<std::size_t>(column * s.d_in + k)];
      }
    }
  }
  return y;
}

/// multiply(p) for tensors in the host's memory.
template <class T>
void run(void (*multiply)(const Product<T>&, Stream), Product<T> p) {
  const bool in_place = p.residual == p.y;
  const Mirror x(p.x, p.rows * p.d_in), weight(p.weight, p.d_out * p.d_in);
  const std::int64_t extent = p.rows > 0 ? (p.rows - 1) * p.row_of_y() + p.d_out : 0;
  const Mirror residual(p.residual, p.residual == nullptr ? 0 : extent);
  const Mirror y(p.y, extent);
  p.x = x.data();
  p.weight = weight.data();
  p.y = y.data();
  if (p.residual != nullptr) p.residual = in_place ? p.y : residual.data();
  multiply(p, Stream{});
  y.take_back();
}

// One output, less than a tile, a whole one, one more; d_in within, at and beyond a step of v2.
const Sizes all_sizes[] = {{1, 1, 1},    {3, 5, 7},
                           {64, 64, 16}, {65, 129, 17},
                           {2, 200, 48}, {on_a_device ? 1000 : 1, on_a_device ? 777 : 1, 1024}};

}  // namespace

BOOST_AUTO_TEST_SUITE(product)

/// C = Aᵀ B as BLAS defines it: element (i, j) of a matrix is at i + j * leading.
BOOST_AUTO_TEST_CASE(column_major_matrices_give_the_row_major_product) {
  for (const Sizes& s : all_sizes) {
    const std::int64_t stride = 2 * s.d_out + 1;
    const std::vector<float> x = numbers(s.rows * s.d_in, 1), weight = numbers(s.d_out * s.d_in, 2);
    const ColumnMajor m = column_major(s.rows, s.d_out, s.d_in, stride);
    BOOST_TEST(m.a.rows == m.b.rows);     // terms
    BOOST_TEST(m.a.columns == m.c.rows);  // A is transposed
    BOOST_TEST(m.b.columns == m.c.columns);
    for (const auto& matrix : {m.a, m.b, m.c}) BOOST_TEST(matrix.leading >= matrix.rows);
    std::vector<float> y(static_cast<std::size_t>(s.rows * stride));
    for (std::int64_t i = 0; i < m.c.rows; ++i) {
      for (std::int64_t j = 0; j < m.c.columns; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < m.a.rows; ++k) {
          sum += weight.at(static_cast<std::size_t>(k + i * m.a.leading)) *
                 x.at(static_cast<std::size_t>(k + j * m.b.leading));
        }
        y.at(static_cast<std::size_t>(i + j * m.c.leading)) = sum;
      }
    }
    BOOST_TEST(y == expected(s, x, weight, std::vector<float>(y.size()), stride),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_residual_is_added_also_in_place) {
  for (const auto multiply : {product_v1<float>, product_v2<float>, product_launched<float>}) {
    for (const Sizes& s : all_sizes) {
      const std::vector<float> x = numbers(s.rows * s.d_in, 1);
      const std::vector<float> weight = numbers(s.d_out * s.d_in, 2);
      const std::vector<float> residual = numbers(s.rows * s.d_out, 3);
      const std::vector<float> wanted = expected(s, x, weight, residual, s.d_out);
      std::vector<float> apart(residual.size(), std::nanf("")), in_place = residual;
      run(multiply, {"test", x.data(), weight.data(), apart.data(), s.rows, s.d_out, s.d_in,
                     residual.data()});
      run(multiply, {"test", x.data(), weight.data(), in_place.data(), s.rows, s.d_out, s.d_in,
                     in_place.data()});
      BOOST_TEST(apart == wanted, boost::test_tools::per_element());
      BOOST_TEST(in_place == wanted, boost::test_tools::per_element());
    }
  }
}

/// Three products side by side in one matrix, as of q, k and v, and a column that is not theirs.
BOOST_AUTO_TEST_CASE(products_write_ranges_of_columns) {
  for (const auto multiply : {product_v1<float>, product_v2<float>, product_launched<float>}) {
    for (const Sizes& s : all_sizes) {
      const std::int64_t stride = 3 * s.d_out + 1;
      const std::vector<float> x = numbers(s.rows * s.d_in, 1);
      const std::vector<float> residual = numbers(s.rows * stride, 3);
      std::vector<float> y = residual, wanted = residual;
      for (int part = 0; part < 3; ++part) {
        const std::vector<float> weight = numbers(s.d_out * s.d_in, 4 + part);
        const auto first = static_cast<std::size_t>(part * s.d_out);
        const std::vector<float> there(wanted.begin() + part * s.d_out, wanted.end());
        std::ranges::copy(expected(s, x, weight, there, stride), wanted.begin() + part * s.d_out);
        run(multiply, {"test", x.data(), weight.data(), &y[first], s.rows, s.d_out, s.d_in,
                       part == 1 ? &y[first] : &residual[first], stride});
      }
      BOOST_TEST(y == wanted, boost::test_tools::per_element());
    }
  }
}

/// 2048 + 1 is no float16 number, and would be 2048; with 1 more it is one.
BOOST_AUTO_TEST_CASE(sum_and_residual_are_rounded_once) {
  const std::vector<float16> x{float16(2048), float16(1)}, weight{float16(1), float16(1)};
  for (const auto multiply :
       {product_v1<float16>, product_v2<float16>, product_launched<float16>}) {
    float16 y(1);
    run(multiply, {"test", x.data(), weight.data(), &y, 1, 1, 2, &y});
    BOOST_TEST(static_cast<float>(y) == 2050);
  }
}

BOOST_AUTO_TEST_CASE(nothing_to_sum_is_an_error_that_names_the_product) {
  float y = 0;
  for (const auto multiply : {product_v1<float>, product_v2<float>, product_launched<float>}) {
    BOOST_CHECK_EXCEPTION(run(multiply, {"some product", &y, &y, &y, 1, 1, 0}),
                          std::invalid_argument, [](const std::invalid_argument& error) {
                            return std::string(error.what()).starts_with("some product: d_in is 0");
                          });
    run(multiply, {"some product", &y, &y, &y, 0, 1, 0});  // no outputs
    run(multiply, {"some product", &y, &y, &y, 1, 0, 0});
  }
}

#if !defined(__CUDACC__)
BOOST_AUTO_TEST_CASE(emulated_workspaces_are_filled_with_nan) {
  Workspace workspace("test");
  for (const std::int64_t count : {3, 1000, 2}) {
    float* memory = workspace.get<float>(count, {});
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0u);
    for (std::int64_t i = 0; i < count; ++i) {
      BOOST_TEST(std::isnan(memory[i]));
      memory[i] = 1;  // not there at the next get
    }
  }
  BOOST_TEST(workspace.get<float>(0, {}) == nullptr);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
