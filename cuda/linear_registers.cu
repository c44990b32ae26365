// Version 3 of the product of linear.cu: register tiles, for every type. Equation, shapes and
// errors: reference/linear.hpp.
//
// A block computes 128 x 128 outputs, a thread 8 x 8 of them: 16 values read from shared memory, in
// four accesses, serve 64 products. Loads are of 16 bytes, and the next terms are on their way
// while these are summed. Rows that are not aligned to 16 bytes are loaded element by element; the
// rest is the same.
//
// The terms of each sum are added in the same order whatever the shape, so a row has the same bits
// in any batch.
#include "launch.cuh"
#include "product_tiles.cuh"
#include "types.cuh"

namespace prenorm::cuda {
namespace {

constexpr int tile = product_tile;

constexpr int side = 16;  // a block is side x side threads
constexpr int each = tile / side;

/// Terms of the sums between two barriers, and those of them that a thread loads of a row.
constexpr int depth = 8;
constexpr int share = depth * tile / (side * side);

/// A tile's terms, transposed: a row is all of one term. The padding keeps rows aligned.
template <class C>
using Terms = C[depth][tile + 4];

/// This thread's share of the terms from `first` on, 0 where the matrix ends.
template <bool aligned, class T, int n = share>
__device__ Vector<T, n> fetch(const T* matrix, std::int64_t rows, std::int64_t columns,
                              std::int64_t first_row, std::int64_t first) {
  constexpr int sharers = depth / n, part = n < vector_width<T> ? n : vector_width<T>;
  const std::int64_t row = first_row + threadIdx.x / sharers,
                     column = first + threadIdx.x % sharers * n;
  Vector<T, n> all{};
#pragma unroll
  for (int i = 0; i < n; i += aligned ? part : 1) {
    const bool there = row < rows && column + i < columns;
    const T* const from = matrix + row * columns + column + i;
    if constexpr (aligned) {
      const auto some = load_vector_where<part>(there, from);
#pragma unroll
      for (int j = 0; j < part; ++j) all.element[i + j] = some.element[j];
    } else if (there) {
      all.element[i] = *from;
    }
  }
  return all;
}

template <class C, class T, int n>
__device__ void keep(Terms<C>& terms, const Vector<T, n>& mine) {
  constexpr unsigned sharers = depth / n;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    terms[threadIdx.x % sharers * n + static_cast<unsigned>(i)][threadIdx.x / sharers] =
        widen(mine.element[i]);  // step: widen
  }
}

template <bool aligned, class T>
__global__ void __launch_bounds__(side* side) linear_v3(Product<T> p, Tiles tiles) {
  using C = compute_t<T>;
  constexpr int half = each / 2;  // four neighbours, and four others half a tile further
  alignas(sizeof(Vector<C, half>)) __shared__ Terms<C> x[2], weight[2];
  const auto [down, across] = tiles.corner(blockIdx.x);
  const std::int64_t first_row = std::int64_t{down} * tile,
                     first_column = std::int64_t{across} * tile;
  const int left = static_cast<int>(threadIdx.x) % side * half,
            top = static_cast<int>(threadIdx.x) / side * half;
  C sum[each][each] = {};
  auto next_x = fetch<aligned>(p.x, p.rows, p.d_in, first_row, 0);
  auto next_weight = fetch<aligned>(p.weight, p.d_out, p.d_in, first_column, 0);
  for (std::int64_t k = 0, place = 0; k < p.d_in; k += depth, place ^= 1) {
    keep<C>(x[place], next_x);
    keep<C>(weight[place], next_weight);
    __syncthreads();  // the place after this one was read before this barrier
    if (k + depth < p.d_in) {
      next_x = fetch<aligned>(p.x, p.rows, p.d_in, first_row, k + depth);
      next_weight = fetch<aligned>(p.weight, p.d_out, p.d_in, first_column, k + depth);
    }
    // step: sum of products
#pragma unroll(sizeof(T) == 8 ? 2 : depth)  // else registers of doubles are spilled
    for (int term = 0; term < depth; ++term) {
      Vector<C, half> a[2], b[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        a[h] = *reinterpret_cast<const Vector<C, half>*>(&x[place][term][top + h * tile / 2]);
        b[h] = *reinterpret_cast<const Vector<C, half>*>(&weight[place][term][left + h * tile / 2]);
      }
#pragma unroll
      for (int i = 0; i < each; ++i) {
#pragma unroll
        for (int j = 0; j < each; ++j) {
          sum[i][j] += a[i / half].element[i % half] * b[j / half].element[j % half];
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
    asm volatile("" ::: "memory");  // row by row: all addresses at once take too many registers
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const std::int64_t row = first_row + top + i % half + i / half * (tile / 2),
                         column = first_column + left + j % half + j / half * (tile / 2);
      store_sum(p, row, column, sum[i][j]);  // step: round once
    }
  }
}

}  // namespace

template <class T>
void product_v3(const Product<T>& product, Stream stream) {
  if (!has_outputs(product)) return;
  const Tiles tiles = tiles_of(product);
  const auto kernel = rows_are_aligned(product) ? linear_v3<true, T> : linear_v3<false, T>;
  launch({"linear v3", tiles.items(), side * side, stream}, kernel, product, tiles);
}

template void product_v3<double>(const Product<double>&, Stream);
template void product_v3<float>(const Product<float>&, Stream);
template void product_v3<float16>(const Product<float16>&, Stream);
template void product_v3<bfloat16>(const Product<bfloat16>&, Stream);

}  // namespace prenorm::cuda
