// Heat in three dimensions: each point from global memory, and a plane in shared memory that moves
// along z while each thread keeps its column in registers. Jacobi until nothing changes any more.
#include <utility>
#include "check.h"

#define AT(x, y, z) (((z)*ny + (y)) * nx + (x))

__global__ void heat(const float* in, float* out, int nx, int ny, int nz, float k) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  const float c = in[AT(x, y, z)];
  const float around = in[AT(x - 1, y, z)] + in[AT(x + 1, y, z)] + in[AT(x, y - 1, z)] +
                       in[AT(x, y + 1, z)] + in[AT(x, y, z - 1)] + in[AT(x, y, z + 1)];
  out[AT(x, y, z)] = c + k * (around - 6 * c);
}

template <int BX, int BY>
__global__ void moving_plane(const float* in, float* out, int nx, int ny, int nz, float k) {
  __shared__ float plane[BY + 2][BX + 2];
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const int x = blockIdx.x * BX + tx, y = blockIdx.y * BY + ty;  // the border is left out
  const bool inside = x < nx - 1 && y < ny - 1;
  const auto load = [&](int px, int py, int z) {
    return px < nx && py < ny ? in[AT(px, py, z)] : 0.0f;
  };
  float below = load(x, y, 0), here = load(x, y, 1);
  for (int z = 1; z < nz - 1; ++z) {
    const float above = load(x, y, z + 1);
    plane[ty][tx] = here;
    if (tx == 1) plane[ty][0] = load(x - 1, y, z);
    if (tx == BX) plane[ty][BX + 1] = load(x + 1, y, z);
    if (ty == 1) plane[0][tx] = load(x, y - 1, z);
    if (ty == BY) plane[BY + 1][tx] = load(x, y + 1, z);
    __syncthreads();
    if (inside)
      out[AT(x, y, z)] = here + k * (plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] +
                                     plane[ty + 1][tx] + below + above - 6 * here);
    __syncthreads();
    below = here;
    here = above;
  }
}

__global__ void jacobi(const double* now, double* next, int n, int* unsettled) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool moves = false;
  if (i > 0 && i < n - 1) {
    next[i] = 0.5 * (now[i - 1] + now[i + 1]);
    moves = fabs(next[i] - now[i]) > 1e-7;
  } else if (i < n) {
    next[i] = now[i];
  }
  if (__syncthreads_or(moves) && threadIdx.x == 0) *unsettled = 1;
}

int main() {
  const int nx = 27, ny = 18, nz = 9, size = nx * ny * nz;
  const float k = 0.125f;
  const auto start = numbers(size);
  std::vector<float> right = start;
  for (int z = 1; z < nz - 1; ++z)
    for (int y = 1; y < ny - 1; ++y)
      for (int x = 1; x < nx - 1; ++x) {
        const float* c = &start[AT(x, y, z)];
        right[AT(x, y, z)] =
            *c + k * (c[-1] + c[1] + c[-nx] + c[nx] + c[-nx * ny] + c[nx * ny] - 6 * *c);
      }
  const float* in = on_device(start);
  float *a = on_device(start), *b = on_device(start);
  const dim3 block(8, 4, 4);
  const dim3 grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y,
                  (nz + block.z - 1) / block.z);
  heat<<<grid, block>>>(in, a, nx, ny, nz, k);
  expect("heat", on_host(a, size), right);
  moving_plane<16, 8>
      <<<dim3((nx - 2 + 15) / 16, (ny - 2 + 7) / 8), dim3(16, 8)>>>(in, b, nx, ny, nz, k);
  expect("moving plane", on_host(b, size), right);

  const int n = 20;
  std::vector<double> rod(n), line(n);
  for (int i = 0; i < n; ++i) line[i] = double(i) / (n - 1);
  rod[n - 1] = 1;
  double *now = on_device(rod), *next = on_device(rod);
  int *unsettled, rounds = 0;
  CUDA_CHECK(cudaMallocManaged(&unsettled, sizeof(int)));
  do {
    *unsettled = 0;
    jacobi<<<1, 32>>>(now, next, n, unsettled);
    CUDA_CHECK(cudaDeviceSynchronize());
    std::swap(now, next);
  } while (*unsettled && ++rounds < 2000);
  expect("settled", on_host(now, n), line, 1e-5);
}
