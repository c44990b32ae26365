// ReLU, SiLU and GELU on the GPU. Equations: reference/activations.hpp.
//
//   v1  one element a thread
//   v2  16-byte accesses, four in flight a thread   <- launched
//
// What each step gives is not yet measured on a device.
#include "activations.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "types.cuh"

namespace prenorm::cuda {
namespace {

// ---- v1: one element a thread -------------------------------------------------------------------

template <class Activation, class T>
__global__ void activation_v1(const T* x, T* y, std::int64_t size) {
  const std::int64_t i = global_thread();
  // step: each element
  if (i < size) y[i] = narrow<T>(Activation()(widen(x[i])));
}

template <class Activation, class T>
void launch_v1(const char* name, View<const T> x, Stream stream, View<T> y) {
  launch({name, ceil_div(x.size(), 256), 256, stream}, activation_v1<Activation, T>, x.data(),
         y.data(), x.size());
}

// ---- v2: 16-byte accesses, four in flight -------------------------------------------------------

[[maybe_unused]] constexpr int v2_threads = 256, v2_vectors = 4;

template <class Activation, class T>
__global__ void __launch_bounds__(v2_threads, 4)
    activation_v2(const T* __restrict__ x, T* __restrict__ y, std::int64_t size) {
  constexpr int N = vector_width<T>;
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * v2_threads * v2_vectors + threadIdx.x) * N;
  Vector<T, N> a[v2_vectors] = {};
  // All loads before the first use, so that they wait together.
#pragma unroll
  for (int v = 0; v < v2_vectors; ++v) {
    const std::int64_t i = first + v * v2_threads * N;
    if (i + N <= size) a[v] = load_vector<N>(x + i);
  }
#pragma unroll
  for (int v = 0; v < v2_vectors; ++v) {
    const std::int64_t i = first + v * v2_threads * N;
    if (i + N > size) continue;
#pragma unroll
    // step: each element
    for (int k = 0; k < N; ++k) a[v].element[k] = narrow<T>(Activation()(widen(a[v].element[k])));

    store_vector(y + i, a[v]);
  }
  // What is left behind the last whole vector: an element each for the first threads.
  const std::int64_t left = size / N * N + global_thread();
  // step: each element
  if (left < size) y[left] = narrow<T>(Activation()(widen(x[left])));
}

template <class Activation, class T>
void launch_v2(const char* name, View<const T> x, Stream stream, View<T> y) {
  constexpr int of_block = v2_threads * v2_vectors * vector_width<T>;
  launch({name, ceil_div(x.size(), of_block), v2_threads, stream}, activation_v2<Activation, T>,
         x.data(), y.data(), x.size());
}

// ---- the problems -------------------------------------------------------------------------------

template <class T>
void relu_v1(View<const T> x, Stream stream, View<T> y) {
  launch_v1<Relu>("relu v1", x, stream, y);
}
template <class T>
void relu(View<const T> x, Stream stream, View<T> y) {
  launch_v2<Relu>("relu v2", x, stream, y);
}

template <class T>
void silu_v1(View<const T> x, Stream stream, View<T> y) {
  launch_v1<Silu>("silu v1", x, stream, y);
}
template <class T>
void silu(View<const T> x, Stream stream, View<T> y) {
  launch_v2<Silu>("silu v2", x, stream, y);
}

template <class T>
void gelu_v1(View<const T> x, Stream stream, View<T> y) {
  launch_v1<Gelu>("gelu v1", x, stream, y);
}
template <class T>
void gelu(View<const T> x, Stream stream, View<T> y) {
  launch_v2<Gelu>("gelu v2", x, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(relu, relu_v1, relu)
PRENORM_CUDA_EXPORT(silu, silu_v1, silu)
PRENORM_CUDA_EXPORT(gelu, gelu_v1, gelu)

}  // namespace prenorm::cuda
