// Code that host and device share: __CUDA_ARCH__ tells which of them compiles it, and names of the
// host's mean something else in kernels.
#include "check.h"

#if defined(__CUDA_ARCH__)
#define SIDE 1
__device__ int only_there() { return SIDE; }
#else
#define SIDE 0
int only_here() { return 7; }
#endif

__host__ __device__ int side() { return SIDE; }
__host__ __device__ constexpr int side_of_constant() {
#ifdef __CUDA_ARCH__
  return 1;
#else
  return 0;
#endif
}
#ifndef __CUDA_ARCH__
static_assert(side_of_constant() == 0, "the host's compiler computes it");
__host__ __device__ int side_of_whole(int x) { return x; }
#else
__host__ __device__ int side_of_whole(int x) { return -x; }
#endif

struct Log {
  int lines;
  int table;
  __host__ __device__ explicit Log(int first) : lines{first}, table{0} {
#ifndef __CUDA_ARCH__
    lines += only_here();
#endif
  }
  template <class T>
  __host__ __device__ T add(T more) const
#if defined(__CUDA_ARCH__)
  {
    __threadfence();
    return lines + table + 100 * more;
  }
#else
  {
    return lines + table + more;
  }
#endif
};

// Names that kernels have for something else, or may use.
int table[4] = {1, 2, 3, 4}, size = 4;
const int tile = 32;
const float half_of = 0.5f;
int scale(int x) { return 2 * x; }
__device__ int scale(float x) { return static_cast<int>(3 * x); }
int next(int x) { return x + 1; }

__device__ int shift(int table, int size) { return table << size; }

template <int size>
__global__ void sides(int* out, const int* given) {
  static_assert(sizeof(::table) == 16, "its size is known");
  __shared__ int table[tile];
  const auto next = [=](int x) { return x + size; };
  table[threadIdx.x] = given[threadIdx.x];
  __syncthreads();
  if (threadIdx.x > 0) return;
  const Log log(table[1]);
  out[0] = side();
  out[1] = log.add(1);
  out[2] = shift(table[2], 1) + next(0);
  out[3] = scale(2.0f) + static_cast<int>(half_of * 8);
  out[4] = only_there() + side_of_whole(9);
}

int main() {
  int* out = on_device(std::vector<int>(5));
  std::vector<int> given(tile);
  for (int i = 0; i < tile; ++i) given[i] = i;
  sides<3><<<1, tile>>>(out, on_device(given));
  const auto got = on_host(out, 5);
  const Log log(1);
  const bool right = got == std::vector<int>{1, 101, 7, 10, -8} && side() == 0 &&
                     side_of_whole(9) == 9 && log.add(1) == 9 && scale(size) + next(table[0]) == 10;
  printf(right ? "all sides agree\n" : "%d %d %d %d %d\n", got[0], got[1], got[2], got[3], got[4]);
  return right ? 0 : 1;
}
