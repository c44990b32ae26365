// Products by cuBLASLt, on a device only.
#pragma once

#include "product.cuh"

namespace prenorm::cuda {

/// What BLAS is told to compute a Product: C = op(A) B. To BLAS every matrix is column-major, so it
/// sees each of ours transposed, and what it must compute is yᵀ = weight xᵀ:
///
///     A = weightᵀ [d_in, d_out], to be transposed    B = xᵀ [d_in, rows]    C = yᵀ [d_out, rows]
struct ColumnMajor {
  struct Matrix {
    std::int64_t rows, columns, leading;  // element (i, j) is at i + j * leading
  };
  Matrix a, b, c;
};

constexpr ColumnMajor column_major(std::int64_t rows, std::int64_t d_out, std::int64_t d_in) {
  return {.a = {d_in, d_out, d_in}, .b = {d_in, rows, d_in}, .c = {d_out, rows, d_out}};
}

/// Enqueues the product, which must have outputs and terms. False where cuBLASLt has no algorithm
/// for it; then nothing is done.
///
/// The first time that a shape (with its type and alignments) is seen, some of the algorithms are
/// timed, for which the stream is waited for, and the fastest is kept as long as the process lives:
/// the same call gives the same bits again. Another process may keep another one. While a graph is
/// captured nothing can be timed: of a shape that is new the graph has what cuBLASLt guesses.
///
/// Sums are never rounded to 16 bits on the way. float32 is multiplied in tf32 where
/// PRENORM_CUDA_TF32 is defined, and only there. Throws std::runtime_error, which begins with the
/// product's name, where CUDA or cuBLASLt fails. Calls come one at a time (Workspace).
template <class T>
bool cublaslt_product(const Product<T>& product, Stream stream);

}  // namespace prenorm::cuda
