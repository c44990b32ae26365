// Softmax along another axis than the last one: a part of the ladder of softmax.cu. Nothing is
// transposed.
//
// A tile is some neighbouring columns, 128 bytes of each row or 64 (of few rows more), kept in
// shared memory by a block or, where there are more rows, by a cluster of up to 8 of them. Two
// blocks of 256 threads share a multiprocessor: with more threads each would keep fewer rows, and
// more blocks would wait for each other. Longer tiles leave room for one of 512, and become 32
// bytes wide, the least that memory moves. On a device with 227 KiB for a block 57344 rows fit.
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

/// N neighbouring columns, reduced over the rows of a warp.
template <int N, class Combine, class C>
__device__ void over_rows(C (&value)[N], Combine combine) {
  for (unsigned distance = blockDim.x; distance < 32; distance *= 2) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      value[k] =
          combine(value[k], __shfl_xor_sync(0xffffffffu, value[k], static_cast<int>(distance)));
    }
  }
}

/// Of parts of a slice, one in each of `lanes` neighbouring lanes: a power of two. By whole warps.
template <class C>
__device__ PartialSum<C> combined(PartialSum<C> part, unsigned lanes) {
  const int count = static_cast<int>(lanes);
  const C largest = warp_reduce(part.largest, Maximum(), count);
  return {largest, warp_reduce(part.sum * exp(part.largest - largest), Sum(), count)};
}

/// Where what belongs to column k of a thread's N is among that of all columns of a block: the
/// first ones of all threads, then the second ones, and so on. So the lanes of a warp access
/// neighbours. In the columns' own order they would be N apart, and banks would conflict.
__device__ inline unsigned slot(int k) {
  return static_cast<unsigned>(k) * blockDim.x + threadIdx.x;
}

/// What a block exchanges, in shared memory behind the vectors.
template <class C>
struct Exchange {
  PartialSum<C>* of_warps;   // [warps, columns], rows one more apart: else banks would conflict
  PartialSum<C>* of_blocks;  // [2, columns]: another block may still read the tile's before
  PartialSum<C>* of_all;     // [columns], with the scale in place of the sum

  __host__ __device__ static std::size_t bytes(std::size_t warps, std::size_t columns) {
    return sizeof(PartialSum<C>) * (warps * (columns + 1) + 3 * columns);
  }
  __device__ Exchange(void* at, unsigned warps, unsigned columns)
      : of_warps(static_cast<PartialSum<C>*>(at)),
        of_blocks(of_warps + warps * (columns + 1)),
        of_all(of_blocks + 2 * columns) {}
};

/// How columns [columns], of n rows that are `inner` apart, are cut into tiles. A tile's rows are
/// shared by `blocks` blocks, `part` for each. A thread keeps `held` vectors of it, and has places
/// for `ahead` more of the next one.
struct ColumnTiles {
  std::int64_t columns, n, inner, part;
  unsigned blocks;
  int held, ahead;
};

/// Loads vectors of rows `row`, `row` + blockDim.y, ...; `from` is the first, the next one is
/// `apart` elements further. -infinity from row `end` on.
template <int count, int N, class T>
__device__ void load_rows(Vector<T, N> (&a)[count], const T* from, std::int64_t apart,
                          std::int64_t row, std::int64_t end) {
#pragma unroll
  for (int v = 0; v < count; ++v) {
    a[v] = nothing<T, N>();
    if (row + v * static_cast<int>(blockDim.y) < end) a[v] = load_vector<N>(from + v * apart);
  }
}

