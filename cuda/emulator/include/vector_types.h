// CUDA's vector types and the functions that make them. Sizes and alignments are CUDA's.
#pragma once

// A vector goes to memory in one access, as on a device, where accesses are seen: by itself the
// compiler stores the elements of x = {1, 2} one by one. No special member, so types stay trivial.
#if defined(PRENORM_EMULATOR_COUNTED) || defined(PRENORM_EMULATOR_SEEN)
#include <initializer_list>
#define PRENORM_BRACES(V, T, ...)                             \
  constexpr V& operator=(std::initializer_list<T> elements) { \
    V whole{};                                                \
    T* const places[] = {__VA_ARGS__};                        \
    T* const* place = places;                                 \
    for (const T& each : elements) **place++ = each;          \
    return *this = whole;                                     \
  }
#else
#define PRENORM_BRACES(...)
#endif

#define PRENORM_VECTORS(T, N, one, two, four)                            \
  struct N##1 {                                                          \
    T x;                                                                 \
  };                                                                     \
  struct alignas(two) N##2 {                                             \
    T x, y;                                                              \
    PRENORM_BRACES(N##2, T, &whole.x, &whole.y)                          \
  };                                                                     \
  struct alignas(one) N##3 {                                             \
    T x, y, z;                                                           \
  };                                                                     \
  struct alignas(four) N##4 {                                            \
    T x, y, z, w;                                                        \
    PRENORM_BRACES(N##4, T, &whole.x, &whole.y, &whole.z, &whole.w)      \
  };                                                                     \
  inline constexpr N##1 make_##N##1(T x) { return {x}; }                 \
  inline constexpr N##2 make_##N##2(T x, T y) { return {x, y}; }         \
  inline constexpr N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
  inline constexpr N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }

PRENORM_VECTORS(signed char, char, 1, 2, 4)
PRENORM_VECTORS(unsigned char, uchar, 1, 2, 4)
PRENORM_VECTORS(short, short, 2, 4, 8)
PRENORM_VECTORS(unsigned short, ushort, 2, 4, 8)
PRENORM_VECTORS(int, int, 4, 8, 16)
PRENORM_VECTORS(unsigned, uint, 4, 8, 16)
PRENORM_VECTORS(long, long, 8, 16, 16)
PRENORM_VECTORS(unsigned long, ulong, 8, 16, 16)
PRENORM_VECTORS(long long, longlong, 8, 16, 16)
PRENORM_VECTORS(unsigned long long, ulonglong, 8, 16, 16)
PRENORM_VECTORS(float, float, 4, 8, 16)
PRENORM_VECTORS(double, double, 8, 16, 16)
#undef PRENORM_VECTORS
#undef PRENORM_BRACES

namespace prenorm::emulator {
/// prenorm-cuda-to-cpp has x = float4{...} go through this, for the same reason.
template <class T>
constexpr T whole(T vector) {
  return vector;
}
}  // namespace prenorm::emulator

// Of four, whose alignment the name says.
#define PRENORM_ALIGNED(T, N, bytes) \
  struct alignas(bytes) N {          \
    T x, y, z, w;                    \
  };                                 \
  inline constexpr N make_##N(T x, T y, T z, T w) { return {x, y, z, w}; }
#define PRENORM_BOTH_ALIGNED(T, N) PRENORM_ALIGNED(T, N##4_16a, 16) PRENORM_ALIGNED(T, N##4_32a, 32)
PRENORM_BOTH_ALIGNED(long, long)
PRENORM_BOTH_ALIGNED(unsigned long, ulong)
PRENORM_BOTH_ALIGNED(long long, longlong)
PRENORM_BOTH_ALIGNED(unsigned long long, ulonglong)
PRENORM_BOTH_ALIGNED(double, double)
#undef PRENORM_BOTH_ALIGNED
#undef PRENORM_ALIGNED

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3() = default;
  constexpr dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
