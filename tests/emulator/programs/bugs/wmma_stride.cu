// check: none
// says: wmma::load_matrix_sync: the distance of rows is no multiple of 16 bytes
#include <cuda_fp16.h>
#include <mma.h>
#include "../check.h"
using namespace nvcuda;
__global__ void copy(const half* in, float* out, int width) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::load_matrix_sync(a, in, width);  // BUG
  for (int i = 0; i < a.num_elements; ++i) out[threadIdx.x] += __half2float(a.x[i]);
}
int main() {
  copy<<<1, 32>>>(on_device(std::vector<half>(16 * 20)), on_device(numbers(32)), 20);
  CUDA_CHECK(cudaDeviceSynchronize());
}