/// The grid is what runs at the same time, and a cluster takes tile after tile. A thread keeps
/// vectors of its own, so that it needs no barrier to fetch the next tile's. What fits beside the
/// present tile is fetched at once; each other vector when the one before it in its place has been
/// stored. Each warp has a maximum of its own, which its exponentials are of. So warps and blocks
/// meet once for each tile, to exchange pairs of a maximum and a sum.
///
/// A block is threads (x, y): x hold neighbouring columns, N each; y share them, thread y the rows
/// y, y + blockDim.y, ... of the block's part: first the rows that are `streamed`, which are read
/// twice, then those that are kept. x is a power of two, at most 32, and the block is of whole
/// warps.
template <class T, int N, bool streams>
__global__ void __launch_bounds__(softmax_threads, 1)
    softmax_tiles(const T* __restrict__ x, T* __restrict__ y, ColumnTiles tiles) {
  using C = compute_t<T>;
  constexpr int in_flight = sizeof(T) == 8 ? 1 : N == 1 ? 8 : 4;  // of those not copied to shared
  const unsigned blocks = tiles.blocks, rank = blockIdx.x % blocks;
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  const unsigned threads = blockDim.x * blockDim.y, warps = threads / 32;
  const unsigned columns = blockDim.x * N;
  const std::int64_t apart = blockDim.y * tiles.inner;
  const int row = static_cast<int>(threadIdx.y), rows_apart = static_cast<int>(blockDim.y);

  const std::int64_t none = 0, own = min(max(tiles.n - tiles.part * rank, none), tiles.part);
  const auto kept = static_cast<int>(min(own, std::int64_t{tiles.held} * rows_apart));
  const int vectors = (kept - row + rows_apart - 1) / rows_apart;  // that this thread keeps
  const std::int64_t streamed = streams ? own - kept : 0;
  // Where the thread's kept vectors of a tile begin, or -1 where it has none. Columns are counted
  // through all of [outer, inner]; N divides inner.
  const auto begin_of = [&](std::int64_t tile) {
    const std::int64_t column = (tile * blockDim.x + threadIdx.x) * N;
    return column >= tiles.columns
               ? -1
               : column / tiles.inner * tiles.n * tiles.inner + column % tiles.inner +
                     (tiles.part * rank + streamed + row) * tiles.inner;
  };

  // Its places in shared memory are one such step apart, and the last is followed by the first.
  T* const shared = dynamic_shared<T>() + thread * N;
  const int shared_apart = static_cast<int>(threads) * N;
  const int places_end = (tiles.held + tiles.ahead) * shared_apart;
  const Exchange<C> exchange(dynamic_shared<T>() + places_end, warps, columns);
  const auto wrapped = [&](int place) { return place < places_end ? place : place - places_end; };
  const auto fetch = [&](const T* from, int count, int place) {
    for (int v = 0; v < count; ++v, from += apart, place = wrapped(place + shared_apart)) {
      copy_async(shared + place, from, 16);
    }
  };

  const std::int64_t step = gridDim.x / blocks;
  std::int64_t tile = blockIdx.x / blocks, here = begin_of(tile), next = 0;
  int first = 0;  // the place of the tile's first vector
  if constexpr (N > 1) {
    fetch(x + here, here < 0 ? 0 : vectors, 0);
    commit_copies();
  }
  for (unsigned turn = 0; tile * columns < tiles.columns; ++turn, tile += step, here = next) {
    next = begin_of(tile + step);
    const int count = here < 0 ? 0 : vectors;
    if constexpr (N > 1) {
      fetch(x + next, next < 0 ? 0 : min(vectors, tiles.ahead),
            wrapped(first + tiles.held * shared_apart));
      commit_copies();
    } else {
      for (int v = 0; v < count; v += in_flight) {
        Vector<T, N> a[in_flight];
        load_rows(a, x + here + v * apart, apart, row + v * rows_apart, kept);
#pragma unroll
        for (int i = 0; i < in_flight; ++i) {
          if (v + i < count) store_shared(shared + (v + i) * shared_apart, a[i]);
        }
      }
    }

    C largest[N], sum[N];
#pragma unroll
    for (int k = 0; k < N; ++k) largest[k] = lowest<C>(), sum[k] = 0;
    // Each column's sum is of e^(x - largest), with the largest so far.
    const std::int64_t begin = here - streamed * tiles.inner;
    if constexpr (streams) {
      for (std::int64_t r = row, i = begin; here >= 0 && r < streamed;
           r += in_flight * rows_apart, i += in_flight * apart) {
        Vector<T, N> a[in_flight];
        load_rows(a, x + i, apart, r, streamed);
#pragma unroll
        for (int k = 0; k < N; ++k) {
          // step: maximum
          C larger = largest[k];
#pragma unroll
          for (int v = 0; v < in_flight; ++v) larger = Maximum()(larger, widen(a[v].element[k]));
          sum[k] *= exponential<T>(largest[k] - larger);  // step: sum
          largest[k] = larger;
#pragma unroll
          for (int v = 0; v < in_flight; ++v)
            sum[k] += exponential<T>(widen(a[v].element[k]) - larger);
        }
      }
    }

    // step: maximum
    wait_for_copies<1>();
    Vector<T, N> most = nothing<T, N>();
#pragma unroll 4
    for (int v = 0, place = first; v < count; ++v, place = wrapped(place + shared_apart)) {
      most = larger_of(most, load_vector<N>(shared + place));
    }
    C now[N];
#pragma unroll
    for (int k = 0; k < N; ++k) now[k] = Maximum()(largest[k], widen(most.element[k]));
    over_rows(now, Maximum());
#pragma unroll
    for (int k = 0; k < N; ++k) {
      if constexpr (streams) sum[k] *= exponential<T>(largest[k] - now[k]);
      largest[k] = now[k];
    }

    // step: exponentials, sum
#pragma unroll 2
    for (int v = 0, place = first; v < count; ++v, place = wrapped(place + shared_apart)) {
      auto terms = widen(load_vector<N>(shared + place));
#pragma unroll
      for (int k = 0; k < N; ++k) {
        terms.element[k] = exponential<T>(terms.element[k] - largest[k]);
        sum[k] += terms.element[k];
      }
      if constexpr (sizeof(T) > 2) store_shared(shared + place, terms);
    }
    over_rows(sum, Sum());
    if (thread % 32 < blockDim.x) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        exchange.of_warps[thread / 32 * (columns + 1) + slot(k)] = {largest[k], sum[k]};
      }
    }

    // A lane for each warp of the block and column, then for each block of the cluster.
    PartialSum<C>* const of_blocks = exchange.of_blocks + turn % 2 * columns;
    __syncthreads();
    for (unsigned i = thread; i / 32 * 32 < columns * warps; i += threads) {
      const unsigned column = min(i / warps, columns - 1), warp = i % warps;
      const auto all = combined(exchange.of_warps[warp * (columns + 1) + column], warps);
      if (warp == 0 && i < columns * warps) of_blocks[column] = all;
    }
    blocks == 1 ? __syncthreads() : cluster_barrier();
    for (unsigned i = thread; i / 32 * 32 < columns * blocks; i += threads) {
      const unsigned column = min(i / blocks, columns - 1), block = i % blocks;
      PartialSum<C>* const own_part = of_blocks + column;
      const auto all = combined(*(blocks == 1 ? own_part : cluster_peer(own_part, block)), blocks);
      if (block == 0 && i < columns * blocks) {
        exchange.of_all[column] = {all.largest, inverse<T>(all.sum)};
      }
    }
    __syncthreads();

    // step: normalize
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const PartialSum<C> all = exchange.of_all[slot(k)];
      // In shared memory are terms of the warp's maximum, or x.
      sum[k] = sizeof(T) > 2 ? exponential<T>(largest[k] - all.largest) * all.sum : all.sum;
      largest[k] = all.largest;
    }
    T* to = y + here;
    const T* from = x + next + tiles.ahead * apart;
    const int fetched = next < 0 ? 0 : vectors - tiles.ahead;
