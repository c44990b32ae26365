// Monte Carlo with generators of our own: pi by a linear congruence, the price of an option by
// Philox and Box-Muller. The host draws the same numbers and must get the same counts.
#include "check.h"

struct Lcg {
  unsigned long long state;
  __host__ __device__ explicit Lcg(unsigned seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}
  __host__ __device__ unsigned next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<unsigned>(state >> 32);
  }
  __host__ __device__ float uniform() { return (next() >> 8) * (1.0f / (1 << 24)); }
};

__host__ __device__ bool inside(Lcg& lcg) {
  const float x = lcg.uniform(), y = lcg.uniform();
  return x * x + y * y < 1.0f;
}

__global__ void count_inside(int each, unsigned long long* total) {
  __shared__ unsigned hits;
  if (threadIdx.x == 0) hits = 0;
  __syncthreads();
  Lcg lcg(blockIdx.x * blockDim.x + threadIdx.x);
  unsigned own = 0;
  for (int i = 0; i < each; ++i) own += inside(lcg);
  atomicAdd(&hits, own);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, (unsigned long long)hits);
}

__host__ __device__ unsigned high(unsigned a, unsigned b) {
#ifdef __CUDA_ARCH__
  return __umulhi(a, b);
#else
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
#endif
}

/// Philox 4x32 with ten rounds: random bits by a counter and a key, without any state.
__host__ __device__ uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned h0 = high(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    const unsigned h1 = high(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

__global__ void bits(uint4* out) { out[0] = philox(uint4{0, 0, 0, 0}, uint2{0, 0}); }

__global__ void price(float spot, float strike, float rate, float sigma, float years, int paths,
                      double* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= paths) return;
  const uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2(42, 7));
  const float u = (r.x + 0.5f) * 2.3283064e-10f, v = (r.y + 0.5f) * 2.3283064e-10f;
  const float radius = sqrtf(-2.0f * __logf(u));
  float sine, cosine;
  __sincosf(6.2831853f * v, &sine, &cosine);
  double gain = 0;
  for (const float z : {radius * cosine, radius * sine}) {
    const float end =
        spot * __expf((rate - 0.5f * sigma * sigma) * years + sigma * sqrtf(years) * z);
    gain += 0.5 * fmaxf(end - strike, 0.0f);
  }
  atomicAdd(sum, gain * exp(-rate * years));
}

int main() {
  const int blocks = 8, threads = 64, each = 100;
  unsigned long long right = 0;
  for (int t = 0; t < blocks * threads; ++t) {
    Lcg lcg(t);
    for (int i = 0; i < each; ++i) right += inside(lcg);
  }
  unsigned long long* total = on_device(std::vector<unsigned long long>(1));
  count_inside<<<blocks, threads>>>(each, total);
  expect("hits", on_host(total, 1), std::vector<unsigned long long>{right}, 0);
  const double pi = 4.0 * right / (blocks * threads * each);
  expect("pi", std::vector<double>{pi}, std::vector<double>{3.14159265}, 0.01);

  uint4* d_bits = on_device(std::vector<uint4>(1));
  bits<<<1, 1>>>(d_bits);
  const uint4 b = on_host(d_bits, 1)[0];
  // The known answer of Random123 for zeros.
  expect("Philox", std::vector<unsigned>{b.x, b.y, b.z, b.w},
         std::vector<unsigned>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}, 0);

  const int paths = 20000;
  double* sum = on_device(std::vector<double>(1));
  price<<<(paths + 255) / 256, 256>>>(100, 100, 0.05f, 0.2f, 1, paths, sum);
  expect("price", std::vector<double>{on_host(sum, 1)[0] / paths}, std::vector<double>{10.4506},
         0.02);
}
