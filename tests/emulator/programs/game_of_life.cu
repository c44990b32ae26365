// Conway's game of life on a torus: each cell from global memory, and tiles with a border in shared
// memory. Two buffers change places each generation.
#include <utility>
#include "check.h"

typedef unsigned char Cell;

__host__ __device__ inline Cell next_state(Cell alive, int neighbours) {
  return neighbours == 3 || (neighbours == 2 && alive);
}

__global__ void global_memory(const Cell* now, Cell* next, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int count = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx != 0 || dy != 0) count += now[(y + dy + h) % h * w + (x + dx + w) % w];
  next[y * w + x] = next_state(now[y * w + x], count);
}

template <int SIDE>
__global__ void shared_memory(const Cell* now, Cell* next, int w, int h) {
  constexpr int WIDE = SIDE + 2;
  __shared__ Cell tile[WIDE][WIDE];
  const int x0 = blockIdx.x * SIDE - 1, y0 = blockIdx.y * SIDE - 1;
  for (int i = threadIdx.y * SIDE + threadIdx.x; i < WIDE * WIDE; i += SIDE * SIDE)
    tile[i / WIDE][i % WIDE] = now[(y0 + i / WIDE + h) % h * w + (x0 + i % WIDE + w) % w];
  __syncthreads();
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const int x = x0 + tx, y = y0 + ty;
  if (x >= w || y >= h) return;
  int count = -tile[ty][tx];
#pragma unroll
  for (int i = 0; i < 9; ++i) count += tile[ty - 1 + i / 3][tx - 1 + i % 3];
  next[y * w + x] = next_state(tile[ty][tx], count);
}

__global__ void count_alive(const Cell* cells, int n, int* alive) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int of_block = __syncthreads_count(i < n && cells[i]);
  if (threadIdx.x == 0) atomicAdd(alive, of_block);
}

int main() {
  const int w = 45, h = 38, generations = 6;
  std::vector<Cell> cells(w * h), next(w * h);
  const auto random = numbers(w * h);
  for (int i = 0; i < w * h; ++i) cells[i] = random[i] > 0.3f;
  Cell *a = on_device(cells), *b = on_device(next), *c = on_device(cells), *d = on_device(next);
  for (int g = 0; g < generations; ++g) {
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        int count = 0;
        for (int k = 0; k < 9; ++k)
          if (k != 4) count += cells[(y + k / 3 - 1 + h) % h * w + (x + k % 3 - 1 + w) % w];
        next[y * w + x] = next_state(cells[y * w + x], count);
      }
    std::swap(cells, next);
    const dim3 block(16, 16), grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
    global_memory<<<grid, block>>>(a, b, w, h);
    shared_memory<16><<<grid, block>>>(c, d, w, h);
    std::swap(a, b);
    std::swap(c, d);
  }
  expect("global memory", on_host(a, w * h), cells, 0);
  expect("shared memory", on_host(c, w * h), cells, 0);
  int alive = 0;
  for (const Cell cell : cells) alive += cell;
  int* d_alive = on_device(std::vector<int>(1));
  count_alive<<<(w * h + 255) / 256, 256>>>(a, w * h, d_alive);
  expect("alive", on_host(d_alive, 1), std::vector<int>{alive});
}
