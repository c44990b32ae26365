// Token embedding on the GPU. Shapes and errors: reference/embedding.hpp.
//
//   v1  one thread per id           the reference's loop, moved unchanged
//   v2  neighbouring threads        coalesced copies, 16 bytes at a time, four in flight per thread
//       share a row                                                                  <- launched
//
// The gain of each step has not been measured on a device yet.
//
// Ids are in device memory, so the kernel finds those out of range. Their rows become NaN, as a
// launch in a graph cannot report errors.
#include "device_error.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "types.cuh"

#include <algorithm>
#include <bit>

namespace prenorm::cuda {
namespace {

/// Waits, and throws if a kernel found an id out of range.
void throw_if_wrong(const WrongValue& wrong, const std::int64_t* token_ids,
                    std::int64_t vocab_size) {
  // step: check the id
  if (const auto id = wrong.wait(token_ids)) {
    throw std::invalid_argument("embedding: token id " + std::to_string(*id) + " is not in [0, " +
                                std::to_string(vocab_size) + ")");
  }
}

// ---- v1: one thread per id ----------------------------------------------------------------------

template <class T>
__global__ void embedding_v1(const std::int64_t* token_ids, const T* weight, T* y, std::int64_t ids,
                             std::int64_t vocab_size, std::int64_t d_model, WrongIndex* wrong) {
  const std::int64_t i = global_thread();
  if (i >= ids) return;
  // step: read the id
  const std::int64_t id = token_ids[i];
  // step: check the id
  const bool good = id >= 0 && id < vocab_size;
  if (!good) record_wrong(wrong, i);
  // step: copy the row
  for (std::int64_t k = 0; k < d_model; ++k) {
    y[i * d_model + k] = good ? weight[id * d_model + k] : narrow<T>(NAN);
  }
}

template <class T>
void launch_embedding_v1(View<const std::int64_t> token_ids, View<const T> weight, Stream stream,
                         View<T> y) {
  const std::int64_t ids = token_ids.size(), vocab_size = weight.shape(0);
  const WrongValue wrong(stream);
  launch({"embedding v1", ceil_div(ids, 128), 128, stream}, embedding_v1<T>, token_ids.data(),
         weight.data(), y.data(), ids, vocab_size, weight.shape(1), wrong.first());
  throw_if_wrong(wrong, token_ids.data(), vocab_size);  // step: check the id
}

// ---- v2: threads side by side copy a row --------------------------------------------------------

/// A block is threads (x, y): x share a row of `width` vectors of N elements, y rows lie side by
/// side.
template <class T, int N>
__global__ void __launch_bounds__(256)
    embedding_v2(const std::int64_t* __restrict__ token_ids, const T* __restrict__ weight,
                 T* __restrict__ y, std::int64_t ids, std::int64_t vocab_size, std::int64_t width,
                 WrongIndex* wrong) {
  constexpr int in_flight = 4;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (i >= ids) return;
  // step: read the id
  const std::int64_t id = token_ids[i];
  T* to = y + i * width * N;
  // step: check the id
  if (id < 0 || id >= vocab_size) {
    if (threadIdx.x == 0) record_wrong(wrong, i);
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
void launch_embedding_v2(View<const std::int64_t> token_ids, View<const T> weight, Stream stream,
                         View<T> y) {
  const std::int64_t ids = token_ids.size(), vocab_size = weight.shape(0);
  const std::int64_t width = weight.shape(1) / N;
  const unsigned x = std::bit_ceil(static_cast<unsigned>(std::clamp<std::int64_t>(width, 1, 256)));
  const dim3 block(x, 256 / x);
  const WrongValue wrong(stream);
  launch({"embedding v2", ceil_div(ids, block.y), block, stream}, embedding_v2<T, N>,
         token_ids.data(), weight.data(), y.data(), ids, vocab_size, width, wrong.first());
  throw_if_wrong(wrong, token_ids.data(), vocab_size);  // step: check the id
}

template <class T>
void launch_embedding(View<const std::int64_t> token_ids, View<const T> weight, Stream stream,
                      View<T> y) {
  constexpr int wide = vector_width<T>;
  if (weight.shape(1) % wide == 0) {
    launch_embedding_v2<wide>(token_ids, weight, stream, y);
  } else {
    launch_embedding_v2<1>(token_ids, weight, stream, y);
  }
}

}  // namespace

PRENORM_CUDA_EXPORT(embedding, launch_embedding_v1, launch_embedding)

}  // namespace prenorm::cuda
