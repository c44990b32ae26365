// Words of warps: integer reductions, matches, parts of warps, lane masks, shuffles with widths,
// clocks and naps.
#include "check.h"

constexpr unsigned full = 0xffffffffu;

__global__ void reductions(const int* x, int* out) {
  const int lane = threadIdx.x, v = x[lane];
  out[0 * 32 + lane] = __reduce_add_sync(full, v);
  out[1 * 32 + lane] = __reduce_min_sync(full, v);
  out[2 * 32 + lane] = __reduce_max_sync(full, v);
  out[3 * 32 + lane] = __reduce_and_sync(full, unsigned(v) | 64u);
  out[4 * 32 + lane] = __reduce_or_sync(full, unsigned(v));
  out[5 * 32 + lane] = __reduce_xor_sync(full, unsigned(v));
  // Halves of the warp by themselves.
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  out[6 * 32 + lane] = __reduce_add_sync(half, v);
}

// More turns than the emulator takes until it lets those go first who have waited longest.
__global__ void waits() {
  for (int i = 0; i < 2100; ++i) __syncwarp();
}

__global__ void matches(const int* x, unsigned* out) {
  const int lane = threadIdx.x;
  const unsigned peers = __match_any_sync(full, x[lane] % 5);
  int same = -1, none = -1;
  const unsigned every = __match_all_sync(full, x[lane] >= 0, &same);
  __match_all_sync(full, (unsigned long long)x[lane], &none);
  const int leader = __ffs(peers) - 1;
  out[lane] = __shfl_sync(full, unsigned(x[lane]), leader);
  out[32 + lane] = __popc(peers) + 100 * (every == full) + 1000 * same + 10000 * none;
}

__global__ void shuffles(const int* x, int* out) {
  const int lane = threadIdx.x, v = x[lane];
  out[lane] = __shfl_sync(full, v, 2, 8);
  out[32 + lane] = __shfl_up_sync(full, v, 1, 16);
  out[64 + lane] = __shfl_down_sync(full, v, 3, 4);
  out[96 + lane] = __shfl_xor_sync(full, v, 5, 8);
  const double d = __shfl_xor_sync(full, v + 0.25, 1);
  out[128 + lane] = int(d * 4);
  const unsigned long long big = __shfl_sync(full, 1ull << 40 | unsigned(v), 31 - lane);
  out[160 + lane] = int(big >> 40) * 1000 + int(big & 0xffff);
}

__global__ void times(long long* out) {
  const long long begin = clock64();
  const clock_t coarse = clock();
  __nanosleep(1000);
  unsigned sum = 0;
  for (int i = 0; i < 1000; ++i) sum = sum * 3 + unsigned(clock64() != 0);
  out[0] = clock64() >= begin && sum != 0;
  out[1] = clock() - coarse != -1;
}

int main() {
  std::vector<int> x(32), reduced(7 * 32), shuffled(6 * 32);
  for (int i = 0; i < 32; ++i) x[i] = (i * 11) % 32 + 3;
  int low = 0, high = 0, bits = 0;
  for (int i = 0; i < 32; ++i) {
    (i < 16 ? low : high) += x[i];
    bits ^= x[i];
  }
  std::vector<unsigned> matched(64);
  for (int i = 0; i < 32; ++i) {
    const int values[] = {low + high, 3, 34, 64, 63, bits, i < 16 ? low : high};
    for (int k = 0; k < 7; ++k) reduced[k * 32 + i] = values[k];
    int peers = 0, first = 32;
    for (int k = 31; k >= 0; --k)
      if (x[k] % 5 == x[i] % 5) {
        ++peers;
        first = k;
      }
    matched[i] = x[first];
    matched[32 + i] = peers + 1100;
    shuffled[i] = x[i / 8 * 8 + 2];
    shuffled[32 + i] = i % 16 == 0 ? x[i] : x[i - 1];
    shuffled[64 + i] = i % 4 == 0 ? x[i + 3] : x[i];
    shuffled[96 + i] = x[i ^ 5];
    shuffled[128 + i] = 4 * x[i ^ 1] + 1;
    shuffled[160 + i] = 1000 + x[31 - i];
  }
  const int* d_x = on_device(x);
  int* out = on_device(reduced);
  unsigned* d_matched = on_device(matched);
  long long* d_times = on_device(std::vector<long long>(2));
  reductions<<<1, 32>>>(d_x, out);
  expect("reductions", on_host(out, 7 * 32), reduced, 0);
  waits<<<1, 32>>>();
  matches<<<1, 32>>>(d_x, d_matched);
  expect("matches", on_host(d_matched, 64), matched, 0);
  shuffles<<<1, 32>>>(d_x, out);
  expect("shuffles", on_host(out, 6 * 32), shuffled, 0);
  times<<<1, 1>>>(d_times);
  expect("times", on_host(d_times, 2), std::vector<long long>{1, 1});
}
