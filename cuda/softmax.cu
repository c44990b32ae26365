// Softmax along any axis on the GPU. Equation, shapes and errors: reference/softmax.hpp.
//
//   v1  one thread per slice        the reference's passes, moved unchanged: x is read three times
//   v2  one block per slice         coalesced on the last axis
//   v3  slice kept in registers     one read and one write, 16 bytes at a time   <- launched
//         last axis                 neighbouring threads share a row
//         another axis              threads along y share a column, and neighbouring columns
//                                   are read together; nothing is transposed
//       slice longer than that      maximum and sum in one pass, the result in a second, which
//                                   goes backwards: it starts with what is still cached
//
// The second read of a long slice is free where the slices in flight fit the second-level cache;
// where they do not, it adds half of the memory traffic of one read and one write.
//
// The gain of each step has not been measured on a device yet.
//
// Hard values. The search for the maximum begins at the lowest finite number. So a slice that is
// all -infinity has exp(-infinity) = 0 everywhere and gives 0/0, and one with +infinity or NaN has
// a NaN in its sum. Elements beyond a slice's end are taken as -infinity, which adds nothing.
#include "export.cuh"
#include "launch.cuh"
#include "reduce.cuh"
#include "types.cuh"

#include <algorithm>
#include <bit>
#include <cfloat>

namespace prenorm::cuda {
namespace {

/// x as [outer, n, inner]: softmax goes along n.
struct Slices {
  std::int64_t outer = 1, n = 1, inner = 1;
  std::int64_t count() const { return outer * inner; }
};

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

/// The lowest finite number, where the search for a maximum begins.
template <class C>
__device__ C lowest() {
  if constexpr (sizeof(C) == 8) {
    return -DBL_MAX;
  } else {
    return -FLT_MAX;
  }
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

// ---- v3: what all its kernels share -------------------------------------------------------------

/// The most threads of a block, so that each has the registers that it needs: 64, or 128.
template <class T>
constexpr int most_threads = sizeof(T) == 8 ? 512 : 1024;

/// Vectors of N elements that a thread keeps, widened: 128 bytes of them, 32 registers. Half as
/// many where each element is a separate access with its own address.
template <class T, int N>
constexpr int most_vectors = (N == 1 ? 64 : 128) / static_cast<int>(sizeof(compute_t<T>)) / N;

/// The larger of `largest` and all elements.
template <int N, int vectors, class C>
__device__ C largest_of(const C (&e)[vectors][N], C largest) {
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int k = 0; k < N; ++k) largest = Maximum()(largest, e[v][k]);
  }
  return largest;
}

// ---- v3, last axis ------------------------------------------------------------------------------

/// Over the threads that share a row: the whole block, or blockDim.x lanes of a warp.
template <class Combine, class C>
__device__ C row_reduce(C value, Combine combine) {
  return blockDim.x > 32 ? block_reduce(value, combine)
                         : warp_reduce(value, combine, static_cast<int>(blockDim.x));
}

/// Elements i to i + N of a row, widened; -infinity beyond its end. N divides i and n.
template <int N, class T>
__device__ void load_row_part(compute_t<T> (&e)[N], const T* row, std::int64_t i, std::int64_t n) {
  Vector<T, N> a = {};
  if (i < n) a = load_vector<N>(row + i);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    e[k] = i < n ? widen(a.element[k]) : -static_cast<compute_t<T>>(INFINITY);
  }
}

template <int N, class T>
__device__ void store_row_part(T* row, std::int64_t i, std::int64_t n, const compute_t<T> (&e)[N]) {
  if (i >= n) return;
  Vector<T, N> a;
#pragma unroll
  for (int k = 0; k < N; ++k) a.element[k] = narrow<T>(e[k]);
  store_vector(row + i, a);
}

