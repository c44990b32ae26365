// Softmax along another axis than the last one: a part of the ladder of softmax.cu. Nothing is
// transposed.
//
// A tile is some neighbouring columns: 128 bytes of each row where that fits on chip. A block keeps
// up to 32 KiB of it in registers and, where columns are aligned, 96 KiB in shared memory: 1024
// rows of 128 bytes (832 in 16-bit types, whose more columns leave fewer registers). Longer tiles
// are shared by a cluster of up to 8 blocks, then made narrower: 64 bytes for up to 16K rows, and
// for up to 32K 32 bytes, the least that memory moves; with 112 KiB in shared memory in 16-bit
// types above 28K. A cluster's blocks exchange maxima and sums through each other's shared memory.
//
// What does not fit, in longer columns or on devices without clusters, is read in two passes: one
// for maximum and sum, one for the result, which goes backwards, as what was read last may still be
// cached.
#include "launch.cuh"
#include "mma.cuh"
#include "softmax.cuh"

#include <algorithm>
#include <bit>

namespace prenorm::cuda {
namespace {

/// Rows of a tile that a thread keeps in registers, where it has N columns: with 8 of them their
/// maxima and sums take 24 registers, and four rows would not fit beside them.
template <int N>
constexpr int most_kept = N == 1   ? 16
                          : N == 8 ? 2
                                   : kept_in_registers;

/// Where what belongs to column k of a thread's N is among that of all columns of a block: the
/// first ones of all threads, then the second ones, and so on. So the lanes of a warp access
/// neighbours. In the columns' own order they would be N apart, and banks would conflict.
__device__ inline unsigned slot(int k) {
  return static_cast<unsigned>(k) * blockDim.x + threadIdx.x;
}

/// N neighbouring columns, reduced over threads y of a block (x, y) that holds them: x is a power
/// of two, at most 32, and the block is of whole warps. `shared` has room for
/// results_shared.
template <int N, class Combine, class C>
__device__ void column_reduce(C (&value)[N], Combine combine, C* shared) {
  // Over the rows of each warp.
  for (unsigned distance = blockDim.x; distance < 32; distance *= 2) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      value[k] =
          combine(value[k], __shfl_xor_sync(0xffffffffu, value[k], static_cast<int>(distance)));
    }
  }
  // Over the warps: a thread for each column.
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, columns = blockDim.x * N;
  const unsigned threads = blockDim.x * blockDim.y, warps = threads / 32;
  C* const of_warps = shared + columns;  // [warps, columns]
  __syncthreads();                       // an earlier reduction may still be read
  if (thread % 32 < blockDim.x) {
#pragma unroll
    for (int k = 0; k < N; ++k) of_warps[thread / 32 * columns + slot(k)] = value[k];
  }
  __syncthreads();
  for (unsigned column = thread; column < columns; column += threads) {
    C all = of_warps[column];
    for (unsigned warp = 1; warp < warps; ++warp) {
      all = combine(all, of_warps[warp * columns + column]);
    }
    shared[column] = all;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) value[k] = shared[slot(k)];
}

/// The bytes of shared memory for results: of column_reduce, one for each column and a part of it
/// for each warp; and each column's maximum and sum.
template <class C>
constexpr std::size_t results_shared(std::size_t columns) {
  return columns * sizeof(C) * (2 + 1 + softmax_threads / 32);
}

/// How columns [columns], of n rows that are `inner` apart, are cut into tiles. A tile's rows are
/// shared by `blocks` blocks, `part` for each; a thread has up to `in_shared` in shared memory.
struct ColumnTiles {
  std::int64_t columns, n, inner, part;
  unsigned blocks;
  int in_shared;
};

/// What a block has of a tile, in rows, in this order: `streamed`, which are read twice, then those
/// in registers, then those in shared memory.
struct TilePart {
  std::int64_t begin, streamed;
  int in_registers, in_shared;

  __device__ TilePart(const ColumnTiles& tiles, unsigned rank, int vectors)
      : begin(tiles.part * rank) {
    const std::int64_t none = 0, y = blockDim.y;
    const std::int64_t own = min(max(tiles.n - begin, none), tiles.part);
    in_shared = static_cast<int>(min(max(own - vectors * y, none), tiles.in_shared * y));
    in_registers = static_cast<int>(min(own - in_shared, vectors * y));
    streamed = own - in_shared - in_registers;
  }
};