#pragma unroll 2
    for (int v = 0, place = first; v < count; ++v, place = wrapped(place + shared_apart)) {
      const auto wide = widen(load_vector<N>(shared + place));
      Vector<T, N> a;
#pragma unroll
      for (int k = 0; k < N; ++k) {
        if constexpr (sizeof(T) > 2) {
          a.element[k] = wide.element[k] * sum[k];
        } else {
          a.element[k] = normalized_anew<T>(wide.element[k], largest[k], sum[k]);
        }
      }
      store_vector(to, a);
      if constexpr (N > 1) {
        if (v < fetched) copy_async(shared + place, from, 16);
      }
      to += apart, from += apart;
    }
    if constexpr (N > 1) commit_copies();
    first = wrapped(first + tiles.held * shared_apart);
    if constexpr (streams) {
      const std::int64_t turns = here < 0 ? 0 : ceil_div(streamed, in_flight * rows_apart);
      for (std::int64_t back = turns - 1; back >= 0; --back) {
        const std::int64_t r = row + back * in_flight * rows_apart;
        const std::int64_t i = begin + back * in_flight * apart;
        Vector<T, N> a[in_flight];
        load_rows(a, x + i, apart, r, streamed);
#pragma unroll
        for (int k = 0; k < N; ++k) {
          const PartialSum<C> all = exchange.of_all[slot(k)];
#pragma unroll
          for (int v = 0; v < in_flight; ++v) {
            a[v].element[k] = normalized_anew<T>(widen(a[v].element[k]), all.largest, all.sum);
          }
        }
#pragma unroll
        for (int v = 0; v < in_flight; ++v) {
          if (r + v * rows_apart < streamed) store_vector(y + i + v * apart, a[v]);
        }
      }
    }
  }
  // Others may still read this block's parts of the last tile.
  if (blocks > 1) cluster_barrier();
}

