// Token embedding on the GPU. Shapes and errors: reference/embedding.hpp.
//
//   v1  one thread per id           checks the id and copies its row
//   v2  neighbouring threads        coalesced copies, 16 bytes at a time, four in flight per thread
//       share a row                                                                  <- launched
//
// Counts of embedding, float32: 256 tokens (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1   30.9 (4.02)         32 (4)    7.86       0.93           -         0        10
//   v2         1            13             16    1.01       0.93           -         0        10
//
// Measured on NVIDIA H200: what is launched 10.9 times as fast as v1 (cpu_embedding, float32).
//
// Ids are in device memory, so the kernel finds those out of range, and tells the host, which waits
// for that (device_error.cuh). Their rows become NaN, as a launch in a graph cannot report errors.
#include "dependent_launch.cuh"
#include "embedding.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "types.cuh"

#include <algorithm>
#include <bit>

namespace prenorm::cuda {

// ---- v1: one thread per id ----------------------------------------------------------------------

namespace {

template <class T>
__global__ void embedding_v1(Lookup<T> l) {
  l.report.write();
  const std::int64_t i = global_thread();
  if (i >= l.ids) return;
  // step: read the id
  const std::int64_t id = l.token_ids[i];
  // step: check the id
  const bool good = id >= 0 && id < l.vocab_size;
  // step: copy the row
  for (std::int64_t k = 0; k < l.d_model; ++k) {
    l.y[i * l.d_model + k] = good ? l.weight[id * l.d_model + k] : narrow<T>(NAN);
  }
}

}  // namespace

template <class T>
void lookup_v1(const Lookup<T>& lookup, Stream stream) {
  launch({"embedding v1", ceil_div(lookup.ids, 128), 128, stream}, embedding_v1<T>, lookup);
}

// ---- v2: threads side by side copy a row --------------------------------------------------------

namespace {

/// A block is threads (x, y): x share a row of `width` vectors of N elements, y rows lie side by
/// side.
template <class T, int N>
__global__ void __launch_bounds__(256)
    embedding_v2(const std::int64_t* token_ids, const T* __restrict__ weight, T* __restrict__ y,
                 std::int64_t ids, std::int64_t vocab_size, std::int64_t width,
                 RangeReport report) {
  constexpr int in_flight = 4;
  wait_for_the_kernel_before();
  let_the_next_begin();
  report.write();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (i >= ids) return;
  // step: read the id
  const std::int64_t id = token_ids[i];
  T* to = y + i * width * N;
  // step: check the id
  if (id < 0 || id >= vocab_size) {
    for (std::int64_t k = threadIdx.x; k < width * N; k += blockDim.x) to[k] = narrow<T>(NAN);
    return;
  }
  // step: copy the row
  const T* from = weight + id * width * N;
  for (std::int64_t first = threadIdx.x; first < width; first += in_flight * blockDim.x) {
    Vector<T, N> part[in_flight] = {};
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const std::int64_t at = first + v * blockDim.x;
      if (at < width) part[v] = load_vector<N>(from + at * N);
    }
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const std::int64_t at = first + v * blockDim.x;
      if (at < width) store_vector(to + at * N, part[v]);
    }
  }
}

template <int N, class T>
void lookup_v2(const Lookup<T>& l, Stream stream) {
  const std::int64_t width = l.d_model / N;
  // Four vectors per thread; but eight threads at least, where a row has as many vectors: these are
  // a line of memory. So a warp has several short rows, whose ids lie in one sector.
  const std::int64_t wanted = std::max(ceil_div(width, 4), std::min<std::int64_t>(width, 8));
  const unsigned x = std::bit_ceil(static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, 256)));
  const dim3 block(x, 256 / x);
  launch(early({"embedding v2", ceil_div(l.ids, block.y), block, stream}), embedding_v2<T, N>,
         l.token_ids, l.weight, l.y, l.ids, l.vocab_size, width, l.report);
}

}  // namespace

template <class T>
void lookup_launched(const Lookup<T>& lookup, Stream stream) {
  constexpr int wide = vector_width<T>;
  if (lookup.d_model % wide == 0) {
    lookup_v2<wide>(lookup, stream);
  } else {
    lookup_v2<1>(lookup, stream);
  }
}

#define PRENORM_LOOKUPS(T)                              \
  template void lookup_v1<T>(const Lookup<T>&, Stream); \
  template void lookup_launched<T>(const Lookup<T>&, Stream);
PRENORM_LOOKUPS(double)
PRENORM_LOOKUPS(float)
PRENORM_LOOKUPS(float16)
PRENORM_LOOKUPS(bfloat16)
#undef PRENORM_LOOKUPS

// ---- the problem --------------------------------------------------------------------------------

RangeCheck check_ids(View<const std::int64_t> token_ids, std::int64_t vocab_size, Stream stream) {
  // step: check the id
  return {{"embedding: token id", ""}, token_ids, vocab_size, stream};
}

namespace {

/// The embedding by one of these versions.
template <auto look_up, class T>
void embedding_by(View<const std::int64_t> token_ids, View<const T> weight, Stream stream,
                  View<T> y) {
  const RangeCheck check = check_ids(token_ids, weight.shape(0), stream);
  look_up({token_ids.data(), weight.data(), y.data(), token_ids.size(), weight.shape(0),
           weight.shape(1), check.report()},
          stream);
  check.throw_if_wrong();
}

template <class T>
void launch_embedding_v1(View<const std::int64_t> token_ids, View<const T> weight, Stream stream,
                         View<T> y) {
  embedding_by<lookup_v1<T>>(token_ids, weight, stream, y);
}
template <class T>
void launch_embedding(View<const std::int64_t> token_ids, View<const T> weight, Stream stream,
                      View<T> y) {
  embedding_by<lookup_launched<T>>(token_ids, weight, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(embedding, launch_embedding_v1, launch_embedding)

}  // namespace prenorm::cuda
