// check: none
// says: wmma::mma_sync needs lane 20, which has returned
#include <cuda_fp16.h>
#include <mma.h>
#include "../check.h"
using namespace nvcuda;
__global__ void product(float* out, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(a, __float2half(1.f));
  wmma::fill_fragment(b, __float2half(1.f));
  wmma::fill_fragment(c, 0.f);
  if (threadIdx.x >= n) return;
  wmma::mma_sync(c, a, b, c);  // BUG
  out[threadIdx.x] = c.x[0];
}
int main() {
  product<<<1, 32>>>(on_device(numbers(32)), 20);
  CUDA_CHECK(cudaDeviceSynchronize());
}
