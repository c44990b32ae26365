// The product that linear layers are made of, for all files that need one. Its versions, and which
// of them is launched, are in linear.cu.
#pragma once

#include "types.cuh"

#include <prenorm/prenorm.hpp>
#include <stdexcept>
#include <string>

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

/// Whether there is something to launch. Outputs without terms are std::invalid_argument.
template <class T>
bool has_outputs(const Product<T>& p) {
  if (p.rows == 0 || p.d_out == 0) return false;
  if (p.d_in > 0) return true;
  throw std::invalid_argument(std::string(p.name) + ": d_in is 0, there is nothing to sum over");
}

/// One thread per output.
///
/// This and the others: d_in = 0 with an output that is not empty is std::invalid_argument; an
/// empty output is no launch. For T: double, float, float16, bfloat16.
template <class T>
void product_v1(const Product<T>& product, Stream stream);

/// Tiles in shared memory.
template <class T>
void product_v2(const Product<T>& product, Stream stream);

/// Register tiles (linear_registers.cu). As from here on, but for product_launched: a row has the
/// same bits however many others there are.
template <class T>
void product_v3(const Product<T>& product, Stream stream);

/// Tensor cores by mma.sync (linear_mma.cu). False, and nothing is done, where T is not a 16-bit
/// type.
template <class T>
bool product_v4(const Product<T>& product, Stream stream);

/// Hopper's tensor cores (linear_wgmma.cu, which is compiled for devices only). False, and nothing
/// is done, where T is not a 16-bit type, the device not of compute capability 9.0, or rows of x or
/// weight not aligned to 16 bytes. Which of these it is does not depend on the number of rows.
template <class T>
bool product_v5(const Product<T>& product, Stream stream);

/// The same with activation(x weightᵀ), rounded once; and with activation(x weightᵀ) (x gateᵀ), for
/// gate [d_out, d_in]. Without a residual. For Gelu, and for Silu.
template <class Activation, class T>
bool activated_product_v5(const Product<T>& product, Stream stream);
template <class Activation, class T>
bool gated_product_v5(const Product<T>& product, const T* gate, Stream stream);

/// The best of these three that takes the product: v5 where a device's record says that it passed.
template <class T>
void product_batch_invariant(const Product<T>& product, Stream stream);

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

/// linear by one of these versions.
template <auto multiply, class T>
void linear_by(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  multiply(
      {"linear", x.data(), weight.data(), y.data(), rows_of(x), weight.shape(0), weight.shape(1)},
      stream);
}

/// y[row, column], where there is one, from its sum: rounded once.
template <class T>
__device__ void store_sum(const Product<T>& p, std::int64_t row, std::int64_t column,
                          compute_t<T> sum) {
  if (row >= p.rows || column >= p.d_out) return;
  const std::int64_t at = row * p.row_of_y() + column;
  if (p.residual != nullptr) sum += widen(p.residual[at]);
  p.y[at] = narrow<T>(sum);
}

}  // namespace prenorm::cuda
