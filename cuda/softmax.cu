// Softmax along any axis on the GPU. Equation, shapes and errors: reference/softmax.hpp.
//
//   v1  one thread per slice   the formula as three loops: x is read three times
//   v2  one block per slice    coalesced on the last axis
//   v3  slice kept on chip     one read and one write, 16 bytes at a time          <- launched
//
// Counts of softmax, float32: 128 rows of 1024 (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1        32 (4)         32 (4)      16          1           -         0         0
//   v2         1             4              4       2          1           1       512     22528
//   v3         1            16             16       1          1           4         0      1280
//
// Measured on NVIDIA H200: v2 17.7 times as fast as v1, what is launched 1.99 times as fast as v2
// (cpu_softmax_last_axis, float32).
#include "export.cuh"
#include "launch.cuh"
#include "softmax.cuh"
#include "softmax_spans.cuh"

// Hard values. The search for the maximum begins at the lowest finite number. So a slice that is
// all -infinity has exp(-infinity) = 0 everywhere and gives 0/0, and one with +infinity or NaN has
// a NaN in its sum. Elements beyond a slice's end are taken as -infinity, which adds nothing.

namespace prenorm::cuda {
namespace {

template <class T>
Slices slices_of(View<const T> x, std::int64_t dim) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  if (dim < -axes || dim >= axes) {
    throw std::invalid_argument("softmax: dim " + std::to_string(dim) +
                                " is no axis of x, which is " + detail::to_text(x.shape()));
  }
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  Slices slices;
  for (std::size_t i = 0; i < x.dimension(); ++i) {
    (i < axis ? slices.outer : i > axis ? slices.inner : slices.n) *= x.shape(i);
  }
  return slices;
}

// ---- v1: one thread per slice -------------------------------------------------------------------

template <class T>
__global__ void softmax_v1(const T* x, T* y, std::int64_t slices, std::int64_t n,
                           std::int64_t inner) {
  using C = compute_t<T>;
  const std::int64_t slice = global_thread();
  if (slice >= slices) return;
  const std::int64_t first = slice / inner * n * inner + slice % inner, end = first + n * inner;
  // step: maximum
  C largest = lowest<C>();
  for (std::int64_t i = first; i < end; i += inner) largest = Maximum()(largest, widen(x[i]));
  // step: exponentials, sum
  C sum = 0;
  for (std::int64_t i = first; i < end; i += inner) sum += exp(widen(x[i]) - largest);
  // step: exponentials, normalize
  for (std::int64_t i = first; i < end; i += inner) {
    y[i] = narrow<T>(exp(widen(x[i]) - largest) / sum);
  }
}

template <class T>
void launch_softmax_v1(View<const T> x, std::int64_t dim, Stream stream, View<T> y) {
  const Slices s = slices_of(x, dim);
  if (x.size() == 0) return;
  launch({"softmax v1", ceil_div(s.count(), 128), 128, stream}, softmax_v1<T>, x.data(), y.data(),
         s.count(), s.n, s.inner);
}

// ---- v2: one block per slice --------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(256)
    softmax_v2(const T* x, T* y, std::int64_t n, std::int64_t inner) {
  using C = compute_t<T>;
  const std::int64_t slice = blockIdx.x, first = slice / inner * n * inner + slice % inner;
  // step: maximum
  C largest = lowest<C>();
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    largest = Maximum()(largest, widen(x[first + i * inner]));
  }
  largest = block_reduce(largest, Maximum());
  // step: exponentials, sum
  C sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    sum += exp(widen(x[first + i * inner]) - largest);
  }
  const C scale = 1 / block_reduce(sum, Sum());
  // step: exponentials, normalize
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    y[first + i * inner] = narrow<T>(exp(widen(x[first + i * inner]) - largest) * scale);
  }
}

template <class T>
void launch_softmax_v2(View<const T> x, std::int64_t dim, Stream stream, View<T> y) {
  const Slices s = slices_of(x, dim);
  if (x.size() == 0) return;
  launch({"softmax v2", s.count(), 256, stream}, softmax_v2<T>, x.data(), y.data(), s.n, s.inner);
}

// ---- v3: slice kept on chip ---------------------------------------------------------------------
//
//   last axis, to 48 KiB    in shared memory, the next row on its way (softmax_rows.cu)
//   last axis, longer       in registers and shared memory of a cluster of blocks, to 1 MiB
//                                                                         (softmax_long_rows.cu)
//   another axis            in shared memory of a block or a cluster, in tiles of neighbouring
//                           columns (softmax_columns.cu)
//   what no cluster holds   maximum and sum in one pass, the result in a second
//
// All but the one for short rows have two blocks on a multiprocessor where both fit: while one
// reduces, the other loads or stores.

template <class T>
void launch_softmax(View<const T> x, std::int64_t dim, Stream stream, View<T> y) {
  const Slices s = slices_of(x, dim);
  if (x.size() == 0) return;
  if (s.inner > 1) {
    softmax_columns(x.data(), y.data(), s, stream);
  } else if (most_covering<T>(s.n) <= row_vectors) {
    softmax_rows(x.data(), y.data(), s, stream);
  } else {
    softmax_long_rows(x.data(), y.data(), s, stream);
  }
}

}  // namespace

PRENORM_CUDA_EXPORT(softmax, launch_softmax_v1, launch_softmax)
PRENORM_CUDA_VARIANT(softmax, v2, launch_softmax_v2)

}  // namespace prenorm::cuda
