// ReLU, SiLU and GELU on the GPU. Equations: reference/activations.hpp.
//
//   v1  one element per thread
//   v2  16-byte accesses, four in flight per thread;
//       in 16-bit types exponentials and quotients
//       only as accurate as the result              <- launched
//
// Counts of relu, float32: 256 rows of 1024 (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1             4              4       1          1           -         0         0
//   v2         1            16             16       1          1           -         0         0
//
// Measured on NVIDIA H200: what is launched 1.25 times as fast as v1 (cpu_silu, float32). The
// feed-forward networks use the same kernels.
#include "activations.cuh"
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "types.cuh"

namespace prenorm::cuda {
namespace {

// ---- v1: one element per thread -----------------------------------------------------------------

template <class Activation, class T>
__global__ void activation_v1(const T* x, T* y, std::int64_t size) {
  const std::int64_t i = global_thread();
  // step: each element
  if (i < size) y[i] = narrow<T>(Activation()(widen(x[i])));
}

}  // namespace

template <class Activation, class T>
void activate_v1(const char* name, const T* x, T* y, std::int64_t size, Stream stream) {
  launch({name, ceil_div(size, 256), 256, stream}, activation_v1<Activation, T>, x, y, size);
}

// ---- v2: 16-byte accesses, four in flight -------------------------------------------------------

namespace {

constexpr int v2_threads = 256, v2_vectors = 4;

template <class Activation, class T>
__global__ void __launch_bounds__(v2_threads, 4)
    activation_v2(const T* x, T* y, std::int64_t size) {
  wait_for_the_kernel_before();
  let_the_next_begin();
  constexpr int N = vector_width<T>;
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * v2_threads * v2_vectors + threadIdx.x) * N;
  Vector<T, N> a[v2_vectors] = {};
  // All loads before the first use, so that their latencies overlap.
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
    for (int k = 0; k < N; ++k) a[v].element[k] = narrow<T>(activated<Activation>(a[v].element[k]));

    store_vector(y + i, a[v]);
  }
  // The elements after the last whole vector: one each for the first threads.
  const std::int64_t left = size / N * N + global_thread();
  // step: each element
  if (left < size) y[left] = narrow<T>(activated<Activation>(x[left]));
}

}  // namespace

template <class Activation, class T>
void activate_launched(const char* name, const T* x, T* y, std::int64_t size, Stream stream) {
  constexpr int of_block = v2_threads * v2_vectors * vector_width<T>;
  launch(early({name, ceil_div(size, of_block), v2_threads, stream}), activation_v2<Activation, T>,
         x, y, size);
}

#define PRENORM_ACTIVATIONS(Activation, T)                                                   \
  template void activate_v1<Activation, T>(const char*, const T*, T*, std::int64_t, Stream); \
  template void activate_launched<Activation, T>(const char*, const T*, T*, std::int64_t, Stream);
#define PRENORM_ACTIVATION(Activation)     \
  PRENORM_ACTIVATIONS(Activation, double)  \
  PRENORM_ACTIVATIONS(Activation, float)   \
  PRENORM_ACTIVATIONS(Activation, float16) \
  PRENORM_ACTIVATIONS(Activation, bfloat16)
PRENORM_ACTIVATION(Relu)
PRENORM_ACTIVATION(Sigmoid)
PRENORM_ACTIVATION(Silu)
PRENORM_ACTIVATION(Gelu)
#undef PRENORM_ACTIVATION
#undef PRENORM_ACTIVATIONS

// ---- the problems -------------------------------------------------------------------------------

namespace {

template <class T>
void relu_v1(View<const T> x, Stream stream, View<T> y) {
  activate_v1<Relu>("relu v1", x.data(), y.data(), x.size(), stream);
}
template <class T>
void relu(View<const T> x, Stream stream, View<T> y) {
  activate_launched<Relu>("relu v2", x.data(), y.data(), x.size(), stream);
}

template <class T>
void silu_v1(View<const T> x, Stream stream, View<T> y) {
  activate_v1<Silu>("silu v1", x.data(), y.data(), x.size(), stream);
}
template <class T>
void silu(View<const T> x, Stream stream, View<T> y) {
  activate_launched<Silu>("silu v2", x.data(), y.data(), x.size(), stream);
}

template <class T>
void gelu_v1(View<const T> x, Stream stream, View<T> y) {
  activate_v1<Gelu>("gelu v1", x.data(), y.data(), x.size(), stream);
}
template <class T>
void gelu(View<const T> x, Stream stream, View<T> y) {
  activate_launched<Gelu>("gelu v2", x.data(), y.data(), x.size(), stream);
}

}  // namespace

PRENORM_CUDA_EXPORT(relu, relu_v1, relu)
PRENORM_CUDA_EXPORT(silu, silu_v1, silu)
PRENORM_CUDA_EXPORT(gelu, gelu_v1, gelu)

}  // namespace prenorm::cuda
