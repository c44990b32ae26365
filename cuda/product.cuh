// The product that linear layers are made of, for all files that need one. Its versions, and which
// of them is launched, are in linear.cu.
#pragma once

#include "device.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y = x weightᵀ, or y = x weightᵀ + residual: sums in compute_t<T>, rounded once, at the end.
template <class T>
struct Product {
  const char* name;  // for messages: "ffn_relu, product with w1"
  const T* x;        // [rows, d_in]
  const T* weight;   // [d_out, d_in]
  T* y;              // [rows, d_out], apart from x and weight
  std::int64_t rows, d_out, d_in;
  const T* residual = nullptr;  // [rows, d_out]; may be y
  std::int64_t y_stride = 0;    // from a row of y, and of residual, to the next; 0: d_out

  /// So y can be a range of columns of a wider matrix.
  __host__ __device__ std::int64_t row_of_y() const { return y_stride != 0 ? y_stride : d_out; }
};

/// One thread per output.
///
/// This and the others: d_in = 0 with an output that is not empty is std::invalid_argument; an
/// empty output is no launch. For T: double, float, float16, bfloat16.
template <class T>
void product_v1(const Product<T>& product, Stream stream);

/// Tiles in shared memory.
template <class T>
void product_v2(const Product<T>& product, Stream stream);

/// The launched version: cuBLASLt on a device, product_v2 where kernels are emulated.
template <class T>
void product_launched(const Product<T>& product, Stream stream);

/// The rows of x[..., d]: its elements over d, also where d is 0.
template <class T>
std::int64_t rows_of(const View<T>& x) {
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < x.dimension(); ++axis) rows *= x.shape(axis);
  return rows;
}

}  // namespace prenorm::cuda
