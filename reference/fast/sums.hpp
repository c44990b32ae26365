// Sums and products: all reductions of this folder.
//
// There are two implementations. By default partial sums run side by side (so that the compiler
// uses SIMD) and matrix products go to OpenBLAS. In `plain`, which is compiled with PRENORM_PLAIN,
// there is one accumulator, in the order that `sum_order` says: the textbook loop, by whose error
// tolerances are derived. Accumulators have the compute type, never a 16-bit one.
#pragma once

#include "rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <omp.h>

extern "C" {  // from OpenBLAS's cblas.h, which conflicts with xtensor-blas
int openblas_get_num_threads(void);
void openblas_set_num_threads(int num_threads);
}

namespace prenorm::fast {

/// A view of a row-major matrix: row i begins at data + i * stride.
template <class C>
struct Matrix {
  C* data;
  std::size_t rows, columns, stride;

  C* row(std::size_t i) const { return data + i * stride; }
  /// Its rows first ... first + count - 1.
  Matrix part(std::size_t first, std::size_t count) const {
    return {row(first), count, columns, stride};
  }
  /// Its columns first ... first + count - 1.
  Matrix part_across(std::size_t first, std::size_t count) const {
    return {data + first, rows, count, stride};
  }
  operator Matrix<const C>() const { return {data, rows, columns, stride}; }
};

/// The textbook loop: one accumulator.
namespace textbook {

enum class SumOrder { ascending, reversed, pairwise, kahan, fma, tensor_cores };
/// Set between calls only: the threads of a running call read it.
inline SumOrder sum_order = SumOrder::ascending;

template <class C, class A, class B>
C pairwise_sum_of_products(std::size_t first, std::size_t last, A a, B b) {
  if (last - first == 1) return a(first) * b(first);
  const std::size_t middle = first + (last - first) / 2;
  return pairwise_sum_of_products<C>(first, middle, a, b) +
         pairwise_sum_of_products<C>(middle, last, a, b);
}

/// `value` rounded towards 0; an overflow becomes an infinity.
template <class C>
C truncated(double value) {
  const C nearest = static_cast<C>(value);
  const bool grew = std::abs(static_cast<double>(nearest)) > std::abs(value);
  return grew && std::isfinite(nearest) ? std::nextafter(nearest, C(0)) : nearest;
}

/// sum_i a(i) b(i) for i in [0, n), in the order of sum_order.
template <class C, class A, class B>
C sum_of_products(std::size_t n, A a, B b) {
  C sum = 0;
  switch (sum_order) {
    case SumOrder::ascending:
    case SumOrder::tensor_cores:  // which take matrix products only: see dot()
      for (std::size_t i = 0; i < n; ++i) sum += a(i) * b(i);
      break;
    case SumOrder::reversed:
      for (std::size_t i = n; i-- > 0;) sum += a(i) * b(i);
      break;
    case SumOrder::pairwise:
      if (n > 0) sum = pairwise_sum_of_products<C>(0, n, a, b);
      break;
    case SumOrder::kahan: {
      C lost = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const C term = a(i) * b(i) - lost, grown = sum + term;
        // For an infinite sum the difference would be NaN.
        lost = std::isfinite(grown) ? (grown - sum) - term : C(0);
        sum = grown;
      }
      break;
    }
    case SumOrder::fma:
      for (std::size_t i = 0; i < n; ++i) sum = std::fma(a(i), b(i), sum);
      break;
  }
  return sum;
}

/// The same for an element of a matrix product.
template <class C, class A, class B>
C dot(std::size_t n, A a, B b) {
  if (sum_order != SumOrder::tensor_cores) return sum_of_products<C>(n, a, b);
  // 16 products of floats at once, added in float64 to the sum so far, and truncated. (float64 has
  // no such units: this is the ascending order.)
  C sum = 0;
  for (std::size_t first = 0; first < n; first += 16) {
    double exact = sum;
    for (std::size_t i = first; i < std::min(n, first + 16); ++i) {
      exact += static_cast<double>(a(i)) * static_cast<double>(b(i));
    }
    sum = truncated<C>(exact);
  }
  return sum;
}

/// Whether this library is plain-tf32 (tf32/solution.cpp), and whether products of the current call
/// read a float as tf32 units do. Set between calls only.
inline bool tf32_solution = false, tf32_products = false;

/// An operand as products read it: unchanged, or with only the first 10 of a float's 23 mantissa
/// bits. NaN stays NaN, even if its payload is in the other bits alone.
template <class C>
C operand(C value) {
  if constexpr (std::is_same_v<C, float>) {
    if (tf32_products && !std::isnan(value)) {
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
    }
  }
  return value;
}

/// c = a bᵀ.
template <class C>
void multiply_transposed(Matrix<const C> a, Matrix<const C> b, Matrix<C> c) {
  parallel_for(c.rows, c.rows * c.columns * a.columns, [=](std::size_t i) {
    const C* u = a.row(i);
    for (std::size_t j = 0; j < c.columns; ++j) {
      const C* v = b.row(j);
      // step: sum of products
      c.row(i)[j] = dot<C>(
          a.columns, [=](std::size_t l) { return operand(u[l]); },
          [=](std::size_t l) { return operand(v[l]); });
    }
  });
}

/// c = a b.
template <class C>
void multiply(Matrix<const C> a, Matrix<const C> b, Matrix<C> c) {
  parallel_for(c.rows, c.rows * c.columns * a.columns, [=](std::size_t i) {
    const C* u = a.row(i);
    for (std::size_t j = 0; j < c.columns; ++j) {
      c.row(i)[j] = dot<C>(
          a.columns, [=](std::size_t l) { return operand(u[l]); },
          [=](std::size_t l) { return operand(b.row(l)[j]); });
    }
  });
}

/// While one exists, products run on the calling thread; here nothing has to be done for that.
struct ProductsOnOneThread {};

}  // namespace textbook