/// A block is threads (x, y): x share a row, y rows lie side by side.
template <class T, int N, int vectors>
__global__ void __launch_bounds__(most_threads<T>, 1)
    softmax_rows(const T* __restrict__ x, T* __restrict__ y, std::int64_t rows, std::int64_t n) {
  using C = compute_t<T>;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // Out-of-range rows take part in the reductions as rows without elements.
  const std::int64_t length = row < rows ? n : 0;
  const int first = static_cast<int>(threadIdx.x) * N, step = static_cast<int>(blockDim.x) * N;

  C e[vectors][N];
#pragma unroll
  for (int v = 0; v < vectors; ++v) load_row_part<N>(e[v], x + row * n, first + v * step, length);
  // step: maximum
  const C largest = row_reduce(largest_of<N, vectors>(e, lowest<C>()), Maximum());
  // step: exponentials, sum
  C sum = 0;
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int k = 0; k < N; ++k) sum += e[v][k] = exp(e[v][k] - largest);
  }
  const C scale = 1 / row_reduce(sum, Sum());
  // step: normalize
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int k = 0; k < N; ++k) e[v][k] *= scale;
    store_row_part<N>(y + row * n, first + v * step, length, e[v]);
  }
}

/// A block of threads along x is one row, too long for its registers.
template <class T, int N>
__global__ void __launch_bounds__(most_threads<T>, 1)
    softmax_long_rows(const T* __restrict__ x, T* __restrict__ y, std::int64_t n) {
  using C = compute_t<T>;
  constexpr int vectors = N == 1 ? 8 : most_vectors<T, N>;
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
  const std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N;
  const std::int64_t turns = ceil_div(n, vectors * step);
  x += blockIdx.x * n;
  y += blockIdx.x * n;

  // The sum is of exp(x - largest), with the largest so far; a larger one rescales it.
  C largest = lowest<C>(), sum = 0;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    C e[vectors][N];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      load_row_part<N>(e[v], x, first + (turn * vectors + v) * step, n);
    }
    // step: maximum
    const C larger = largest_of<N, vectors>(e, largest);
    sum *= exp(largest - larger);  // step: sum
    largest = larger;
    // step: exponentials, sum
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
#pragma unroll
      for (int k = 0; k < N; ++k) sum += exp(e[v][k] - largest);
    }
  }
  const C largest_of_row = block_reduce(largest, Maximum());  // step: maximum
  // step: sum
  const C scale = 1 / block_reduce(sum * exp(largest - largest_of_row), Sum());

  for (std::int64_t turn = turns; turn-- > 0;) {
    C e[vectors][N];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      load_row_part<N>(e[v], x, first + (turn * vectors + v) * step, n);
    }
    // step: exponentials, normalize
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
#pragma unroll
      for (int k = 0; k < N; ++k) e[v][k] = exp(e[v][k] - largest_of_row) * scale;
      store_row_part<N>(y, first + (turn * vectors + v) * step, n, e[v]);
    }
  }
}

template <int N, class T>
void launch_softmax_rows(const T* x, T* y, std::int64_t rows, std::int64_t n, Stream stream) {
  constexpr int most = most_vectors<T, N>;
  const std::int64_t width = n / N;  // of a row, in vectors
  if (width <= 32) {                 // up to 256 threads, as many rows as that makes
    const auto lanes = std::bit_ceil(static_cast<unsigned>(width));
    const dim3 block(lanes, 256 / lanes);
    launch({"softmax v3 rows", ceil_div(rows, block.y), block, stream}, softmax_rows<T, N, 1>, x, y,
           rows, n);
  } else if (width <= most_threads<T> * most) {
    const auto threads = static_cast<unsigned>(ceil_div(ceil_div(width, most), 32) * 32);
    const dim3 block(threads, threads == 32 ? 4 : 1);
    launch({"softmax v3 rows", ceil_div(rows, block.y), block, stream}, softmax_rows<T, N, most>, x,
           y, rows, n);
  } else {
    launch({"softmax v3 long rows", rows, most_threads<T>, stream}, softmax_long_rows<T, N>, x, y,
           n);
  }
}

// ---- v3, another axis ---------------------------------------------------------------------------

/// N neighbouring columns, reduced over threads y of a block (x, y) that holds them: x is a power
/// of two, at most 32, and the block is of whole warps. `shared` has room for columns_shared
/// values.
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
  // Over the warps: each warp takes some of the columns, a lane for each warp's part.
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32;
  const unsigned warp = thread / 32, warps = blockDim.x * blockDim.y / 32, columns = blockDim.x * N;
  if (warps == 1) return;
  C* of_warp = shared + columns;
  __syncthreads();  // an earlier reduction may still be read
  if (lane < blockDim.x) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      of_warp[(threadIdx.x * N + static_cast<unsigned>(k)) * warps + warp] = value[k];
    }
  }
  __syncthreads();
  for (unsigned column = warp; column < columns; column += warps) {
    C part = of_warp[column * warps + (lane < warps ? lane : 0)];
    part = warp_reduce(part, combine, static_cast<int>(warps));
    if (lane == 0) shared[column] = part;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) value[k] = shared[threadIdx.x * N + static_cast<unsigned>(k)];
}

