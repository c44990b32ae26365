// The linear layer on the GPU. Equation, shapes and errors: reference/linear.hpp.
//
//   v1  one thread per output   the formula's sum, term by term
//   v2  shared tiles            each value is read once per tile; 8 reads serve 16 products
//   v3  register tiles          16 reads, in four accesses, serve 64: linear_registers.cu
//   v4  tensor cores            mma.sync and cp.async, 16-bit types: linear_mma.cu
//   v5  Hopper's tensor cores   wgmma and TMA: linear_wgmma.cu
//   bf16x6  tensor cores        float32 in three parts: linear_bf16x6.cu, linear_bf16x6_wgmma.cu
//   library                     cuBLASLt's fastest algorithm, by timing            <- launched
//
// Counts of linear, bfloat16: a product of 256 (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1    16.5 (1.5)              2    1408          1           -         0         0
//   v2         1             2              2       3          1           1       512         0
//   v3         1        16 (8)          8 (2)       4          1         3.4       128         0
//   v4         1            16          8 (4)       2          1           4        32         0
//
// Measured on NVIDIA H200: v2 46.3 times as fast as v1, what is launched 2.21 times as fast as v2
// (cpu_product, float32).
#include "export.cuh"
#include "launch.cuh"
#include "product.cuh"
#include "types.cuh"

#if defined(__CUDACC__)
#include "cublaslt.cuh"
#endif

namespace prenorm::cuda {
namespace {

// ---- v1: one thread per output ------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(256) linear_v1(Product<T> p) {
  const std::int64_t i = global_thread();
  if (i >= p.rows * p.d_out) return;
  const T* x = p.x + i / p.d_out * p.d_in;
  const T* weight = p.weight + i % p.d_out * p.d_in;
  // step: widen, sum of products
  compute_t<T> sum = 0;
  for (std::int64_t k = 0; k < p.d_in; ++k) sum += widen(x[k]) * widen(weight[k]);

  const std::int64_t at = i / p.d_out * p.row_of_y() + i % p.d_out;
  if (p.residual != nullptr) sum += widen(p.residual[at]);
  p.y[at] = narrow<T>(sum);  // step: round once
}

// ---- v2: tiles in shared memory -----------------------------------------------------------------

constexpr int tile = 64;   // rows and columns of y that a block computes
constexpr int depth = 16;  // terms of the sums between two barriers
constexpr int side = 16;   // a block is side x side threads
constexpr int each = tile / side;

/// `depth` columns of a tile's rows, widened, and 0 where the matrix ends. Neighbouring threads
/// take neighbouring columns. With the padding by 2 a warp's 16 columns of two rows are in 32
/// different banks.
template <class T>
__device__ void load_tile(compute_t<T> (&to)[depth][tile + 2], const T* matrix, std::int64_t rows,
                          std::int64_t columns, std::int64_t first_row, std::int64_t first_column) {
  const std::int64_t column = first_column + threadIdx.x;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const unsigned r = threadIdx.y + static_cast<unsigned>(i * side);
    const std::int64_t row = first_row + r;
    const bool there = row < rows && column < columns;
    // step: widen
    to[threadIdx.x][r] = there ? widen(matrix[row * columns + column]) : compute_t<T>(0);
  }
}

template <class T>
__global__ void __launch_bounds__(side* side) linear_v2(Product<T> p) {
  using C = compute_t<T>;
  __shared__ C x[depth][tile + 2], weight[depth][tile + 2];  // transposed: terms first
  const std::int64_t tiles_across = ceil_div(p.d_out, tile);
  const std::int64_t first_row = blockIdx.x / tiles_across * tile;
  const std::int64_t first_column = blockIdx.x % tiles_across * tile;
  C sum[each][each] = {};  // the rows and columns at threadIdx, and at every 16th after it
  for (std::int64_t k = 0; k < p.d_in; k += depth) {
    // step: widen
    load_tile(x, p.x, p.rows, p.d_in, first_row, k);
    load_tile(weight, p.weight, p.d_out, p.d_in, first_column, k);
    __syncthreads();
    // step: sum of products
#pragma unroll
    for (int term = 0; term < depth; ++term) {
      C a[each], b[each];
#pragma unroll
      for (int i = 0; i < each; ++i) {
        a[i] = x[term][threadIdx.y + static_cast<unsigned>(i * side)];
        b[i] = weight[term][threadIdx.x + static_cast<unsigned>(i * side)];
      }
#pragma unroll
      for (int i = 0; i < each; ++i) {
#pragma unroll
        for (int j = 0; j < each; ++j) sum[i][j] += a[i] * b[j];
      }
    }

    __syncthreads();  // all have read the tiles before the next ones replace them
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      store_sum(p, first_row + threadIdx.y + i * side, first_column + threadIdx.x + j * side,
                sum[i][j]);  // step: round once
    }
  }
}

}  // namespace