/// Loads vectors of rows `row`, `row` + blockDim.y, ...; `from` is the first, the next one is
/// `apart` elements further. -infinity from row `end` on.
template <int count, int N, class T, class Row>
__device__ void load_rows(Vector<T, N> (&a)[count], const T* from, std::int64_t apart, Row row,
                          Row end) {
#pragma unroll
  for (int v = 0; v < count; ++v) {
    a[v] = nothing<T, N>();
    if (row + v * static_cast<int>(blockDim.y) < end) a[v] = load_vector<N>(from + v * apart);
  }
}

/// A block is threads (x, y): x hold neighbouring columns, N each; y share them, thread y the rows
/// y, y + blockDim.y, ... of each part.
template <class T, int N, int vectors>
__global__ void __launch_bounds__(softmax_threads, softmax_blocks<T>)
    softmax_tiles(const T* __restrict__ x, T* __restrict__ y, ColumnTiles tiles) {
  using C = compute_t<T>;
  constexpr int in_flight = 2;
  constexpr bool streams = vectors == 1;
  const unsigned blocks = tiles.blocks, thread = threadIdx.y * blockDim.x + threadIdx.x;
  const std::int64_t apart = blockDim.y * tiles.inner;
  // Columns are counted through all of [outer, inner]; N divides inner.
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x / blocks) * blockDim.x + threadIdx.x) * N;
  TilePart part(tiles, blockIdx.x % blocks, vectors);
  if (column >= tiles.columns) part.in_registers = part.in_shared = 0, part.streamed = 0;
  const int row = static_cast<int>(threadIdx.y), rows_apart = static_cast<int>(blockDim.y);
  const std::int64_t begin = column / tiles.inner * tiles.n * tiles.inner + column % tiles.inner +
                             (part.begin + row) * tiles.inner;
  const std::int64_t kept = begin + part.streamed * tiles.inner;
  const std::int64_t tail = kept + part.in_registers * tiles.inner;
  // Shared memory: this thread's vectors, each column's maximum and sum, the reductions.
  T* const shared = dynamic_shared<T>() + thread * N;
  const int shared_apart = softmax_threads * N;
  const unsigned columns = blockDim.x * N, threads = blockDim.x * blockDim.y;
  C* const own_largest = reinterpret_cast<C*>(dynamic_shared<T>() + tiles.in_shared * shared_apart);
  C* const own_sum = own_largest + columns;
  C* const reductions = own_sum + columns;

  if constexpr (N > 1) {
    for (int v = 0, r = row; r < part.in_shared; ++v, r += rows_apart) {
      copy_async(shared + v * shared_apart, x + tail + v * apart, 16);
    }
    commit_copies();
  }
  C largest[N], sum[N];
#pragma unroll
  for (int k = 0; k < N; ++k) largest[k] = lowest<C>(), sum[k] = 0;
  // Each column's sum is of exp(x - largest), with the largest so far.
  if constexpr (streams) {
    for (std::int64_t r = row, i = begin; r < part.streamed;
         r += in_flight * rows_apart, i += in_flight * apart) {
      Vector<T, N> a[in_flight];
      load_rows(a, x + i, apart, r, part.streamed);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        // step: maximum
        C larger = largest[k];
#pragma unroll
        for (int v = 0; v < in_flight; ++v) larger = Maximum()(larger, widen(a[v].element[k]));
        sum[k] *= exponential<T>(largest[k] - larger);  // step: sum
        largest[k] = larger;
#pragma unroll
        for (int v = 0; v < in_flight; ++v) add_exponential(a[v].element[k], larger, sum[k]);
      }
    }
  }

  // step: maximum
  Vector<T, N> a[vectors];
  load_rows(a, x + kept, apart, row, part.in_registers);
  C larger[N];