/// Bytes that column_reduce shares: a result for each column, and a part of it for each warp.
template <class C>
std::size_t columns_shared(dim3 block, int N) {
  return sizeof(C) * block.x * static_cast<unsigned>(N) * (1 + block.x * block.y / 32);
}

/// Where the N columns of a thread begin: columns are counted through all of [outer, inner].
template <int N>
struct Columns {
  std::int64_t column, begin;
  bool there;
  __device__ Columns(std::int64_t columns, std::int64_t n, std::int64_t inner)
      : column((static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N),
        begin(column / inner * n * inner + column % inner),
        there(column < columns) {}
};

/// A block is threads (x, y): x hold neighbouring columns, N each; y share them, thread y the rows
/// y, y + blockDim.y, ...
template <class T, int N, int vectors>
__global__ void __launch_bounds__(most_threads<T>, 1)
    softmax_columns(const T* __restrict__ x, T* __restrict__ y, std::int64_t columns,
                    std::int64_t n, std::int64_t inner) {
  using C = compute_t<T>;
  const Columns<N> at(columns, n, inner);
  const int rows = at.there ? static_cast<int>(n) : 0;  // no more than a block has registers for
  C e[vectors][N];
  C largest[N], sum[N];
#pragma unroll
  for (int k = 0; k < N; ++k) largest[k] = lowest<C>(), sum[k] = 0;
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    const int row = v * static_cast<int>(blockDim.y) + static_cast<int>(threadIdx.y);
    Vector<T, N> a = {};
    const bool there = row < rows;
    if (there) a = load_vector<N>(x + at.begin + row * inner);
#pragma unroll
    for (int k = 0; k < N; ++k) e[v][k] = there ? widen(a.element[k]) : -static_cast<C>(INFINITY);
  }
  // step: maximum
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int k = 0; k < N; ++k) largest[k] = Maximum()(largest[k], e[v][k]);
  }
  column_reduce<N>(largest, Maximum(), dynamic_shared<C>());
  // step: exponentials, sum
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
#pragma unroll
    for (int k = 0; k < N; ++k) sum[k] += e[v][k] = exp(e[v][k] - largest[k]);
  }
  column_reduce<N>(sum, Sum(), dynamic_shared<C>());
  // step: normalize
#pragma unroll
  for (int k = 0; k < N; ++k) sum[k] = 1 / sum[k];
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    const int row = v * static_cast<int>(blockDim.y) + static_cast<int>(threadIdx.y);
    if (row >= rows) continue;
    Vector<T, N> out;
#pragma unroll
    for (int k = 0; k < N; ++k) out.element[k] = narrow<T>(e[v][k] * sum[k]);
    store_vector(y + at.begin + row * inner, out);
  }
}

/// As softmax_columns, for columns that are too long for the block's registers.
template <class T, int N>
__global__ void __launch_bounds__(most_threads<T>, 1)
    softmax_long_columns(const T* __restrict__ x, T* __restrict__ y, std::int64_t columns,
                         std::int64_t n, std::int64_t inner) {
  using C = compute_t<T>;
  constexpr int in_flight = N == 8 ? 2 : 4;
  const Columns<N> at(columns, n, inner);
  const std::int64_t rows = at.there ? n : 0;
  const std::int64_t step = in_flight * static_cast<std::int64_t>(blockDim.y);
  C largest[N], sum[N];
#pragma unroll
  for (int k = 0; k < N; ++k) largest[k] = lowest<C>(), sum[k] = 0;

  // Each column's sum is of exp(x - largest), with the largest so far.
  for (std::int64_t first = threadIdx.y; first < rows; first += step) {
    Vector<T, N> a[in_flight];
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const std::int64_t row = first + v * static_cast<int>(blockDim.y);
#pragma unroll
      for (int k = 0; k < N; ++k) a[v].element[k] = narrow<T>(-static_cast<C>(INFINITY));
      if (row < rows) a[v] = load_vector<N>(x + at.begin + row * inner);
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
      // step: maximum
      C larger = largest[k];
#pragma unroll
      for (int v = 0; v < in_flight; ++v) larger = Maximum()(larger, widen(a[v].element[k]));
      sum[k] *= exp(largest[k] - larger);  // step: sum
      largest[k] = larger;
      // step: exponentials, sum
#pragma unroll
      for (int v = 0; v < in_flight; ++v) sum[k] += exp(widen(a[v].element[k]) - larger);
    }
  }
  // step: maximum
  C largest_of_column[N];
