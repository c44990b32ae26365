// <cuComplex.h> of the emulator: x is the real part, y the imaginary one.
#pragma once

#include "cuda_runtime.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

// As CUDA names them: f for float, nothing for double.
#define PRENORM_COMPLEX(C, T, f, make)                                                    \
  inline C make(T real, T imaginary) { return {real, imaginary}; }                        \
  inline T cuCreal##f(C a) { return a.x; }                                                \
  inline T cuCimag##f(C a) { return a.y; }                                                \
  inline C cuConj##f(C a) { return {a.x, -a.y}; }                                         \
  inline C cuCadd##f(C a, C b) { return {a.x + b.x, a.y + b.y}; }                         \
  inline C cuCsub##f(C a, C b) { return {a.x - b.x, a.y - b.y}; }                         \
  inline C cuCmul##f(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
  inline T cuCabs##f(C a) { return std::hypot(a.x, a.y); }                                \
  inline C cuCfma##f(C a, C b, C c) { return cuCadd##f(cuCmul##f(a, b), c); }             \
  /* Scaled by the larger part, so that no square overflows. */                           \
  inline C cuCdiv##f(C a, C b) {                                                          \
    const T scale = std::fabs(b.x) + std::fabs(b.y);                                      \
    const C p{a.x / scale, a.y / scale}, q{b.x / scale, b.y / scale};                     \
    const T norm = q.x * q.x + q.y * q.y;                                                 \
    return {(p.x * q.x + p.y * q.y) / norm, (p.y * q.x - p.x * q.y) / norm};              \
  }
PRENORM_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex)
PRENORM_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex)
#undef PRENORM_COMPLEX
inline cuComplex make_cuComplex(float real, float imaginary) { return {real, imaginary}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) {
  return {static_cast<double>(a.x), static_cast<double>(a.y)};
}
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
  return {static_cast<float>(a.x), static_cast<float>(a.y)};
}
