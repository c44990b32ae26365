// Prefix sums: two buffers by turns (Hillis and Steele), a tree with indices spread over banks
// (Blelloch) that calls itself for the blocks' sums, and stream compaction by its result.
#include "check.h"

#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)

__global__ void hillis_steele(const int* in, int* out, int n) {
  extern __shared__ int temp[];  // two buffers
  const int t = threadIdx.x;
  int pout = 0, pin = 1;
  temp[t] = t > 0 ? in[t - 1] : 0;
  __syncthreads();
  for (int offset = 1; offset < n; offset <<= 1) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (t >= offset)
      temp[pout * n + t] = temp[pin * n + t] + temp[pin * n + t - offset];
    else
      temp[pout * n + t] = temp[pin * n + t];
    __syncthreads();
  }
  out[t] = temp[pout * n + t];
}

const int ELEMENTS = 128;  // of a block, by half as many threads

__global__ void blelloch(int* data, int* sums, int n) {
  __shared__ int temp[ELEMENTS + CONFLICT_FREE_OFFSET(ELEMENTS)];
  const int t = threadIdx.x, base = blockIdx.x * ELEMENTS;
  const int a = t, b = t + ELEMENTS / 2;
  temp[a + CONFLICT_FREE_OFFSET(a)] = base + a < n ? data[base + a] : 0;
  temp[b + CONFLICT_FREE_OFFSET(b)] = base + b < n ? data[base + b] : 0;
  int offset = 1;
  for (int d = ELEMENTS >> 1; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (t < d) {
      int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
      ai += CONFLICT_FREE_OFFSET(ai);
      bi += CONFLICT_FREE_OFFSET(bi);
      temp[bi] += temp[ai];
    }
  }
  if (t == 0) {
    int& last = temp[ELEMENTS - 1 + CONFLICT_FREE_OFFSET(ELEMENTS - 1)];
    sums[blockIdx.x] = last;
    last = 0;
  }
  for (int d = 1; d < ELEMENTS; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
      ai += CONFLICT_FREE_OFFSET(ai);
      bi += CONFLICT_FREE_OFFSET(bi);
      const int left = temp[ai];
      temp[ai] = temp[bi];
      temp[bi] += left;
    }
  }
  __syncthreads();
  if (base + a < n) data[base + a] = temp[a + CONFLICT_FREE_OFFSET(a)];
  if (base + b < n) data[base + b] = temp[b + CONFLICT_FREE_OFFSET(b)];
}

__global__ void add_sums(int* data, const int* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += sums[blockIdx.x];
}

static void exclusive_scan(int* data, int n) {
  const int blocks = (n + ELEMENTS - 1) / ELEMENTS;
  int* sums;
  CUDA_CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
  blelloch<<<blocks, ELEMENTS / 2>>>(data, sums, n);
  if (blocks > 1) {
    exclusive_scan(sums, blocks);
    add_sums<<<blocks, ELEMENTS>>>(data, sums, n);
  }
  CUDA_CHECK(cudaFree(sums));
}

__global__ void flag_positive(const float* x, int* flags, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flags[i] = x[i] > 0.0f;
}
__global__ void scatter(const float* x, const int* places, float* kept, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.0f) kept[places[i]] = x[i];
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 3000;
  std::vector<int> host(n), right(n);
  for (int i = 0; i < n; ++i) host[i] = i * 7 % 13 - 3;
  for (int i = 1; i < n; ++i) right[i] = right[i - 1] + host[i - 1];
  int *data = on_device(host), *out;
  CUDA_CHECK(cudaMalloc((void**)&out, 512 * sizeof(int)));
  hillis_steele<<<1, 512, 2 * 512 * sizeof(int)>>>(data, out, 512);
  expect("two buffers", on_host(out, 512), std::vector<int>(right.begin(), right.begin() + 512), 0);
  exclusive_scan(data, n);
  expect("a tree", on_host(data, n), right, 0);

  const auto x = numbers(n);
  std::vector<float> positive;
  for (const auto& value : x)
    if (value > 0) positive.push_back(value);
  float *d_x = on_device(x), *kept;
  CUDA_CHECK(cudaMalloc(&kept, n * sizeof(float)));
  const int threads = 256, blocks = (n + threads - 1) / threads;
  flag_positive<<<blocks, threads>>>(d_x, data, n);
  exclusive_scan(data, n);
  scatter<<<blocks, threads>>>(d_x, data, kept, n);
  expect("compaction", on_host(kept, positive.size()), positive, 0);
}
