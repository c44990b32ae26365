// All shortest paths by Floyd and Warshall: a launch per vertex, and in three phases of tiles. Then
// an alignment of two words, a launch per antidiagonal.
#include <string>
#include "check.h"

__global__ void through(int k, int n, int* d) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  __shared__ int to_k;
  if (threadIdx.x == 0) to_k = d[i * n + k];
  __syncthreads();
  if (j >= n) return;
  const int way = to_k + d[k * n + j];
  if (way < d[i * n + j]) d[i * n + j] = way;
}

#define TILE 8
// d = min(d, a + b) for the vertices of one tile; phases say which of a, b are d itself.
__device__ void relax(int (*d)[TILE], int (*a)[TILE], int (*b)[TILE], int y, int x) {
  for (int k = 0; k < TILE; ++k) {
    const int way = a[y][k] + b[k][x];
    __syncthreads();
    if (way < d[y][x]) d[y][x] = way;
    __syncthreads();
  }
}

__global__ void phase(int which, int tile, int n, int* d) {
  __shared__ int own[TILE][TILE], left[TILE][TILE], above[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  int ty = blockIdx.y, tx = blockIdx.x;
  if (which == 1) ty = tx = tile;
  if (which == 2) {
    if (blockIdx.y == 0)
      ty = tile;
    else
      ty = tx, tx = tile;
  }
  if (which == 2 && tx == ty) return;
  if (which == 3 && (tx == tile || ty == tile)) return;
  int& mine = d[(ty * TILE + y) * n + tx * TILE + x];
  own[y][x] = mine;
  left[y][x] = d[(ty * TILE + y) * n + tile * TILE + x];
  above[y][x] = d[(tile * TILE + y) * n + tx * TILE + x];
  __syncthreads();
  if (which == 1) relax(own, own, own, y, x);
  if (which == 2 && ty == tile) relax(own, left, own, y, x);
  if (which == 2 && ty != tile) relax(own, own, above, y, x);
  if (which == 3) relax(own, left, above, y, x);
  mine = own[y][x];
}

__constant__ char words[2][32];
__global__ void antidiagonal(int sum, int n, int m, int* cost) {
  const int i = threadIdx.x + 1, j = sum - i;
  if (i > n || j < 1 || j > m) return;
  const int replace = cost[(i - 1) * (m + 1) + j - 1] + (words[0][i - 1] != words[1][j - 1]);
  const int gap = min(cost[(i - 1) * (m + 1) + j], cost[i * (m + 1) + j - 1]) + 1;
  cost[i * (m + 1) + j] = min(replace, gap);
}

int main() {
  const int n = 40;
  std::vector<int> d(n * n);
  for (int i = 0; i < n * n; ++i) {
    const int random = (i * 7919 + 13) % 97;
    d[i] = i / n == i % n ? 0 : random < 20 ? random + 1 : 100000;
  }
  int *a = on_device(d), *b = on_device(d);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
  for (int k = 0; k < n; ++k) through<<<dim3((n + 31) / 32, n), 32>>>(k, n, a);
  expect("vertex by vertex", on_host(a, n * n), d);
  const dim3 threads(TILE, TILE);
  for (int tile = 0; tile < n / TILE; ++tile) {
    phase<<<1, threads>>>(1, tile, n, b);
    phase<<<dim3(n / TILE, 2), threads>>>(2, tile, n, b);
    phase<<<dim3(n / TILE, n / TILE), threads>>>(3, tile, n, b);
  }
  expect("tile by tile", on_host(b, n * n), d);

  const std::string from = "saturday", to = "sundays";
  CUDA_CHECK(cudaMemcpyToSymbol(words, from.data(), from.size()));
  CUDA_CHECK(cudaMemcpyToSymbol(words, to.data(), to.size(), sizeof words[0]));
  const int rows = from.size(), columns = to.size();
  std::vector<int> cost((rows + 1) * (columns + 1));
  for (int i = 0; i <= rows; ++i) cost[i * (columns + 1)] = i;
  for (int j = 0; j <= columns; ++j) cost[j] = j;
  int* d_cost = on_device(cost);
  for (int sum = 2; sum <= rows + columns; ++sum)
    antidiagonal<<<1, 32>>>(sum, rows, columns, d_cost);
  const auto costs = on_host(d_cost, cost.size());
  expect("distance", std::vector<int>{costs.back()}, std::vector<int>{4});
}