#pragma unroll
  for (int k = 0; k < N; ++k) largest_of_column[k] = largest[k];
  column_reduce<N>(largest_of_column, Maximum(), dynamic_shared<C>());
  // step: sum
#pragma unroll
  for (int k = 0; k < N; ++k) sum[k] *= exp(largest[k] - largest_of_column[k]);
  column_reduce<N>(sum, Sum(), dynamic_shared<C>());
#pragma unroll
  for (int k = 0; k < N; ++k) sum[k] = 1 / sum[k];

  for (std::int64_t first = ceil_div(n, step) * step - step + threadIdx.y; first >= 0;
       first -= step) {
    Vector<T, N> a[in_flight] = {};
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const std::int64_t row = first + v * static_cast<int>(blockDim.y);
      if (row < rows) a[v] = load_vector<N>(x + at.begin + row * inner);
    }
    // step: exponentials, normalize
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      const std::int64_t row = first + v * static_cast<int>(blockDim.y);
      if (row >= rows) continue;
#pragma unroll
      for (int k = 0; k < N; ++k) {
        a[v].element[k] = narrow<T>(exp(widen(a[v].element[k]) - largest_of_column[k]) * sum[k]);
      }
      store_vector(y + at.begin + row * inner, a[v]);
    }
  }
}

template <int N, class T>
void launch_softmax_columns(const T* x, T* y, const Slices& s, Stream stream) {
  using C = compute_t<T>;
  constexpr int most = most_vectors<T, N>;
  const auto run = [&](const char* name, auto kernel, dim3 block) {
    launch({name, ceil_div(s.count(), block.x * N), block, stream, columns_shared<C>(block, N)},
           kernel, x, y, s.count(), s.n, s.inner);
  };
  constexpr unsigned threads = most_threads<T>;
  // As many neighbouring columns as a block can hold, up to 32 threads of them.
  const auto beside = [](unsigned rows) { return std::clamp(threads / rows, 1u, 32u); };
  if (s.n <= 32) {
    const auto rows = std::bit_ceil(static_cast<unsigned>(s.n));
    run("softmax v3 columns", softmax_columns<T, N, 1>, dim3(beside(rows), rows));
  } else if (s.n <= threads * most) {
    const auto rows = std::max(8u, std::bit_ceil(static_cast<unsigned>(ceil_div(s.n, most))));
    run("softmax v3 columns", softmax_columns<T, N, most>, dim3(beside(rows), rows));
  } else {
    // At least 32 bytes side by side, the least that memory moves.
    constexpr unsigned side = 32 / (N * sizeof(T));
    run("softmax v3 long columns", softmax_long_columns<T, N>, dim3(side, threads / side));
  }
}

template <class T>
void launch_softmax(View<const T> x, std::int64_t dim, Stream stream, View<T> y) {
  const Slices s = slices_of(x, dim);
  if (x.size() == 0) return;
  constexpr int wide = vector_width<T>;
  if (s.inner == 1 && s.n % wide == 0) {
    launch_softmax_rows<wide>(x.data(), y.data(), s.outer, s.n, stream);
  } else if (s.inner == 1) {
    launch_softmax_rows<1>(x.data(), y.data(), s.outer, s.n, stream);
  } else if (s.inner % wide == 0) {
    launch_softmax_columns<wide>(x.data(), y.data(), s, stream);
  } else {
    launch_softmax_columns<1>(x.data(), y.data(), s, stream);
  }
}

}  // namespace

PRENORM_CUDA_EXPORT(softmax, launch_softmax_v1, launch_softmax)
PRENORM_CUDA_VARIANT(softmax, v2, launch_softmax_v2)

}  // namespace prenorm::cuda
