// What the kernels of softmax v3 share; softmax.cu says which is launched when.
#pragma once

#include "approximate.cuh"
#include "cluster.cuh"
#include "reduce.cuh"
#include "types.cuh"

#include <cfloat>
#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// x as [outer, n, inner]: softmax goes along n.
struct Slices {
  std::int64_t outer = 1, n = 1, inner = 1;
  std::int64_t count() const { return outer * inner; }
};

/// Whether softmax's kernels can run in clusters. All are compiled alike, so one is asked.
bool has_clusters();

// v3, for T double, float, float16 and bfloat16. x and y are aligned to 16 bytes and not empty.

/// Rows that row_vectors cover: [outer, n], inner 1.
template <class T>
void softmax_rows(const T* x, T* y, const Slices& s, Stream stream);

/// Rows of any length.
template <class T>
void softmax_long_rows(const T* x, T* y, const Slices& s, Stream stream);

/// Another axis than the last one.
template <class T>
void softmax_columns(const T* x, T* y, const Slices& s, Stream stream);

// Two blocks of 512 threads have 64 registers per thread, and with less than 113 KiB of shared
// memory each both fit a multiprocessor of sm_90. In float64, whose exponential takes more
// registers, it is one; so it is where devices have less shared memory.
constexpr int softmax_threads = 512;
template <class T>
constexpr int softmax_blocks = sizeof(T) == 8 ? 1 : 2;
constexpr std::size_t softmax_shared = 96 << 10;  // of the slices; and a little to share results
constexpr int row_vectors = softmax_shared / 16 / 2;  // of a row, where the next one is fetched too
constexpr unsigned most_cluster = 8;  // blocks; more are not on every device with clusters

// What a thread keeps of a long row that one block or a cluster shares, in vectors of 16 bytes; a
// block of 512 then keeps 128 KiB.
constexpr int kept_in_registers = 4, kept_in_shared = 12;

/// The lowest finite number, where the search for a maximum begins.
template <class C>
__device__ C lowest() {
  if constexpr (sizeof(C) == 8) {
    return -DBL_MAX;
  } else {
    return -FLT_MAX;
  }
}

constexpr float log2_e = 1.44269504f;

/// e^x for x <= 0, as exact as a result of type T shows: in 16-bit types by two instructions of the
/// device. (Not 2^(a log2 e - largest log2 e) by a multiply-add: where the largest element is
/// large, the rounding of its product is larger than 1, and all powers may become 0 or infinite.)
template <class T>
__device__ compute_t<T> exponential(compute_t<T> x) {
  if constexpr (sizeof(T) == 2) {
    return exp2_fast(x * log2_e);
  } else {
    return exp(x);
  }
}

/// The larger of `largest` and all elements.
template <class T, int N>
__device__ compute_t<T> largest_of(const Vector<T, N>& a, compute_t<T> largest) {
  // step: maximum
  const auto wide = widen(a);
#pragma unroll
  for (int k = 0; k < N; ++k) largest = Maximum()(largest, wide.element[k]);
  return largest;
}

/// Adds e^(a - largest) of all elements to `sum`, and keeps these terms in `a` where T is the
/// compute type. A 16-bit type would round them: normalized() computes them again.
template <class T, int N>
__device__ void add_exponentials(Vector<T, N>& a, compute_t<T> largest, compute_t<T>& sum) {
  // step: exponentials, sum
  auto terms = widen(a);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    terms.element[k] = exponential<T>(terms.element[k] - largest);
    sum += terms.element[k];
  }
  if constexpr (sizeof(T) > 2) a = terms;
}

/// 1 / the sum of a slice's terms, as `scale` of normalized(): for 16-bit types its logarithm to
/// base 2, which costs nothing in an exponent.
template <class T>
__device__ compute_t<T> inverse(compute_t<T> sum) {
  if constexpr (sizeof(T) == 2) {
    return -log2f(sum);
  } else {
    return 1 / sum;
  }
}

/// The result for the widened element `a` where add_exponentials has not been.
template <class T>
__device__ T normalized_anew(compute_t<T> a, compute_t<T> largest, compute_t<T> scale) {
  // step: exponentials, normalize
  if constexpr (sizeof(T) == 2) {
    return narrow<T>(exp2_fast((a - largest) * log2_e + scale));
  } else {
    return exp(a - largest) * scale;
  }
}

/// The same of all elements.
template <class T, int N>
__device__ Vector<T, N> normalized_anew(const Vector<T, N>& a, compute_t<T> largest,
                                        compute_t<T> scale) {
  const auto wide = widen(a);
  Vector<T, N> y;
#pragma unroll
  for (int k = 0; k < N; ++k) y.element[k] = normalized_anew<T>(wide.element[k], largest, scale);
  return y;
}

/// The results for what add_exponentials left.
template <class T, int N>
__device__ Vector<T, N> normalized(const Vector<T, N>& a, compute_t<T> largest,
                                   compute_t<T> scale) {
  if constexpr (sizeof(T) == 2) {
    return normalized_anew(a, largest, scale);
  } else {
    Vector<T, N> y;
#pragma unroll
    for (int k = 0; k < N; ++k) y.element[k] = a.element[k] * scale;  // step: normalize
    return y;
  }
}

/// A vector of -infinity, which changes neither maximum nor sum.
template <class T, int N>
__device__ Vector<T, N> nothing() {
  Vector<T, N> a;
#pragma unroll
  for (int k = 0; k < N; ++k) a.element[k] = narrow<T>(-static_cast<compute_t<T>>(INFINITY));
  return a;
}

/// What a block knows of a slice: the maximum of its part, and the sum of e^(x - largest).
template <class C>
struct PartialSum {
  C largest, sum;
};

/// The scale of a row of elements T. `own`, in dynamic shared memory, is of the block's part of the
/// row; the other blocks of its cluster have theirs at the same place, and all have passed a
/// barrier of the cluster. For one block no cluster is needed.
template <class T, class C = compute_t<T>>
__device__ C scale_over_cluster(PartialSum<C>* own, unsigned blocks) {
  if (blocks == 1) return inverse<T>(own->sum);
  // step: maximum
  C largest = lowest<C>(), sum = 0;
  for (unsigned rank = 0; rank < blocks; ++rank) {
    largest = Maximum()(largest, cluster_peer(own, rank)->largest);
  }
  // step: sum
  for (unsigned rank = 0; rank < blocks; ++rank) {
    const PartialSum<C> part = *cluster_peer(own, rank);
    sum += part.sum * exp(part.largest - largest);
  }
  const C below = own->largest - largest;  // the terms are e^(x - own->largest)
  if constexpr (sizeof(T) == 2) {
    return below * log2_e - log2f(sum);
  } else {
    return exp(below) / sum;
  }
}

}  // namespace prenorm::cuda