#pragma unroll
  for (int k = 0; k < N; ++k) larger[k] = largest[k];
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int k = 0; k < N; ++k) larger[k] = Maximum()(larger[k], widen(a[v].element[k]));
  }
  if constexpr (N > 1) {
    wait_for_copies<0>();
    // Of the thread's own vectors, so no barrier is needed.
#pragma unroll 1
    for (int v = 0, r = row; r < part.in_shared; ++v, r += rows_apart) {
      const auto b = load_vector<N>(shared + v * shared_apart);
#pragma unroll
      for (int k = 0; k < N; ++k) larger[k] = Maximum()(larger[k], widen(b.element[k]));
    }
  }
  column_reduce<N>(larger, Maximum(), reductions);

  // The results are read from shared memory when they are used: there are too many for registers.
  if (threadIdx.y == 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) own_largest[slot(k)] = larger[k];
  }
  __syncthreads();

  // step: sum
#pragma unroll
  for (int v = 0; v < vectors; ++v) widen_anew(a[v]);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const C now = own_largest[slot(k)];
    if constexpr (streams) sum[k] *= exponential<T>(largest[k] - now);
#pragma unroll
    for (int v = 0; v < vectors; ++v) add_exponential(a[v].element[k], now, sum[k]);
  }
  if constexpr (N > 1) {
#pragma unroll 1
    for (int v = 0, r = row; r < part.in_shared; ++v, r += rows_apart) {
      auto b = load_vector<N>(shared + v * shared_apart);
#pragma unroll
      for (int k = 0; k < N; ++k) add_exponential(b.element[k], own_largest[slot(k)], sum[k]);
      if constexpr (sizeof(T) > 2) store_shared(shared + v * shared_apart, b);
    }
  }
  column_reduce<N>(sum, Sum(), reductions);
  if (threadIdx.y == 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) own_sum[slot(k)] = sum[k];
  }
  blocks == 1 ? __syncthreads() : cluster_barrier();
  for (unsigned c = thread; c < columns; c += threads) {
    reductions[c] = scale_over_cluster<T>(own_largest + c, own_sum + c, blocks);
  }
  __syncthreads();

  // step: normalize
#pragma unroll
  for (int v = 0; v < vectors; ++v) widen_anew(a[v]);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const C now = own_largest[slot(k)], scale = reductions[slot(k)];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      a[v].element[k] = normalized(a[v].element[k], now, scale);
    }
  }
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    if (row + v * rows_apart < part.in_registers) store_vector(y + kept + v * apart, a[v]);
  }
#pragma unroll
  for (int k = 0; k < N; ++k) largest[k] = own_largest[slot(k)], sum[k] = reductions[slot(k)];
  if constexpr (N > 1) {
#pragma unroll 1
    for (int v = 0, r = row; r < part.in_shared; ++v, r += rows_apart) {
      auto b = load_vector<N>(shared + v * shared_apart);
#pragma unroll
      for (int k = 0; k < N; ++k) b.element[k] = normalized(b.element[k], largest[k], sum[k]);
      store_vector(y + tail + v * apart, b);
    }
  }
  if constexpr (streams) {
    const std::int64_t turns = ceil_div(part.streamed, in_flight * rows_apart);
    for (std::int64_t turn = turns - 1; turn >= 0; --turn) {
      const std::int64_t r = row + turn * in_flight * rows_apart;
      const std::int64_t i = begin + turn * in_flight * apart;
      Vector<T, N> b[in_flight];
      load_rows(b, x + i, apart, r, part.streamed);
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        if (r + v * rows_apart >= part.streamed) continue;
#pragma unroll
        for (int k = 0; k < N; ++k) {
          b[v].element[k] = normalized_anew<T>(widen(b[v].element[k]), largest[k], sum[k]);
        }
        store_vector(y + i + v * apart, b[v]);
      }
    }
  }
  // Others may still read this block's parts of the sums.
  if (blocks > 1) cluster_barrier();
}

/// Vectors of N elements that a thread can have in shared memory beside the results of x threads'
/// columns, within the 99 KiB that every device has.
template <class T, int N>
constexpr int most_in_shared(unsigned x) {
  if (N == 1) return 0;
  const std::size_t left = (99 << 10) - results_shared<compute_t<T>>(std::size_t{x} * N);
  return static_cast<int>(std::min(left, softmax_shared) / (softmax_threads * 16));
}

/// Threads along x, and blocks, that have a tile; vectors of it that a thread has in shared memory.
struct Shape {
  unsigned x, blocks;
  int in_shared;
};

