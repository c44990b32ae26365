// Element types in kernels. float16 and bfloat16 are storage types: they are widened to float
// (compute_t), and a result is rounded once, to nearest even, when it is stored.
#pragma once

#include "device.cuh"

#include <prenorm/float16.hpp>
#include <type_traits>

namespace prenorm::cuda {

/// The compute type for elements of type T: float for the 16-bit types, else T itself.
template <class T>
using compute_t = std::conditional_t<sizeof(T) == 2, float, T>;

__device__ inline double widen(double x) { return x; }
__device__ inline float widen(float x) { return x; }
__device__ inline float widen(float16 x) {
#if defined(__CUDACC__)
  return __half2float(__ushort_as_half(x.bits));
#else
  return x;
#endif
}
__device__ inline float widen(bfloat16 x) {
#if defined(__CUDACC__)
  return __bfloat162float(__ushort_as_bfloat16(x.bits));
#else
  return x;
#endif
}

/// x rounded to T.
template <class T>
__device__ inline T narrow(compute_t<T> x) {
#if defined(__CUDACC__)
  if constexpr (std::is_same_v<T, float16>) {
    T y;
    y.bits = __half_as_ushort(__float2half_rn(x));
    return y;
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    T y;
    y.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
    return y;
  } else {
    return x;
  }
#else
  return static_cast<T>(x);
#endif
}

/// N neighbouring elements, which move in one access, of 16 bytes if N is vector_width<T>.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T element[N];
};

/// Elements in 16 bytes, the widest access.
template <class T>
constexpr int vector_width = 16 / static_cast<int>(sizeof(T));

/// N elements at `from`, which must be aligned to all of them, in one access.
template <int N, class T>
__device__ inline Vector<T, N> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <class T, int N>
__device__ inline void store_vector(T* to, const Vector<T, N>& vector) {
  *reinterpret_cast<Vector<T, N>*>(to) = vector;
}

}  // namespace prenorm::cuda
