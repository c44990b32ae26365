// Products by cuBLASLt, on a device only.
#pragma once

#include "product.cuh"

namespace prenorm::cuda {

/// A Product as BLAS computes it: C = op(A) B. BLAS's matrices are column-major, so it sees each of
/// ours transposed, and must compute yᵀ = weight xᵀ:
///
///     A = weightᵀ [d_in, d_out], to be transposed    B = xᵀ [d_in, rows]    C = yᵀ [d_out, rows]
///
/// From a column of C to the next it is y_stride elements.
struct ColumnMajor {
  struct Matrix {
    std::int64_t rows, columns, leading;  // element (i, j) is at i + j * leading
  };
  Matrix a, b, c;
};

constexpr ColumnMajor column_major(std::int64_t rows, std::int64_t d_out, std::int64_t d_in,
                                   std::int64_t y_stride) {
  return {.a = {d_in, d_out, d_in}, .b = {d_in, rows, d_in}, .c = {d_out, rows, y_stride}};
}

/// Enqueues the product, which must have outputs and terms. False where cuBLASLt has no algorithm
/// for it; then nothing is done.
///
/// The first time that a shape (with its type and alignments) is seen, some algorithms are timed,
/// which waits for the stream, and the fastest is kept as long as the process lives: the same call
/// gives the same bits again. Another process may keep another one. While a graph is captured
/// nothing can be timed: for a new shape the graph uses cuBLASLt's first suggestion.
///
/// Partial sums are never rounded to 16 bits. float32 is multiplied in tf32 only where
/// PRENORM_CUDA_TF32 is defined. Throws std::runtime_error, which begins with the
/// product's name, where CUDA or cuBLASLt fails. Calls come one at a time (Workspace).
template <class T>
bool cublaslt_product(const Product<T>& product, Stream stream);

}  // namespace prenorm::cuda
