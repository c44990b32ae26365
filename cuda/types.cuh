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

#if defined(__CUDACC__)
/// The built-in type of that size, which the compiler loads in one access.
template <std::size_t bytes>
using Word = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<bytes == 8, uint2,
                       std::conditional_t<bytes == 4, unsigned, unsigned short>>>;

template <class To, class From>
__device__ inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
#endif

/// N elements at `from`, in global or shared memory, which must be aligned to all of them, in one
/// access.
template <int N, class T>
__device__ inline Vector<T, N> load_vector(const T* from) {
#if defined(__CUDACC__)
  return same_bits<Vector<T, N>>(*reinterpret_cast<const Word<sizeof(T) * N>*>(from));
#else
  return *reinterpret_cast<const Vector<T, N>*>(from);
#endif
}

/// The same where it is `there`, else zeros. Of an assignment in a branch the compiler may make one
/// for each element, in a register of its own.
template <int N, class T>
__device__ inline Vector<T, N> load_vector_where(bool there, const T* from) {
#if defined(__CUDACC__)
  Word<sizeof(T) * N> word{};
  if (there) word = *reinterpret_cast<const Word<sizeof(T) * N>*>(from);
  return same_bits<Vector<T, N>>(word);
#else
  return there ? load_vector<N>(from) : Vector<T, N>{};
#endif
}

/// All elements, widened. (One by one the compiler cuts each word of two bfloat16 in halves first.)
template <class T, int N>
__device__ inline Vector<compute_t<T>, N> widen(const Vector<T, N>& vector) {
  Vector<compute_t<T>, N> wide;
#if defined(__CUDACC__)
  if constexpr (std::is_same_v<T, bfloat16> && N % 2 == 0) {
    const auto words = same_bits<Vector<unsigned, N / 2>>(vector);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      wide.element[2 * i] = __uint_as_float(words.element[i] << 16);
      wide.element[2 * i + 1] = __uint_as_float(words.element[i] & 0xffff0000u);
    }
  } else
#endif
  {
#pragma unroll
    for (int i = 0; i < N; ++i) wide.element[i] = widen(vector.element[i]);
  }
  return wide;
}

/// Has the compiler widen the elements again when they are used next. Else it may keep them
/// widened, in twice the registers.
template <class T, int N>
__device__ inline void widen_anew(Vector<T, N>& vector) {
#if defined(__CUDACC__)
  if constexpr (sizeof(T) == 2 && sizeof vector == 16) {
    auto word = same_bits<uint4>(vector);
    asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
    vector = same_bits<Vector<T, N>>(word);
  }
#else
  static_cast<void>(vector);
#endif
}

/// The larger of each two elements, 16-bit ones two at a time; NaN counts as none.
template <class T, int N>
__device__ inline Vector<T, N> larger_of(const Vector<T, N>& a, const Vector<T, N>& b) {
#if defined(__CUDACC__)
  if constexpr (sizeof(T) == 2 && N % 2 == 0) {
    auto larger = same_bits<Vector<unsigned, N / 2>>(a);
    const auto other = same_bits<Vector<unsigned, N / 2>>(b);
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      unsigned& pair = larger.element[k];
      if constexpr (std::is_same_v<T, float16>) {
        asm("max.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(pair), "r"(other.element[k]));
      } else {
        asm("max.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(pair), "r"(other.element[k]));
      }
    }
    return same_bits<Vector<T, N>>(larger);
  } else
#endif
  {
    Vector<T, N> larger;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      larger.element[k] = narrow<T>(fmax(widen(a.element[k]), widen(b.element[k])));
    }
    return larger;
  }
}

/// Stores to shared memory.
template <class T, int N>
__device__ inline void store_shared(T* to, const Vector<T, N>& vector) {
  *reinterpret_cast<Vector<T, N>*>(to) = vector;
}

/// Stores to global memory in one access. Of an assignment the compiler may make one for each
/// element, where these come from a branch.
template <class T, int N>
__device__ inline void store_vector(T* to, const Vector<T, N>& vector) {
#if defined(__CUDACC__)
  const auto place = __cvta_generic_to_global(to);
  const auto word = same_bits<Word<sizeof vector>>(vector);
  if constexpr (sizeof vector == 16) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(place), "r"(word.x), "r"(word.y),
                 "r"(word.z), "r"(word.w)
                 : "memory");
  } else if constexpr (sizeof vector == 8) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(place), "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    *reinterpret_cast<Word<sizeof vector>*>(to) = word;
  }
#else
  *reinterpret_cast<Vector<T, N>*>(to) = vector;
#endif
}

}  // namespace prenorm::cuda
