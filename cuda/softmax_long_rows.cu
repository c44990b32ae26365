// Softmax along the last axis, for rows above 48 KiB: a part of the ladder of softmax.cu.
//
// A row is shared by the blocks of a cluster: 1, 2, 4 or 8 of them, as many as hold it. A block
// keeps 128 KiB on chip, 32 in registers and 96 in shared memory, so up to 1 MiB of a row is
// read once. The blocks exchange a maximum and a sum through each other's shared memory.
//
// What does not fit, in rows above that or on devices without clusters, is read in two passes: one
// for maximum and sum, one for the result, which goes backwards, as what was read last may still be
// cached.
#include "launch.cuh"
#include "mma.cuh"
#include "softmax.cuh"
#include "softmax_spans.cuh"

#include <algorithm>

namespace prenorm::cuda {
namespace {

constexpr int in_flight = 4;  // vectors of a thread, of those read twice

/// What a block has of a row, in vectors, in this order: `streamed`, which are read twice, then
/// those in registers, then those in shared memory. Only the last may reach beyond the tensor.
struct RowPart {
  std::int64_t begin, streamed;
  int in_registers, in_shared;

  /// Part `rank` of a row that has `vectors` of them, cut into parts of `size`.
  __device__ RowPart(std::int64_t vectors, std::int64_t size, unsigned rank) : begin(size * rank) {
    const std::int64_t none = 0, most_in_shared = kept_in_shared * softmax_threads,
                       most_in_registers = kept_in_registers * softmax_threads;
    const std::int64_t own = min(max(vectors - begin, none), size);
    in_shared = static_cast<int>(min(own, most_in_shared));
    in_registers = static_cast<int>(min(own - in_shared, most_in_registers));
    streamed = own - in_shared - in_registers;
  }
};

/// Every `blocks` blocks are one row, a cluster where there are more than one.
template <class T, bool aligned>
__global__ void __launch_bounds__(softmax_threads, softmax_blocks<T>)
    softmax_long(const T* __restrict__ x, T* __restrict__ y, std::int64_t rows, std::int64_t n,
                 std::int64_t part_size, unsigned blocks) {
  using C = compute_t<T>;
  constexpr int N = vector_width<T>, apart = softmax_threads * N;
  const int first = static_cast<int>(threadIdx.x) * N;
  T* const shared = dynamic_shared<T>();
  auto* const own = reinterpret_cast<PartialSum<C>*>(dynamic_shared<T>() + kept_in_shared * apart);

  const std::int64_t row = blockIdx.x / blocks;
  const std::int64_t before = aligned ? 0 : row * n % N;
  const RowPart part(ceil_div(before + n, N), part_size, blockIdx.x % blocks);
  // Where the streamed part begins, and where the kept one does.
  const std::int64_t begin = row * n - before + part.begin * N, kept = begin + part.streamed * N;
  const std::int64_t row_begin = row * n, row_end = row_begin + n;
  const auto span_at = [&](std::int64_t from, int size) {  // of `size` elements from there on
    const std::int64_t none = 0, all = size;
    return Span<aligned>(static_cast<int>(min(max(row_begin - from, none), all)),
                         static_cast<int>(min(max(row_end - from, none), all)));
  };
  const Span<aligned> in_registers = span_at(kept, part.in_registers * N);
  const std::int64_t tail = kept + part.in_registers * N;
  const Span<aligned> in_shared = span_at(tail, part.in_shared * N);

  for (int at = first; at < in_shared.end; at += apart) {
    copy_async(shared + at, x + tail + at, bytes_before<aligned, T>(tail + at, rows * n));
  }
  commit_copies();

  C largest = lowest<C>(), sum = 0;
  const std::int64_t streamed = part.streamed * N, step = std::int64_t{in_flight} * apart;
  for (std::int64_t turn = 0; turn < streamed; turn += step) {
    const Span<aligned> span = span_at(begin + turn, static_cast<int>(min(streamed - turn, step)));
    Vector<T, N> a[in_flight];
    C larger = largest;
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const int at = first + v * apart;
      a[v] = nothing<T, N>();
      if (at < span.end) a[v] = load_vector<N>(x + begin + turn + at);
    }
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      span.leave_others_out(a[v], first + v * apart);
      larger = largest_of(a[v], larger);
    }
    // The sum is of exp(x - largest), with the largest so far; a larger one rescales it.
    sum *= exp(largest - larger);  // step: sum
    largest = larger;
#pragma unroll
    for (int v = 0; v < in_flight; ++v) add_exponentials(a[v], largest, sum);
  }

