// <mma.h> of the emulator: products of tiles by a warp. A lane holds every 32nd element of a tile,
// by rows; on a device it holds others, which no program may rely on.
#pragma once

#include "../warp_matrix.hpp"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include <string>
#include <type_traits>

namespace nvcuda::wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace detail {

/// What a fragment's elements are, and what they are widened to for a product.
template <class T>
struct Element {
  using type = T;
  using wide = std::conditional_t<std::is_integral_v<T>, int,
                                  std::conditional_t<std::is_same_v<T, double>, double, float>>;
};
template <>
struct Element<precision::tf32> {
  using type = float;
  using wide = float;
};

/// Calls visit(i, offset) for each element that the lane holds.
template <class Fragment>
void for_each(const Fragment&, bool by_rows, unsigned stride, auto visit) {
  for (unsigned i = 0; i < Fragment::num_elements; ++i) {
    const unsigned at = i * 32 + static_cast<unsigned>(prenorm::emulator::lane());
    const unsigned row = at / Fragment::columns, column = at % Fragment::columns;
    visit(i, by_rows ? row * stride + column : column * stride + row);
  }
}

template <class T>
void require_aligned(const char* word, const T* at, unsigned stride,
                     const prenorm::emulator::Place& here) {
  const bool row_is = stride * sizeof(T) % 16 == 0;
  if (row_is && reinterpret_cast<std::uintptr_t>(at) % 32 == 0) return;
  prenorm::emulator::fail(
      std::string(word) + (row_is ? ": the tile is not aligned to 32 bytes"
                                  : ": the distance of rows is no multiple of 16 bytes"),
      here);
}

}  // namespace detail

/// A warp's part of a matrix: a of M x K, b of K x N, or a sum of M x N.
template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
 public:
  using element_type = typename detail::Element<T>::type;
  using storage_element_type = element_type;
  static constexpr bool is_sum = std::is_same_v<Use, accumulator>;
  static constexpr unsigned rows = std::is_same_v<Use, matrix_b> ? K : M;
  static constexpr unsigned columns = std::is_same_v<Use, matrix_a> ? K : N;
  static_assert(rows * columns % 32 == 0, "a warp's lanes hold equal parts");
  static_assert(is_sum == std::is_same_v<Layout, void>, "a, b have a layout, sums have none");
  enum { num_elements = rows * columns / 32, num_storage_elements = num_elements };
  element_type x[num_elements];
};

inline float __float_to_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  return __uint_as_float((bits + 0x1000u) & ~0x1fffu);
}

template <class Use, int M, int N, int K, class T, class Layout, class V>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& to, const V& value) {
  for (auto& each : to.x) each = value;
}

template <class Use, int M, int N, int K, class T, class Layout>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& to,
                      const typename detail::Element<T>::type* from, unsigned stride,
                      PRENORM_HERE) {
  prenorm::emulator::meet("wmma::load_matrix_sync", here);
  detail::require_aligned("wmma::load_matrix_sync", from, stride, here);
  detail::for_each(to, std::is_same_v<Layout, row_major>, stride,
                   [&](unsigned i, unsigned at) { to.x[i] = from[at]; });
}
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& to, const T* from, unsigned stride,
                      layout_t layout, PRENORM_HERE) {
  prenorm::emulator::meet("wmma::load_matrix_sync", here);
  detail::require_aligned("wmma::load_matrix_sync", from, stride, here);
  detail::for_each(to, layout == mem_row_major, stride,
                   [&](unsigned i, unsigned at) { to.x[i] = from[at]; });
}
template <int M, int N, int K, class T>
void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& from, unsigned stride,
                       layout_t layout, PRENORM_HERE) {
  prenorm::emulator::meet("wmma::store_matrix_sync", here);
  detail::require_aligned("wmma::store_matrix_sync", to, stride, here);
  detail::for_each(from, layout == mem_row_major, stride,
                   [&](unsigned i, unsigned at) { to[at] = from.x[i]; });
}

/// d = a b + c. 16-bit products are exact, their sums in float32, rounded where d has 16 bits.
template <int M, int N, int K, class T, class La, class Lb, class D, class C>
void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, La>& a,
              const fragment<matrix_b, M, N, K, T, Lb>& b,
              const fragment<accumulator, M, N, K, C>& c, PRENORM_HERE) {
  using Wide = typename detail::Element<T>::wide;
  Wide wide_a[a.num_elements], wide_b[b.num_elements], sum[d.num_elements];
  for (unsigned i = 0; i < a.num_elements; ++i) wide_a[i] = static_cast<Wide>(a.x[i]);
  for (unsigned i = 0; i < b.num_elements; ++i) wide_b[i] = static_cast<Wide>(b.x[i]);
  for (unsigned i = 0; i < c.num_elements; ++i) sum[i] = static_cast<Wide>(c.x[i]);
  if constexpr (std::is_same_v<T, precision::tf32>) {
    for (auto& each : wide_a) each = __float_to_tf32(each);
    for (auto& each : wide_b) each = __float_to_tf32(each);
  }
  prenorm::emulator::multiply_tiles("wmma::mma_sync", {M, N, K, wide_a, wide_b, sum}, here);
  for (unsigned i = 0; i < d.num_elements; ++i) d.x[i] = static_cast<D>(sum[i]);
}

}  // namespace nvcuda::wmma
