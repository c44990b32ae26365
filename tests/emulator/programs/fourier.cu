// Fourier transforms: by the definition, and Cooley and Tukey's in shared memory with the order of
// bits reversed; a circular convolution by them.
#include <utility>
#include "check.h"

#define PI 3.14159265358979323846

__host__ __device__ inline float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__host__ __device__ inline float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__host__ __device__ inline float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }

__global__ void by_definition(const float2* in, float2* out, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  float2 sum = make_float2(0, 0);
  for (int j = 0; j < n; ++j) {
    float2 turn;
    sincospif(-2.0f * (j * k % n) / n, &turn.y, &turn.x);
    sum = sum + in[j] * turn;
  }
  out[k] = sum;
}

template <int N, bool inverse>
__global__ void fast(const float2* in, float2* out) {
  __shared__ float2 s[N];
  constexpr int log = N == 64 ? 6 : N == 256 ? 8 : 0;
  static_assert(1 << log == N);
  in += blockIdx.x * N;
  out += blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += blockDim.x) s[__brev(i) >> (32 - log)] = in[i];
  __syncthreads();
  for (int half = 1; half < N; half *= 2) {
    for (int i = threadIdx.x; i < N / 2; i += blockDim.x) {
      const int j = i % half, low = (i - j) * 2 + j;
      float2 turn;
      __sincosf(float((inverse ? PI : -PI) * j / half), &turn.y, &turn.x);
      const float2 a = s[low], b = s[low + half] * turn;
      s[low] = a + b;
      s[low + half] = a - b;
    }
    __syncthreads();
  }
  const float scale = inverse ? 1.0f / N : 1.0f;
  for (int i = threadIdx.x; i < N; i += blockDim.x) out[i] = {s[i].x * scale, s[i].y * scale};
}

__global__ void multiply(float2* a, const float2* b) {
  a[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
}

std::vector<float> parts(const std::vector<float2>& values) {
  std::vector<float> flat;
  for (const float2& each : values) {
    flat.push_back(each.x);
    flat.push_back(each.y);
  }
  return flat;
}

int main() {
  constexpr int n = 256;
  const auto random = numbers(4 * n);
  std::vector<float2> x(n), y(n);
  std::vector<double> right(2 * n), circular(2 * n);
  for (int i = 0; i < n; ++i) {
    x[i] = {random[2 * i], random[2 * i + 1]};
    y[i] = {i < 5 ? 0.2f : 0.f, 0};
  }
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j) {
      const double angle = -2 * PI * (j * k % n) / n, c = std::cos(angle), s = std::sin(angle);
      right[2 * k] += x[j].x * c - x[j].y * s;
      right[2 * k + 1] += x[j].x * s + x[j].y * c;
      circular[2 * k] += double(x[j].x) * y[(k - j + n) % n].x;
      circular[2 * k + 1] += double(x[j].y) * y[(k - j + n) % n].x;
    }
  float2 *d_x = on_device(x), *d_y = on_device(y), *d_out = on_device(x);
  by_definition<<<(n + 63) / 64, 64>>>(d_x, d_out, n);
  expect("by definition", parts(on_host(d_out, n)), right, 1e-4);
  fast<n, false><<<1, 64>>>(d_x, d_out);
  expect("fast", parts(on_host(d_out, n)), right, 1e-4);
  fast<n, false><<<1, 128>>>(d_y, d_y);
  multiply<<<1, n>>>(d_out, d_y);
  fast<n, true><<<1, 128>>>(d_out, d_out);
  expect("convolution", parts(on_host(d_out, n)), circular, 1e-4);
  fast<64, false><<<n / 64, 32>>>(d_x, d_y);
  fast<64, true><<<n / 64, 32>>>(d_y, d_out);
  expect("there and back", parts(on_host(d_out, n)), parts(x), 1e-5);
}