/// The widest tile that fits on chip.
template <class T, int N>
Shape shape_for(const Slices& s) {
  const auto threads_of = [](std::size_t bytes) {
    return std::min(32u, static_cast<unsigned>(bytes / (N * sizeof(T))));
  };
  // Not wider than all columns.
  const std::int64_t width = ceil_div(s.count(), N), widest = threads_of(128);
  const auto most = std::bit_ceil(static_cast<unsigned>(std::min(width, widest)));
  const unsigned most_blocks = has_clusters() ? most_cluster : 1;
  for (unsigned x = most; x >= std::min(most, threads_of(32)); x /= 2) {
    const int in_shared = most_in_shared<T, N>(x);
    const std::int64_t held = softmax_threads / x * (most_kept<N> + in_shared);
    for (unsigned blocks = 1; blocks <= most_blocks; blocks *= 2) {
      if (s.n <= held * blocks) return {x, blocks, in_shared};
    }
  }
  if constexpr (sizeof(T) == 2 && N > 1) {  // devices with clusters have more than 99 KiB
    constexpr int in_shared = 14;
    const unsigned x = std::min(most, threads_of(32));
    const std::int64_t held = softmax_threads / x * (most_kept<N> + in_shared);
    if (most_blocks > 1 && s.n <= held * most_blocks) return {x, most_blocks, in_shared};
  }
  return {most, most_blocks, most_in_shared<T, N>(most)};
}

template <class T, int N, int vectors>
void launch_tiles(const T* x, T* y, const Slices& s, dim3 block, unsigned blocks, int in_shared,
                  Stream stream) {
  const ColumnTiles tiles{s.count(), s.n, s.inner, ceil_div(s.n, blocks), blocks, in_shared};
  const std::size_t columns = std::size_t{block.x} * N;
  launch({.kernel = blocks > 1 ? "softmax v3 cluster columns" : "softmax v3 columns",
          .blocks = ceil_div(s.count(), static_cast<std::int64_t>(columns)) * blocks,
          .threads = block,
          .stream = stream,
          .shared_bytes = sizeof(T) * N * softmax_threads * static_cast<unsigned>(in_shared) +
                          results_shared<compute_t<T>>(columns),
          .cluster = blocks},
         softmax_tiles<T, N, vectors>, x, y, tiles);
}

template <int N, class T>
void columns_by(const T* x, T* y, const Slices& s, Stream stream) {
  constexpr int kept = most_kept<N>;
  constexpr unsigned threads = softmax_threads;
  if (s.n <= 16) {  // a row for each thread along y
    const auto rows = std::bit_ceil(static_cast<unsigned>(s.n));
    return launch_tiles<T, N, 1>(x, y, s, dim3(std::min(threads / rows, 32u), rows), 1, 0, stream);
  }
  if (s.n <= 16 * kept && s.count() >= 32 * N) {  // few rows: wider tiles than 128 bytes
    return launch_tiles<T, N, kept>(x, y, s, dim3(32, 16), 1, 0, stream);
  }
  const auto [side, blocks, more] = shape_for<T, N>(s);
  const dim3 block(side, threads / side);
  const std::int64_t in_registers = std::int64_t{kept} * block.y;
  const int in_shared = s.n <= in_registers ? 0 : more;
  if (s.n <= (in_registers + in_shared * std::int64_t{block.y}) * blocks) {
    launch_tiles<T, N, kept>(x, y, s, block, blocks, in_shared, stream);
  } else {
    launch_tiles<T, N, 1>(x, y, s, block, blocks, in_shared, stream);
  }
}

}  // namespace

template <class T>
void softmax_columns(const T* x, T* y, const Slices& s, Stream stream) {
  constexpr int wide = vector_width<T>;
  s.inner % wide == 0 ? columns_by<wide>(x, y, s, stream) : columns_by<1>(x, y, s, stream);
}

template void softmax_columns(const double*, double*, const Slices&, Stream);
template void softmax_columns(const float*, float*, const Slices&, Stream);
template void softmax_columns(const float16*, float16*, const Slices&, Stream);
template void softmax_columns(const bfloat16*, bfloat16*, const Slices&, Stream);

}  // namespace prenorm::cuda
