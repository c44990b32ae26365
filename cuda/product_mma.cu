// Two steps of the product on the way to product_wgmma.cu. Equation, shapes and errors:
// reference/linear.hpp.
//
//   v3  register tiles   128 x 128 outputs a block, 8 x 8 a thread: 16 values read from shared
//                        memory, in four accesses, serve 64 products; 16-byte loads; the next
//                        terms are on their way while these are summed
//   v4  tensor cores     the same tile by mma.sync, for 16-bit types: sums in float32; 64 x 64 or
//                        64 x 32 outputs a warp; copies by cp.async, in a ring of stages
//
// Rows that are not aligned to 16 bytes are loaded element by element; the rest is the same. The
// terms of each sum are added in the same order whatever the shape, so a row has the same bits in
// any batch.
#include "product_mma.cuh"

#include "launch.cuh"
#include "mma.cuh"
#include "product_tiles.cuh"
#include "types.cuh"

#include <algorithm>

namespace prenorm::cuda {
namespace product_v4 {

constexpr int tile = 128;  // rows and columns of y that a block computes
constexpr int group = 8;   // tiles below each other (product_tiles.cuh)

template <class T>
bool rows_are_aligned(const Product<T>& p) {
  const auto aligned = [](const T* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
  return aligned(p.x) && aligned(p.weight) && p.d_in % vector_width<T> == 0;
}
template <class T>
Tiles tiles_of(const Product<T>& p) {
  return {static_cast<unsigned>(ceil_div(p.rows, tile)),
          static_cast<unsigned>(ceil_div(p.d_out, tile)), group};
}

// ---- v3: register tiles -------------------------------------------------------------------------

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
__global__ void __launch_bounds__(side* side, sizeof(T) == 2 ? 2 : 1)
    multiply_v3(Product<T> p, Tiles tiles) {
  using C = compute_t<T>;
  constexpr int half = each / 2;  // four neighbours, and four others half a tile further
  alignas(16) __shared__ Terms<C> x[2], weight[2];
  const auto [down, across] = tiles.corner(blockIdx.x);
  const std::int64_t first_row = std::int64_t{down} * tile, first_column = std::int64_t{across} * tile;
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
#pragma unroll
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
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const std::int64_t row = first_row + top + i % half + i / half * (tile / 2),
                         column = first_column + left + j % half + j / half * (tile / 2);
      if (row >= p.rows || column >= p.d_out) continue;
      const std::int64_t at = row * p.row_of_y() + column;
      if (p.residual != nullptr) sum[i][j] += widen(p.residual[at]);
      p.y[at] = narrow<T>(sum[i][j]);  // step: round once
    }
  }
}

// ---- v4: tensor cores ---------------------------------------------------------------------------

constexpr int stage_depth = 32;  // terms of the sums in a stage
constexpr int warp_rows = 64;

template <class T, int stages>
struct Shared {
  T x[stages][tile * stage_depth], weight[stages][tile * stage_depth];
};

/// Where a chunk of 8 elements is in a stage: eight rows of one chunk, which ldmatrix reads at once,
/// are in different banks.
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
      ldmatrix(b[j], weight + place(column + 16 * j + lane / 16 * 8 + lane % 8,
                                    chunk + lane / 8 % 2));
    }
#pragma unroll
    for (int i = 0; i < warp_rows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < n; ++j) mma<T>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

template <bool aligned, int warps, int stages, class T>
__global__ void __launch_bounds__(32 * warps, 2) multiply_v4(Product<T> p, Tiles tiles) {
  constexpr int threads = 32 * warps, columns = 2 * tile / warps;  // of a warp
  Shared<T, stages>& shared = *dynamic_shared<Shared<T, stages>>();
  const auto [down, across] = tiles.corner(blockIdx.x);
  const std::int64_t first_row = std::int64_t{down} * tile, first_column = std::int64_t{across} * tile;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp % 2 * warp_rows, column = warp / 2 * columns;
  const auto rounds = static_cast<int>(ceil_div(p.d_in, stage_depth));
  // A group of copies for each stage, also where there is none: so the same number may be pending.
  const auto load = [&](int round) {
    if (round < rounds) {
      const int at = round % stages;
      const std::int64_t first = std::int64_t{round} * stage_depth;
      load_stage<aligned, threads>(shared.x[at], p.x, p.rows, p.d_in, first_row, first);
      load_stage<aligned, threads>(shared.weight[at], p.weight, p.d_out, p.d_in, first_column, first);
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

}  // namespace product_v4

template <class T>
void product_registers(const Product<T>& product, Stream stream) {
  using namespace product_v4;
  const Tiles tiles = tiles_of(product);
  const auto kernel = rows_are_aligned(product) ? multiply_v3<true, T> : multiply_v3<false, T>;
  launch({"product v3", tiles.items(), side * side, stream}, kernel, product, tiles);
}

template <int warps, int stages, class T>
void product_mma(const Product<T>& product, Stream stream) {
  using namespace product_v4;
  const Tiles tiles = tiles_of(product);
  const auto kernel = rows_are_aligned(product) ? multiply_v4<true, warps, stages, T>
                                                : multiply_v4<false, warps, stages, T>;
  launch({"product v4", tiles.items(), 32 * warps, stream, sizeof(Shared<T, stages>)}, kernel,
         product, tiles);
}

}  // namespace prenorm::cuda
