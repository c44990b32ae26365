// Version 4 of the product of linear.cu: tensor cores from sm_80 on, for float16 and bfloat16.
// Equation, shapes and errors: reference/linear.hpp.
//
// A block computes 128 x 128 outputs as v3's, each of its four warps 64 x 64 of them by mma.sync,
// with sums in float32. Copies by cp.async fill a ring of three stages, each of 32 terms. Rows that
// are not aligned to 16 bytes are loaded element by element; the rest is the same.
//
// The terms of each sum are added in the same order whatever the shape, so a row has the same bits
// in any batch.
#include "launch.cuh"
#include "mma.cuh"
#include "product_tiles.cuh"
#include "types.cuh"

namespace prenorm::cuda {
namespace {

constexpr int tile = product_tile;
constexpr int warps = 4, stages = 3;

constexpr int stage_depth = 32;  // terms of the sums in a stage
constexpr int warp_rows = 64;

template <class T>
struct Shared {
  T x[stages][tile * stage_depth], weight[stages][tile * stage_depth];
};

/// Where a chunk of 8 elements is in a stage: eight rows of one chunk, which ldmatrix reads at
/// once, are in different banks.
__device__ constexpr int place(int row, int chunk) {
  return row * stage_depth + (chunk ^ (row >> 1 & 3)) * 8;
}

/// Loads a stage of a matrix: rows from first_row, terms from `first` on; zeros beyond its ends.
template <bool aligned, int threads, class T>
__device__ void load_stage(T* to, const T* matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t first_row, std::int64_t first) {
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (aligned) {
    constexpr int chunks = stage_depth / 8, step = threads / chunks;
    const int chunk = thread % chunks;
    const bool there = first + 8 * chunk < columns;  // all eight, as rows are aligned
    const T* from = matrix + (first_row + thread / chunks) * columns + first + 8 * chunk;
#pragma unroll
    for (int i = 0; i < tile; i += step, from += step * columns) {
      const int row = thread / chunks + i;
      copy_async(to + place(row, chunk), from, there && first_row + row < rows ? 16 : 0);
    }
  } else {
#pragma unroll 2
    for (int at = thread; at < tile * stage_depth; at += threads) {
      const int row = at / stage_depth, column = at % stage_depth;
      const bool there = first_row + row < rows && first + column < columns;
      to[place(row, column / 8) + column % 8] =
          there ? matrix[(first_row + row) * columns + first + column] : T{};
    }
  }
}

/// sum += x weightᵀ of a warp's 64 rows and 8 n columns, over a stage.
template <class T, int n>
__device__ __forceinline__ void multiply_stage(float (&sum)[warp_rows / 16][n][4], const T* x,
                                               const T* weight, int row, int column, int lane) {
  // step: sum of products
#pragma unroll
  for (int chunk = 0; chunk < stage_depth / 8; chunk += 2) {
    unsigned a[warp_rows / 16][4], b[n / 2][4];
#pragma unroll
    for (int i = 0; i < warp_rows / 16; ++i) {
      ldmatrix(a[i], x + place(row + 16 * i + lane % 16, chunk + lane / 16));
    }
#pragma unroll
    for (int j = 0; j < n / 2; ++j) {
      ldmatrix(b[j],
               weight + place(column + 16 * j + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2));
    }
#pragma unroll
    for (int i = 0; i < warp_rows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < n; ++j)
        mma<T>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

template <bool aligned, class T>
__global__ void __launch_bounds__(32 * warps, 2) linear_v4(Product<T> p, Tiles tiles) {
  constexpr int threads = 32 * warps, columns = 2 * tile / warps;  // of a warp
  Shared<T>& shared = *dynamic_shared<Shared<T>>();
  const auto [down, across] = tiles.corner(blockIdx.x);
  const std::int64_t first_row = std::int64_t{down} * tile,
                     first_column = std::int64_t{across} * tile;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp % 2 * warp_rows, column = warp / 2 * columns;
  const auto rounds = static_cast<int>(ceil_div(p.d_in, stage_depth));
  // A group of copies for each stage, also where there is none: so the same number may be pending.
  const auto load = [&](int round) {
    if (round < rounds) {
      const int at = round % stages;
      const std::int64_t first = std::int64_t{round} * stage_depth;
      load_stage<aligned, threads>(shared.x[at], p.x, p.rows, p.d_in, first_row, first);
      load_stage<aligned, threads>(shared.weight[at], p.weight, p.d_out, p.d_in, first_column,
                                   first);
    }
    commit_copies();
  };
  float sum[warp_rows / 16][columns / 8][4] = {};
  for (int round = 0; round < stages - 1; ++round) load(round);
  for (int round = 0; round < rounds; ++round) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // all copies of this stage are there, and the one before has been read
    load(round + stages - 1);
    multiply_stage<T>(sum, shared.x[round % stages], shared.weight[round % stages], row, column,
                      lane);
  }

  const bool in_pairs = p.row_of_y() % 2 == 0 && p.d_out % 2 == 0 &&
                        reinterpret_cast<std::uintptr_t>(p.y) % sizeof(unsigned) == 0;
#pragma unroll
  for (int i = 0; i < 2 * warp_rows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < columns / 8; ++j) {
      const std::int64_t y_row = first_row + row + 8 * i + lane / 4,
                         y_column = first_column + column + 8 * j + lane % 4 * 2;
      if (y_row >= p.rows || y_column >= p.d_out) continue;
      const std::int64_t at = y_row * p.row_of_y() + y_column;
      const bool both = y_column + 1 < p.d_out;
      float y[] = {sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]};
      if (p.residual != nullptr) {
        y[0] += widen(p.residual[at]);
        if (both) y[1] += widen(p.residual[at + 1]);
      }
      if (in_pairs) {
        *reinterpret_cast<unsigned*>(p.y + at) = pack<T>(y[0], y[1]);  // step: round once
      } else {
        p.y[at] = narrow<T>(y[0]);
        if (both) p.y[at + 1] = narrow<T>(y[1]);
      }
    }
  }
}

}  // namespace

template <class T>
bool product_v4(const Product<T>& product, Stream stream) {
  if constexpr (sizeof(T) == 2) {
    if (!has_outputs(product)) return true;
    const Tiles tiles = tiles_of(product);
    const auto kernel = rows_are_aligned(product) ? linear_v4<true, T> : linear_v4<false, T>;
    launch({"linear v4", tiles.items(), 32 * warps, stream, sizeof(Shared<T>)}, kernel, product,
           tiles);
    return true;
  }
  return false;
}

template bool product_v4<double>(const Product<double>&, Stream);
template bool product_v4<float>(const Product<float>&, Stream);
template bool product_v4<float16>(const Product<float16>&, Stream);
template bool product_v4<bfloat16>(const Product<bfloat16>&, Stream);

}  // namespace prenorm::cuda
