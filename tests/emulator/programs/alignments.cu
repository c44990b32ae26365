// Dynamic programming along antidiagonals: two sequences aligned, in one block with three
// diagonals in shared memory, and by tiles that a launch for each diagonal of tiles computes.
#include <algorithm>
#include <string>
#include "check.h"

#define GAP (-2)
#define REF_SIZE 64

typedef struct {
  char a[REF_SIZE], b[REF_SIZE];
  int length_a, length_b;
} Sequences;

__constant__ signed char scores[4][4] = {
    {3, -1, 0, -1}, {-1, 3, -1, 0}, {0, -1, 3, -1}, {-1, 0, -1, 3}};

__device__ __host__ inline int code(char base) {
  return base == 'A' ? 0 : base == 'C' ? 1 : base == 'G' ? 2 : 3;
}
__device__ __forceinline__ int maximum(int a, int b, int c) { return max(a, max(b, c)); }

// The sequences come as an argument, by value.
__global__ void in_one_block(const Sequences s, int* score) {
  __shared__ int diagonals[3][REF_SIZE + 1];
  const int i = threadIdx.x;
  for (int d = 0; d <= s.length_a + s.length_b; ++d) {
    int* const now = diagonals[d % 3];
    const int *before = diagonals[(d + 2) % 3], *two_before = diagonals[(d + 1) % 3];
    const int j = d - i;
    if (i <= s.length_a && j >= 0 && j <= s.length_b) {
      if (i == 0 || j == 0)
        now[i] = d * GAP;
      else
        now[i] = maximum(two_before[i - 1] + scores[code(s.a[i - 1])][code(s.b[j - 1])],
                         before[i] + GAP, before[i - 1] + GAP);
      if (i == s.length_a && j == s.length_b) score[0] = now[i];
    }
    __syncthreads();
  }
}

template <int T>
__global__ void tiles(int* table, const char* a, const char* b, int columns, int diagonal,
                      int first) {
  __shared__ int tile[T + 1][T + 1];
  __shared__ int reference[T][T];
  const int by = first + blockIdx.x, bx = diagonal - by, t = threadIdx.x;
  int* const corner = table + by * T * columns + bx * T;
  if (t == 0) tile[0][0] = corner[0];
  tile[0][t + 1] = corner[t + 1];
  tile[t + 1][0] = corner[(t + 1) * columns];
  for (int y = 0; y < T; ++y) reference[y][t] = scores[code(a[by * T + y])][code(b[bx * T + t])];
  __syncthreads();
  for (int m = 0; m < 2 * T - 1; m++) {
    const int x = t + 1, y = m - t + 1;
    if (y >= 1 && y <= T)
      tile[y][x] = maximum(tile[y - 1][x - 1] + reference[y - 1][x - 1], tile[y][x - 1] + GAP,
                           tile[y - 1][x] + GAP);
    __syncthreads();
  }
  for (int y = 1; y <= T; ++y) corner[y * columns + t + 1] = tile[y][t + 1];
}

int main() {
  constexpr int n = REF_SIZE, T = 16;
  Sequences s = {};
  std::string a, b;
  for (int i = 0; i < n; ++i) a += "ACGT"[i * i % 7 % 4], b += "ACGT"[(i + 1) * i % 11 % 4];
  std::copy(a.begin(), a.end(), s.a);
  std::copy(b.begin(), b.end(), s.b);
  s.length_a = n, s.length_b = n - 5;
  static const int score[4][4] = {{3, -1, 0, -1}, {-1, 3, -1, 0}, {0, -1, 3, -1}, {-1, 0, -1, 3}};
  std::vector<int> right((n + 1) * (n + 1)), table(right.size());
  for (int y = 0; y <= n; ++y)
    for (int x = 0; x <= n; ++x) {
      int& here = right[y * (n + 1) + x];
      if (x == 0 || y == 0) {
        here = table[y * (n + 1) + x] = (x + y) * GAP;
        continue;
      }
      here = std::max({(&here)[-n - 2] + score[code(a[y - 1])][code(b[x - 1])], (&here)[-1] + GAP,
                       (&here)[-n - 1] + GAP});
    }
  int* result = on_device(std::vector<int>(1));
  in_one_block<<<1, n + 1>>>(s, result);
  expect("one block", on_host(result, 1), std::vector<int>{right[n * (n + 1) + n - 5]}, 0);

  int* d_table = on_device(table);
  const char *d_a = on_device(std::vector<char>(a.begin(), a.end())),
             *d_b = on_device(std::vector<char>(b.begin(), b.end()));
  const int side = n / T;
  for (int diagonal = 0; diagonal < 2 * side - 1; ++diagonal) {
    const int first = std::max(0, diagonal - side + 1), last = std::min(diagonal, side - 1);
    tiles<T><<<last - first + 1, T>>>(d_table, d_a, d_b, n + 1, diagonal, first);
  }
  expect("tiles", on_host(d_table, right.size()), right, 0);
}