/// Partial sums side by side in SIMD registers, and products by OpenBLAS.
namespace simd {

/// sum_i a(i) b(i) for i in [0, n): 32 partial sums side by side, added at the end.
template <class C, class A, class B>
C sum_of_products(std::size_t n, A a, B b) {
  constexpr std::size_t lanes = 32;
  C partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) partial[lane] += a(i + lane) * b(i + lane);
  }
  C sum = 0;
  for (; i < n; ++i) sum += a(i) * b(i);
  for (const C part : partial) sum += part;
  return sum;
}

template <class C>
void gemm(cxxblas::Transpose transpose_b, Matrix<const C> a, Matrix<const C> b, Matrix<C> c) {
  using Index = xt::blas_index_t;
  // BLAS requires strides of at least 1.
  if (c.rows == 0 || c.columns == 0) return;
  if (a.columns == 0) {
    for (std::size_t i = 0; i < c.rows; ++i) std::fill_n(c.row(i), c.columns, C(0));
    return;
  }
  cxxblas::gemm<Index>(cxxblas::RowMajor, cxxblas::NoTrans, transpose_b, Index(c.rows),
                       Index(c.columns), Index(a.columns), C(1), a.data, Index(a.stride), b.data,
                       Index(b.stride), C(0), c.data, Index(c.stride));
}

/// While one exists, OpenBLAS runs products on the calling thread, because the caller already uses
/// all cores. The setting is one of the whole process: do not call what has products (linear, and
/// all that uses it) from two threads.
class ProductsOnOneThread {
 public:
  ProductsOnOneThread() { openblas_set_num_threads(1); }
  ~ProductsOnOneThread() { openblas_set_num_threads(before_); }
  ProductsOnOneThread(const ProductsOnOneThread&) = delete;
  ProductsOnOneThread& operator=(const ProductsOnOneThread&) = delete;

 private:
  int before_ = openblas_get_num_threads();
};

/// gemm for tiles of c, which are shared out. (If OpenBLAS used threads of its own, they and those
/// of OpenMP would wait for each other by spinning: a feed-forward network took up to twice as
/// long.)
template <class C>
void gemm_in_tiles(cxxblas::Transpose transpose_b, Matrix<const C> a, Matrix<const C> b,
                   Matrix<C> c) {
  // (omp_in_parallel() is false in a region of one thread.)
  if (omp_get_level() > 0) return gemm(transpose_b, a, b, c);
  // By the shape alone, so that results do not depend on the number of threads.
  std::size_t height = 256, width = 1024;
  const auto too_few = [&] { return c.rows * c.columns < 8 * height * width; };
  while (too_few() && width > 256) width /= 2;
  while (too_few() && height > 64) height /= 2;
  const std::size_t down = (c.rows + height - 1) / height, across = (c.columns + width - 1) / width;
  const ProductsOnOneThread guard;
  parallel_for(down * across, c.rows * c.columns * a.columns, [&](std::size_t tile) {
    const std::size_t row = tile / across * height, column = tile % across * width;
    const std::size_t rows = std::min(height, c.rows - row);
    const std::size_t columns = std::min(width, c.columns - column);
    gemm(transpose_b, a.part(row, rows),
         transpose_b == cxxblas::Trans ? b.part(column, columns) : b.part_across(column, columns),
         c.part(row, rows).part_across(column, columns));
  });
}

/// c = a bᵀ.
template <class C>
void multiply_transposed(Matrix<const C> a, Matrix<const C> b, Matrix<C> c) {
  gemm_in_tiles(cxxblas::Trans, a, b, c);  // step: sum of products
}

/// c = a b.
template <class C>
void multiply(Matrix<const C> a, Matrix<const C> b, Matrix<C> c) {
  gemm_in_tiles(cxxblas::NoTrans, a, b, c);
}

}  // namespace simd

#if defined(PRENORM_PLAIN)
using namespace textbook;
inline constexpr bool is_textbook = true;
#else
using namespace simd;
inline constexpr bool is_textbook = false;
#endif

/// The sum of a row.
template <class Row>
auto total(const Row& a) {
  using C = typename Row::value_type;
  const C* data = a.data();
  return sum_of_products<C>(
      a.size(), [=](std::size_t i) { return data[i]; }, [](std::size_t) { return C(1); });
}

/// The mean of a row's squares.
template <class Row>
auto mean_of_squares(const Row& a) {
  using C = typename Row::value_type;
  const C* data = a.data();
  const auto element = [=](std::size_t i) { return data[i]; };
  return sum_of_products<C>(a.size(), element, element) / static_cast<C>(a.size());
}

/// The maximum of a row, -infinity for an empty one. NaN elements are ignored.
template <class Row>
auto maximum(const Row& a) {
  using C = typename Row::value_type;
  constexpr std::size_t lanes = 32;
  C partial[lanes];
  std::fill_n(partial, lanes, -std::numeric_limits<C>::infinity());
  const C* data = a.data();
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      partial[lane] = data[i + lane] > partial[lane] ? data[i + lane] : partial[lane];
    }
  }
  for (; i < a.size(); ++i) partial[0] = data[i] > partial[0] ? data[i] : partial[0];
  return *std::max_element(partial, partial + lanes);
}

}  // namespace prenorm::fast