  // step: maximum
  const C of_streamed = largest;
  Vector<T, N> a[kept_in_registers];
#pragma unroll
  for (int v = 0; v < kept_in_registers; ++v) {
    const int at = first + v * apart;
    a[v] = nothing<T, N>();
    if (at < in_registers.end) a[v] = load_vector<N>(x + kept + at);
  }
#pragma unroll
  for (int v = 0; v < kept_in_registers; ++v) {
    in_registers.leave_others_out(a[v], first + v * apart);
    largest = largest_of(a[v], largest);
  }
  wait_for_copies<0>();
  // Of the thread's own vectors, so no barrier is needed.
  for (int at = first; at < in_shared.end; at += apart) {
    auto b = load_vector<N>(shared + at);
    in_shared.leave_others_out(b, at);
    if constexpr (!aligned) store_shared(shared + at, b);
    largest = largest_of(b, largest);
  }
  largest = block_reduce(largest, Maximum());

  // step: sum
  sum *= exp(of_streamed - largest);
#pragma unroll
  for (int v = 0; v < kept_in_registers; ++v) {
    widen_anew(a[v]);
    add_exponentials(a[v], largest, sum);
  }
  for (int at = first; at < in_shared.end; at += apart) {
    auto b = load_vector<N>(shared + at);
    add_exponentials(b, largest, sum);
    if constexpr (sizeof(T) > 2) store_shared(shared + at, b);
  }
  sum = block_reduce(sum, Sum());
  if (threadIdx.x == 0) *own = {largest, sum};
  blocks == 1 ? __syncthreads() : cluster_barrier();
  const C scale = scale_over_cluster<T>(own, blocks);

  // step: normalize
#pragma unroll
  for (int v = 0; v < kept_in_registers; ++v) {
    widen_anew(a[v]);
    in_registers.store(y + kept, first + v * apart, normalized(a[v], largest, scale));
  }
  for (int at = first; at < in_shared.end; at += apart) {
    in_shared.store(y + tail, at, normalized(load_vector<N>(shared + at), largest, scale));
  }
  for (std::int64_t turn = ceil_div(streamed, step) * step - step; turn >= 0; turn -= step) {
    const Span<aligned> span = span_at(begin + turn, static_cast<int>(min(streamed - turn, step)));
    Vector<T, N> b[in_flight];
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const int at = first + v * apart;
      b[v] = nothing<T, N>();
      if (at < span.end) b[v] = load_vector<N>(x + begin + turn + at);
    }
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      span.store(y + begin + turn, first + v * apart, normalized_anew(b[v], largest, scale));
    }
  }
  // Others may still read this block's part of the sum.
  if (blocks > 1) cluster_barrier();
}

}  // namespace

bool has_clusters() { return can_cluster(softmax_long<float, true>); }

template <class T>
void softmax_long_rows(const T* x, T* y, const Slices& s, Stream stream) {
  constexpr std::int64_t held = (kept_in_registers + kept_in_shared) * softmax_threads;
  constexpr std::size_t shared =
      std::size_t{16} * kept_in_shared * softmax_threads + sizeof(PartialSum<compute_t<T>>);
  const std::int64_t width = most_covering<T>(s.n);
  unsigned blocks = 1;
  if (has_clusters()) {
    while (blocks < most_cluster && width > blocks * held) blocks *= 2;
  }
  const auto run = [&](auto kernel) {
    launch({.kernel = blocks > 1 ? "softmax v3 cluster rows" : "softmax v3 long rows",
            .blocks = s.outer * blocks,
            .threads = softmax_threads,
            .stream = stream,
            .shared_bytes = shared,
            .cluster = blocks},
           kernel, x, y, s.outer, s.n, ceil_div(width, blocks), blocks);
  };
  s.n % vector_width<T> == 0 ? run(softmax_long<T, true>) : run(softmax_long<T, false>);
}

template void softmax_long_rows(const double*, double*, const Slices&, Stream);
template void softmax_long_rows(const float*, float*, const Slices&, Stream);
template void softmax_long_rows(const float16*, float16*, const Slices&, Stream);
template void softmax_long_rows(const bfloat16*, bfloat16*, const Slices&, Stream);

}  // namespace prenorm::cuda
