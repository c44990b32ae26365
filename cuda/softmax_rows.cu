// Softmax along the last axis, for rows of up to 48 KiB: a part of the ladder of softmax.cu.
//
//   short   a row is one access of each of up to 32 lanes; a block has 256 threads of them
//   rows    a row is kept in the shared memory of a warp or a block. The blocks stay, and take one
//           row after the other: while a row is reduced and stored, cp.async brings the next one.
//           Each thread fetches what it reads itself, so no barrier waits for that
//
// Rows whose length is no multiple of 16 bytes are moved 16 bytes at a time too: as the vectors
// that cover them. Of those at the ends a part belongs to the neighbouring rows. It is loaded,
// taken as -infinity and not stored.
#include "architecture.cuh"
#include "launch.cuh"
#include "mma.cuh"
#include "softmax.cuh"
#include "softmax_spans.cuh"

#include <algorithm>
#include <bit>

namespace prenorm::cuda {
namespace {

// ---- short rows ---------------------------------------------------------------------------------

constexpr int short_threads = 256, short_blocks = multiprocessor_threads / short_threads;

/// A block is threads (x, y): x, a power of two up to 32, share a row, N elements each; y rows lie
/// side by side.
template <class T, int N>
__global__ void __launch_bounds__(short_threads, short_blocks)
    softmax_short_rows(const T* __restrict__ x, T* __restrict__ y, std::int64_t rows, int n) {
  using C = compute_t<T>;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int lanes = static_cast<int>(blockDim.x), i = static_cast<int>(threadIdx.x) * N;
  const bool there = row < rows && i < n;  // the others take part in the reductions
  auto a = nothing<T, N>();
  if (there) a = load_vector<N>(x + row * n + i);
  // step: maximum
  const C largest = warp_reduce(largest_of(a, lowest<C>()), Maximum(), lanes);
  C sum = 0;
  add_exponentials(a, largest, sum);                           // step: exponentials
  const C scale = inverse<T>(warp_reduce(sum, Sum(), lanes));  // step: sum
  if (there) store_vector(y + row * n + i, normalized(a, largest, scale));
}

// ---- rows ---------------------------------------------------------------------------------------

/// Over the threads that share a row: the whole block, or each warp of it.
template <class Combine, class C>
__device__ C row_reduce(C value, Combine combine) {
  return blockDim.y > 1 ? warp_reduce(value, combine) : block_reduce(value, combine);
}

/// A block is threads (x, y): x share a row, which up to `width` vectors cover; y rows lie side by
/// side. y is 1, or x is a warp.
template <class T, bool aligned>
__global__ void __launch_bounds__(softmax_threads, softmax_blocks<T>)
    softmax_rows_ahead(const T* __restrict__ x, T* __restrict__ y, std::int64_t rows, int n,
                       int width) {
  using C = compute_t<T>;
  constexpr int N = vector_width<T>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int first = static_cast<int>(threadIdx.x) * N, apart = static_cast<int>(blockDim.x) * N;
  // The present row, and the next one behind it or before.
  T* present = dynamic_shared<T>() + threadIdx.y * 2 * width * N;
  T* next = present + width * N;

  const auto fetch = [&](std::int64_t of_row, T* to) {
    if (of_row < rows) {
      const Span<aligned> span(of_row * n, n, N);
      const std::int64_t begin = of_row * n - span.first;
      for (int at = first; at < span.end; at += apart) {
        copy_async(to + at, x + begin + at, bytes_before<aligned, T>(begin + at, rows * n));
      }
    }
    commit_copies();
  };

  fetch(row, present);
  for (; row < rows; row += step) {
    fetch(row + step, next);
    wait_for_copies<1>();
    const Span<aligned> span(row * n, n, N);
    auto most = nothing<T, N>();
#pragma unroll 4
    for (int at = first; at < span.end; at += apart) {
      auto a = load_vector<N>(present + at);
      span.leave_others_out(a, at);
      if constexpr (!aligned) store_shared(present + at, a);
      most = larger_of(most, a);
    }
    const C largest = row_reduce(largest_of(most, lowest<C>()), Maximum());  // step: maximum
    C sum = 0;
#pragma unroll 4
    for (int at = first; at < span.end; at += apart) {
      auto a = load_vector<N>(present + at);
      add_exponentials(a, largest, sum);
      if constexpr (sizeof(T) > 2) store_shared(present + at, a);
    }
    const C scale = inverse<T>(row_reduce(sum, Sum()));  // step: sum
    T* const to = y + row * n - span.first;
#pragma unroll 4
    for (int at = first; at < span.end; at += apart) {
      span.store(to, at, normalized(load_vector<N>(present + at), largest, scale));
    }
    T* const done = present;
    present = next;
    next = done;
  }
}

template <int N, class T>
void launch_short(const T* x, T* y, const Slices& s, Stream stream) {
  const auto lanes = std::bit_ceil(static_cast<unsigned>(s.n / N));
  const dim3 block(lanes, short_threads / lanes);
  launch({"softmax v3 short rows", ceil_div(s.outer, block.y), block, stream},
         softmax_short_rows<T, N>, x, y, s.outer, static_cast<int>(s.n));
}

template <bool aligned, class T>
void launch_ahead(const T* x, T* y, const Slices& s, Stream stream) {
  const std::int64_t width = most_covering<T>(s.n);
  const std::int64_t each = 8;  // vectors of a thread, in rows that are not the longest
  const auto threads = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_div(ceil_div(width, each), 32) * 32, softmax_threads));
  const dim3 block(threads, threads == 32 ? 4 : 1);
  const std::size_t shared = std::size_t{2} * 16 * block.y * static_cast<std::size_t>(width);
  // As many blocks as are there at the same time.
  const std::int64_t fit = std::min(softmax_blocks<T> * softmax_threads / (threads * block.y),
                                    static_cast<unsigned>(2 * softmax_shared / shared));
  const std::int64_t blocks = std::min(ceil_div(s.outer, block.y), fit * multiprocessors());
  launch({"softmax v3 rows", blocks, block, stream, shared}, softmax_rows_ahead<T, aligned>, x, y,
         s.outer, static_cast<int>(s.n), static_cast<int>(width));
}

}  // namespace

template <class T>
void softmax_rows(const T* x, T* y, const Slices& s, Stream stream) {
  constexpr int N = vector_width<T>;
  const bool aligned = s.n % N == 0;
  if (aligned && s.n <= 32 * N) {
    launch_short<N>(x, y, s, stream);
  } else if (s.n <= 32) {
    launch_short<1>(x, y, s, stream);
  } else if (aligned) {
    launch_ahead<true>(x, y, s, stream);
  } else {
    launch_ahead<false>(x, y, s, stream);
  }
}

template void softmax_rows(const double*, double*, const Slices&, Stream);
template void softmax_rows(const float*, float*, const Slices&, Stream);
template void softmax_rows(const float16*, float16*, const Slices&, Stream);
template void softmax_rows(const bfloat16*, bfloat16*, const Slices&, Stream);

}  // namespace prenorm::cuda
