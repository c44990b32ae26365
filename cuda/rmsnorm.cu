// RMSNorm on the GPU. Equation, shapes and errors: reference/rmsnorm.hpp.
//
//   v1  one thread per row        the formula as loops over the row
//   v2  one block per row         coalesced loads; one sum over the block
//   v3  row kept in registers     16-byte loads, one read and one write of x   <- launched
//
// Counts of rmsnorm, float32: 128 rows of 1024 (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1      21.7 (3)         32 (4)    12.1          1           -         0         0
//   v2         1             4              4    1.99          1           1       256     11264
//   v3         1            16             16    1.49          1           -         0       640
//
// Measured on NVIDIA H200: v2 21.2 times as fast as v1, what is launched 1.59 times as fast as v2
// (cpu_rmsnorm, float32).
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "reduce.cuh"
#include "rmsnorm.cuh"
#include "types.cuh"

namespace prenorm::cuda {
namespace {

// ---- v1: one thread per row ---------------------------------------------------------------------

template <class T>
__global__ void rmsnorm_v1(const T* x, const T* weight, T* y, std::int64_t rows,
                           std::int64_t d_model, compute_t<T> eps) {
  using C = compute_t<T>;
  const std::int64_t row = global_thread();
  if (row >= rows) return;
  const T* a = x + row * d_model;
  // step: mean of squares
  C sum = 0;
  for (std::int64_t i = 0; i < d_model; ++i) sum += widen(a[i]) * widen(a[i]);
  // step: root
  const C rms = sqrt(sum / static_cast<C>(d_model) + eps);
  // step: normalize, gain
  for (std::int64_t i = 0; i < d_model; ++i) {
    y[row * d_model + i] = narrow<T>(widen(a[i]) / rms * widen(weight[i]));
  }
}

// ---- v2: one block per row ----------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(256)
    rmsnorm_v2(const T* x, const T* weight, T* y, std::int64_t d_model, compute_t<T> eps) {
  using C = compute_t<T>;
  const T* a = x + blockIdx.x * d_model;
  // step: mean of squares
  C sum = 0;
  for (std::int64_t i = threadIdx.x; i < d_model; i += blockDim.x) sum += widen(a[i]) * widen(a[i]);
  sum = block_reduce(sum, Sum());
  // step: root
  const C scale = 1 / sqrt(sum / static_cast<C>(d_model) + eps);
  // step: normalize, gain
  for (std::int64_t i = threadIdx.x; i < d_model; i += blockDim.x) {
    y[blockIdx.x * d_model + i] = narrow<T>(widen(a[i]) * scale * widen(weight[i]));
  }
}

template <class T>
void norm_v2(const Norm<T>& n, Stream stream) {
  launch({"rmsnorm v2", n.rows, 256, stream}, rmsnorm_v2<T>, n.x, n.weight, n.y, n.d_model, n.eps);
}

// ---- v3: row kept in registers ------------------------------------------------------------------

/// The most threads of a block, and the fewest blocks that fit a multiprocessor. With 64 registers
/// each, 1024 threads hold 8 vectors of 16 bytes, 128 KiB of rows: some are loaded while others are
/// reduced and stored. With 48, 1280 threads hold 4, 80 KiB of short rows.
constexpr int v3_threads(int vectors) { return vectors > 4 ? 512 : 128; }
constexpr int v3_blocks(int vectors) { return vectors > 4 ? 2 : 10; }

/// A block is threads (x, y): x share a row, y rows lie side by side; y is 1, or x is a warp. A
/// thread keeps `vectors` vectors of N elements of its row, all of which it asks for at once. The
/// gain, which is in the L1 cache from the second row on, takes no registers before the sum.
template <class T, int N, int vectors>
__global__ void __launch_bounds__(v3_threads(vectors), v3_blocks(vectors))
    rmsnorm_v3(const T* x, const T* __restrict__ weight, T* __restrict__ y, std::int64_t rows,
               int d_model, compute_t<T> eps) {
  using C = compute_t<T>;
  wait_for_the_kernel_before();
  let_the_next_begin();
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // a whole warp
  // Each warp has its own part of the row, so that a thread's vectors are at fixed distances.
  constexpr int apart = 32 * N;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int first = warp * vectors * apart + lane * N, left = d_model - first;
  x += row * d_model + first;
  y += row * d_model + first;
  weight += first;
  // Zeros beyond the row's end, which do not change the sum.
  const auto load = [&](const T* from, int v) {
    return load_vector_where<N>(v * apart < left, from + v * apart);
  };
  Vector<T, N> a[vectors];
#pragma unroll
  for (int v = 0; v < vectors; ++v) a[v] = load(x, v);
  // step: mean of squares
  C sum = 0;
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    const auto wide = widen(a[v]);
#pragma unroll
    for (int k = 0; k < N; ++k) sum += wide.element[k] * wide.element[k];
    widen_anew(a[v]);
  }
  // One warp per row or one block per row, as try_norm_v3 chose.
  sum = blockDim.y > 1 ? warp_reduce(sum, Sum()) : block_reduce(sum, Sum());
  // step: root
  const C scale = 1 / sqrt(sum / static_cast<C>(d_model) + eps);
  // step: normalize, gain
  constexpr int together = 2;  // loads of the gain, for which the sum has left registers
#pragma unroll
  for (int begin = 0; begin < vectors; begin += together) {
    Vector<T, N> gain[together];
#pragma unroll
    for (int v = 0; v < together; ++v) gain[v] = load(weight, begin + v);
#pragma unroll
    for (int v = 0; v < together; ++v) {
      const auto wide = widen(a[begin + v]), by = widen(gain[v]);
      Vector<T, N> out;
#pragma unroll
      for (int k = 0; k < N; ++k) {
        out.element[k] = narrow<T>(wide.element[k] * scale * by.element[k]);
      }
      const int at = (begin + v) * apart;
      if (at < left) store_vector(y + at, out);
    }
  }
}

/// One case for each width of access and number of vectors; false where the row is too long.
template <int N, int vectors, class T>
bool try_norm_v3(const Norm<T>& n, Stream stream) {
  const std::int64_t threads = ceil_div(ceil_div(n.d_model, N * vectors), 32) * 32;
  if (threads > v3_threads(vectors)) return false;
  // Short rows: a warp each, four to a block.
  const dim3 block(static_cast<unsigned>(threads), threads == 32 ? 4 : 1);
  launch(early({"rmsnorm v3", ceil_div(n.rows, block.y), block, stream}), rmsnorm_v3<T, N, vectors>,
         n.x, n.weight, n.y, n.rows, static_cast<int>(n.d_model), n.eps);
  return true;
}

}  // namespace

