// The game of life: pitched memory of bytes that wraps at its edges, a tile with its halo in shared
// memory, and a version with 64 cells in a word. And a line of cells for many generations, each of
// which ends at a barrier.
#include <cstdint>
#include <utility>
#include "check.h"

enum class Cell : unsigned char { Dead = 0, Alive = 1 };

struct Board {
  Cell* cells;
  size_t pitch;
  int width, height;
  __device__ Cell& at(int x, int y) const { return *((Cell*)((char*)cells + y * pitch) + x); }
  __device__ Cell wrapped(int x, int y) const {
    return at((x + width) % width, (y + height) % height);
  }
};

template <int BX, int BY>
__global__ void generation(const Board from, Board to) {
  __shared__ Cell tile[BY + 2][BX + 2];
  const int x0 = blockIdx.x * BX - 1, y0 = blockIdx.y * BY - 1;
  for (int i = threadIdx.y * BX + threadIdx.x; i < (BX + 2) * (BY + 2); i += BX * BY) {
    const int x = i % (BX + 2), y = i / (BX + 2);
    tile[y][x] = from.wrapped(x0 + x, y0 + y);
  }
  __syncthreads();
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  if (x0 + x >= from.width || y0 + y >= from.height) return;
  int alive = 0;
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx)
      if (dx != 0 || dy != 0) alive += static_cast<int>(tile[y + dy][x + dx]);
  switch (alive) {
    case 2: to.at(x0 + x, y0 + y) = tile[y][x]; break;
    case 3: to.at(x0 + x, y0 + y) = Cell::Alive; break;
    default: to.at(x0 + x, y0 + y) = Cell::Dead;
  }
}

/// A row is a word; sums of three neighbours are kept in two words of bits.
__global__ void generation_of_words(const uint64_t* from, uint64_t* to, int height) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= height) return;
  uint64_t ones = 0, twos = 0, fours = 0;
  auto add = [&](uint64_t bits) {
    const uint64_t carry = ones & bits;
    ones ^= bits;
    fours |= twos & carry;
    twos ^= carry;
  };
  for (int dy = -1; dy <= 1; ++dy) {
    const uint64_t row = from[(y + dy + height) % height];
    add(row << 1 | row >> 63);
    add(row >> 1 | row << 63);
    if (dy != 0) add(row);
  }
  to[y] = twos & ~fours & (ones | from[y]);
}

/// Wolfram's rule of that number, which has a bit for each neighbourhood.
__global__ void rule(unsigned number, unsigned char* cells, int generations) {
  __shared__ unsigned char line[2][256];
  const int x = threadIdx.x, n = blockDim.x;
  line[0][x] = cells[x];
  __syncthreads();
  for (int g = 0; g < generations; g++) {
    const unsigned char* now = line[g & 1];
    line[~g & 1][x] = number >> (now[(x + n - 1) % n] * 4 + now[x] * 2 + now[(x + 1) % n]) & 1;
    __syncthreads();
  }
  cells[x] = line[generations & 1][x];
}

int main() {
  std::vector<unsigned char> line(256), old;
  line[99] = 1;
  unsigned char* cells = on_device(line);
  rule<<<1, 256>>>(110, cells, 771);
  for (int g = 0; g < 771; ++g) {
    old = line;
    for (int x = 0; x < 256; ++x)
      line[x] = 110 >> (old[(x + 255) % 256] * 4 + old[x] * 2 + old[(x + 1) % 256]) & 1;
  }
  expect("a line", on_host(cells, 256), line, 0);

  constexpr int w = 64, h = 37, generations = 4;
  const int glider[][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
  // After four generations it has moved by one; a row of three and a square are as before.
  const auto draw = [&](int dx, int dy) {
    std::vector<Cell> cells(w * h, Cell::Dead);
    for (auto& [x, y] : glider) cells[(y + dy) % h * w + (x + dx) % w] = Cell::Alive;
    for (int i = 0; i < 3; ++i) cells[20 * w + 30 + i] = Cell::Alive;
    for (int i = 0; i < 4; ++i) cells[(30 + i / 2) * w + 15 + i % 2] = Cell::Alive;
    return cells;
  };
  const auto in_words = [&](const std::vector<Cell>& cells) {
    std::vector<uint64_t> words(h);
    for (int i = 0; i < w * h; ++i)
      if (cells[i] == Cell::Alive) words[i / w] |= uint64_t{1} << (i % w);
    return words;
  };
  std::vector<Cell> host = draw(w - 2, h - 2);
  const auto right = in_words(draw(w - 1, h - 1));
  Board boards[2];
  for (Board& each : boards) {
    each.width = w;
    each.height = h;
    CUDA_CHECK(cudaMallocPitch(&each.cells, &each.pitch, w * sizeof(Cell), h));
  }
  CUDA_CHECK(
      cudaMemcpy2D(boards[0].cells, boards[0].pitch, host.data(), w, w, h, cudaMemcpyHostToDevice));
  const auto words = in_words(host);
  uint64_t *now = on_device(words), *next = on_device(words);
  const dim3 block(16, 8), grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
  for (int i = 0; i < generations; ++i) {
    generation<16, 8><<<grid, block>>>(boards[0], boards[1]);
    generation_of_words<<<1, 64>>>(now, next, h);
    std::swap(boards[0], boards[1]);
    std::swap(now, next);
  }
  CUDA_CHECK(
      cudaMemcpy2D(&host[0], w, boards[0].cells, boards[0].pitch, w, h, cudaMemcpyDeviceToHost));
  expect("cells", in_words(host), right, 0);
  expect("words of cells", on_host(now, h), right, 0);
}
