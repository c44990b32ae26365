// Intrinsics: votes of warps and blocks, matches, reductions of integers, bits, arithmetic, last
// block by a fence and a counter.
#include <cassert>
#include "check.h"

__global__ void votes(const int* x, unsigned* out) {
  const unsigned all = 0xffffffffu;
  const int lane = threadIdx.x;
  out[lane] = __ballot_sync(all, x[lane] > 0);
  out[32 + lane] = __any_sync(all, x[lane] == 31) * 2 + __all_sync(all, x[lane] >= 0);
  out[64 + lane] = __match_any_sync(all, x[lane] % 4);
  out[96 + lane] = __reduce_add_sync(all, unsigned(x[lane])) + __reduce_max_sync(all, x[lane]);
  out[128 + lane] = __syncthreads_count(x[lane] > 9) + 100 * (__syncthreads_or(x[lane] == 31) != 0);
  assert(lane < 32);
}

__global__ void bits(const unsigned* x, unsigned* out) {
  const unsigned v = x[threadIdx.x];
  out[threadIdx.x] =
      __popc(v) + 100 * __clz(v) + 10000 * __ffs(v) + (__brev(v) == __brev(v) ? 0 : 7);
  if (__float_as_uint(__uint_as_float(v)) != v || __funnelshift_l(v, v, 8) != (v << 8 | v >> 24)) {
    out[threadIdx.x] = 0;
  }
  const uint2 square = make_uint2(v * v, __umulhi(v, v));
  if ((unsigned long long)square.y << 32 != (unsigned long long)v * v - square.x) {
    out[threadIdx.x] = 1;
  }
}

__global__ void arithmetic(const float* x, float* out) {
  const int i = threadIdx.x;
  float sine, cosine;
  sincospif(x[i], &sine, &cosine);
  out[i] = sine;
  out[32 + i] = cosine;
  out[64 + i] = __logf(2 + x[i]) - logf(3 + x[i]) + __fdividef(max(x[i], 0.0f), 3);
  out[96 + i] = powf(2 + x[i], x[i]);
  __sincosf(x[i], &sine, &cosine);
  __stcs(&out[128 + i], sine + 2 * cosine);
}

__device__ unsigned done;

__global__ void last_block(const float* in, float* partial, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += __ldcg(&partial[b]);
    *out = sum;
  }
}

int main() {
  std::vector<int> x(32);
  std::vector<unsigned> v(32), right(160), of_bits(32);
  for (int i = 0; i < 32; ++i) {
    x[i] = i;
    v[i] = 0x9e3779b9u * (i + 1);
    right[i] = 0xfffffffeu;
    right[32 + i] = 3;
    right[64 + i] = 0x11111111u << (i % 4);
    right[96 + i] = 31 * 32 / 2 + 31;
    right[128 + i] = 122;
    of_bits[i] = __builtin_popcount(v[i]) + 100 * __builtin_clz(v[i]) + 10000 * __builtin_ffs(v[i]);
  }
  unsigned* d_out = on_device(right);
  votes<<<1, 32>>>(on_device(x), d_out);
  expect("votes", on_host(d_out, 160), right, 0);
  bits<<<1, 32>>>(on_device(v), d_out);
  expect("bits", on_host(d_out, 32), of_bits, 0);
  const auto angles = numbers(32);
  std::vector<double> values(160);
  for (int i = 0; i < 32; ++i) {
    const double a = angles[i];
    values[i] = std::sin(M_PI * a);
    values[32 + i] = std::cos(M_PI * a);
    values[64 + i] = std::log(2 + a) - std::log(3 + a) + std::fmax(a, 0.0) / 3;
    values[96 + i] = std::pow(2 + a, a);
    values[128 + i] = std::sin(a) + 2 * std::cos(a);
  }
  float* d_values = on_device(std::vector<float>(160));
  arithmetic<<<1, 32>>>(on_device(angles), d_values);
  expect("arithmetic", on_host(d_values, 160), values);
  const auto in = numbers(10);
  double sum = 0;
  for (const float each : in) sum += each;
  float* d_sum = on_device(std::vector<float>(1));
  last_block<<<10, 32>>>(on_device(in), on_device(in), d_sum);
  expect("last_block", on_host(d_sum, 1), std::vector<double>{sum});
}