template <class T>
void norm_v1(const Norm<T>& n, Stream stream) {
  if (n.d_model == 0) return;
  launch({"rmsnorm v1", ceil_div(n.rows, 128), 128, stream}, rmsnorm_v1<T>, n.x, n.weight, n.y,
         n.rows, n.d_model, n.eps);
}

template <class T>
void norm_launched(const Norm<T>& n, Stream stream) {
  if (n.rows == 0 || n.d_model == 0) return;
  constexpr int wide = vector_width<T>;
  // A warp's rows of up to 2 KiB, and rows of up to 64 KiB.
  const bool done = n.d_model % wide != 0        ? try_norm_v3<1, 8>(n, stream)
                    : n.d_model <= 32 * 4 * wide ? try_norm_v3<wide, 4>(n, stream)
                                                 : try_norm_v3<wide, 8>(n, stream);
  if (!done) norm_v2(n, stream);
}

#define PRENORM_NORMS(T)                            \
  template void norm_v1<T>(const Norm<T>&, Stream); \
  template void norm_launched<T>(const Norm<T>&, Stream);
PRENORM_NORMS(double)
PRENORM_NORMS(float)
PRENORM_NORMS(float16)
PRENORM_NORMS(bfloat16)
#undef PRENORM_NORMS

namespace {

/// rmsnorm by one of these versions.
template <auto normalize, class T>
void rmsnorm_by(View<const T> x, View<const T> weight, double eps, Stream stream, View<T> y) {
  if (x.size() == 0) return;
  const std::int64_t d_model = weight.size();
  normalize({x.data(), weight.data(), y.data(), x.size() / d_model, d_model, eps}, stream);
}

template <class T>
void launch_rmsnorm_v1(View<const T> x, View<const T> weight, double eps, Stream stream,
                       View<T> y) {
  rmsnorm_by<norm_v1<T>>(x, weight, eps, stream, y);
}
template <class T>
void launch_rmsnorm_v2(View<const T> x, View<const T> weight, double eps, Stream stream,
                       View<T> y) {
  rmsnorm_by<norm_v2<T>>(x, weight, eps, stream, y);
}
template <class T>
void launch_rmsnorm(View<const T> x, View<const T> weight, double eps, Stream stream, View<T> y) {
  rmsnorm_by<norm_launched<T>>(x, weight, eps, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(rmsnorm, launch_rmsnorm_v1, launch_rmsnorm)
PRENORM_CUDA_VARIANT(rmsnorm, v2, launch_rmsnorm_v2)

}  // namespace prenorm::cuda
