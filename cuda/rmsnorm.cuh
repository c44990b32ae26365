// RMSNorm, for all files that need it. Its versions, and which of them is launched, are in
// rmsnorm.cu.
#pragma once

#include "device.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y = x / sqrt(mean(x^2) + eps) * weight, row by row: computed in compute_t<T>, rounded once.
template <class T>
struct Norm {
  const T* x;       // [rows, d_model]
  const T* weight;  // [d_model], the gain
  T* y;             // [rows, d_model], apart from x
  std::int64_t rows, d_model;
  double eps;
};

/// One thread per row.
///
/// This and the other: an empty output is no launch. For T: double, float, float16, bfloat16.
template <class T>
void norm_v1(const Norm<T>& norm, Stream stream);

/// The launched version: v3 where a row fits the registers, else v2.
template <class T>
void norm_launched(const Norm<T>& norm, Stream stream);

}  // namespace prenorm::cuda