template <class T>
void product_v1(const Product<T>& product, Stream stream) {
  if (!has_outputs(product)) return;
  launch({"linear v1", ceil_div(product.rows * product.d_out, 256), 256, stream}, linear_v1<T>,
         product);
}

template <class T>
void product_v2(const Product<T>& product, Stream stream) {
  if (!has_outputs(product)) return;
  const std::int64_t tiles = ceil_div(product.rows, tile) * ceil_div(product.d_out, tile);
  launch({"linear v2", tiles, dim3(side, side), stream}, linear_v2<T>, product);
}

// ---- cuBLASLt -----------------------------------------------------------------------------------
//
// In bfloat16, at 8192 cubed, v2 reached 24 TFLOP/s on an H200, v3 33, v4 425, v5 798 and cuBLASLt
// 809. The emulator has no cuBLASLt (cublaslt.cu) and launches v2.

template <class T>
void product_launched(const Product<T>& product, Stream stream) {
  if (!has_outputs(product)) return;
#if defined(__CUDACC__)
  if (cublaslt_product(product, stream)) return;  // step: widen, sum of products, round once
#endif
  product_v2(product, stream);
}

/// v5, v4 or v3, by type, device and alignment: in each a row has the same bits however many others
/// there are. cuBLASLt may use another algorithm for another number of rows and, as the fastest is
/// found by timing, in another process; within a process the algorithm is kept, and gives the same
/// bits each time.
template <class T>
void product_batch_invariant(const Product<T>& product, Stream stream) {
  if (!has_outputs(product)) return;
#if defined(PRENORM_LINEAR_WGMMA)
  if (product_v5(product, stream)) return;
#endif
  if (product_v4(product, stream)) return;
  product_v3(product, stream);
}

#define PRENORM_PRODUCTS(T)                                            \
  template void product_v1<T>(const Product<T>&, Stream);              \
  template void product_v2<T>(const Product<T>&, Stream);              \
  template void product_batch_invariant<T>(const Product<T>&, Stream); \
  template void product_launched<T>(const Product<T>&, Stream);
PRENORM_PRODUCTS(double)
PRENORM_PRODUCTS(float)
PRENORM_PRODUCTS(float16)
PRENORM_PRODUCTS(bfloat16)
#undef PRENORM_PRODUCTS

namespace {

template <class T>
void launch_linear_v1(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<product_v1<T>>(x, weight, stream, y);
}
template <class T>
void launch_linear_v2(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<product_v2<T>>(x, weight, stream, y);
}
template <class T>
void launch_linear_v3(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<product_v3<T>>(x, weight, stream, y);
}
template <class T>
void tensor_cores_only(const Product<T>& product, Stream stream) {
  if (!product_v4(product, stream)) throw not_implemented("linear v4 takes float16 and bfloat16");
}
template <class T>
void launch_linear_v4(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<tensor_cores_only<T>>(x, weight, stream, y);
}
template <class T>
void launch_linear_batch_invariant(View<const T> x, View<const T> weight, Stream stream,
                                   View<T> y) {
  linear_by<product_batch_invariant<T>>(x, weight, stream, y);
}
template <class T>
void launch_linear(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<product_launched<T>>(x, weight, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(linear, launch_linear_v1, launch_linear)
PRENORM_CUDA_VARIANT(linear, v2, launch_linear_v2)
PRENORM_CUDA_VARIANT(linear, v3, launch_linear_v3)
PRENORM_CUDA_VARIANT(linear, v4, launch_linear_v4)
PRENORM_CUDA_VARIANT(linear, batch_invariant, launch_linear_batch_invariant)

}  // namespace prenorm::cuda