/// Threads of a block; blocks that share a tile; vectors that a thread keeps and fetches ahead.
struct Shape {
  dim3 threads;
  unsigned blocks;
  int held, ahead;
  bool streams;
};

/// The widest tile of at least 64 bytes that two blocks beside each other, or clusters of such, can
/// keep; else of at least 32 that one can.
template <class T, int N>
Shape shape_for(const Slices& s) {
  const auto threads_of = [](std::size_t bytes) {
    return std::min(32u, static_cast<unsigned>(bytes / (N * sizeof(T))));
  };
  const auto power_of_two = [](std::int64_t least, unsigned most) {
    return std::min(std::bit_ceil(static_cast<unsigned>(std::min<std::int64_t>(least, most))),
                    most);
  };
  const unsigned width = power_of_two(ceil_div(s.count(), N), 32);
  const unsigned most_blocks = has_clusters() ? most_cluster : 1;
  Shape shape{};
  for (int beside = 2; beside > 0; --beside) {
    const std::size_t shared = shared_beside(beside);
    const unsigned threads = softmax_threads / static_cast<unsigned>(beside);
    const unsigned rows = power_of_two(s.n, threads);
    // Not wider than all columns, but wider than 128 bytes where there are few rows.
    const unsigned widest =
        rows <= 16 ? 32 : std::min(width, std::max(threads_of(128), threads / rows));
    for (unsigned x = widest; x >= std::min(widest, threads_of(beside == 2 ? 64 : 32)); x /= 2) {
      const unsigned y = std::min(rows, threads / x);
      const std::size_t left =
          shared - Exchange<compute_t<T>>::bytes(x * y / 32, std::size_t{x} * N);
      const auto places = static_cast<int>(left / (sizeof(T) * N * x * y));
      for (unsigned blocks = 1; blocks <= most_blocks; blocks *= 2) {
        const std::int64_t held = ceil_div(ceil_div(s.n, blocks), y);
        if (held > places) continue;
        const int kept = static_cast<int>(held), ahead = N == 1 ? 0 : std::min(places - kept, kept);
        return {dim3(x, y), blocks, kept, ahead, false};
      }
      if (beside == 1 && x == widest) shape = {dim3(x, y), most_blocks, places, 0, true};
    }
  }
  return shape;
}

template <bool streams, int N, class T>
void launch_tiles(const T* x, T* y, const Slices& s, const Shape& shape, Stream stream) {
  const unsigned blocks = shape.blocks, threads = shape.threads.x * shape.threads.y;
  const std::size_t columns = std::size_t{shape.threads.x} * N;
  const ColumnTiles tiles{s.count(), s.n,        s.inner,    ceil_div(s.n, blocks),
                          blocks,    shape.held, shape.ahead};
  const auto kernel = softmax_tiles<T, N, streams>;
  Launch how{
      .kernel = blocks > 1 ? "softmax v3 cluster columns" : "softmax v3 columns",
      .blocks = 0,
      .threads = shape.threads,
      .stream = stream,
      .shared_bytes = sizeof(T) * N * threads * static_cast<unsigned>(shape.held + shape.ahead) +
                      Exchange<compute_t<T>>::bytes(threads / 32, columns),
      .cluster = blocks};
  how.blocks = blocks * std::min(ceil_div(s.count(), static_cast<std::int64_t>(columns)),
                                 clusters_at_a_time(how, kernel));
  launch(how, kernel, x, y, tiles);
}

template <int N, class T>
void columns_by(const T* x, T* y, const Slices& s, Stream stream) {
  const Shape shape = shape_for<T, N>(s);
  shape.streams ? launch_tiles<true, N>(x, y, s, shape, stream)
                : launch_tiles<false, N>(x, y, s, shape, stream);
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
