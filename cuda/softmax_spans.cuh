// Rows as the vectors of 16 bytes that cover them, wherever they begin: for softmax's kernels along
// the last axis.
#pragma once

#include "types.cuh"

namespace prenorm::cuda {

/// The most vectors of 16 bytes that a row of n elements touches.
template <class T>
std::int64_t most_covering(std::int64_t n) {
  constexpr int N = vector_width<T>;
  return n % N == 0 ? n / N : ceil_div(n + N - 1, N);
}

/// Which elements, counted from the first vector on, are the row's: [first, end). In aligned rows a
/// vector is inside as a whole, or outside.
template <bool aligned>
struct Span {
  int first = 0, end = 0;

  __device__ Span(int first_, int end_) : first(first_), end(end_) {}
  /// Of a row of n elements, the first of which is element `begin` of the tensor.
  __device__ Span(std::int64_t begin, int n, int width)
      : first(aligned ? 0 : static_cast<int>(begin % width)), end(first + n) {}

  /// Whether no element of the vector is another row's; its first element is element `at`.
  template <int N>
  __device__ bool has_all(int at) const {
    return at >= first && at + N <= end;
  }

  /// -infinity in place of what is not the row's.
  template <class T, int N>
  __device__ void leave_others_out(Vector<T, N>& a, int at) const {
    if constexpr (!aligned) {
      if (has_all<N>(at)) return;
#pragma unroll
      for (int k = 0; k < N; ++k) {
        if (at + k < first || at + k >= end) {
          a.element[k] = narrow<T>(-static_cast<compute_t<T>>(INFINITY));
        }
      }
    }
  }

  /// Stores what is the row's.
  template <class T, int N>
  __device__ void store(T* to, int at, const Vector<T, N>& a) const {
    if (has_all<N>(at)) {
      store_vector(to + at, a);
    } else if constexpr (!aligned) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        if (at + k >= first && at + k < end) to[at + k] = a.element[k];
      }
    }
  }
};

/// How many bytes of the vector at element `at` are before element `end` of the tensor: where rows
/// are not aligned the last vector may reach beyond it.
template <bool aligned, class T>
__device__ int bytes_before(std::int64_t at, std::int64_t end) {
  if constexpr (aligned) {
    return 16;
  } else {
    const std::int64_t left = (end - at) * static_cast<std::int64_t>(sizeof(T));
    return static_cast<int>(min(left, std::int64_t{16}));
  }
}

}  // namespace prenorm::cuda
