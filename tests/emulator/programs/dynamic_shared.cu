// Dynamic shared memory: arrays of several types carved out of one, the same name in templates of
// different types, a struct, and sizes that come with the launch.
#include <algorithm>
#include "check.h"

__global__ void carved(const double* in, double* out, int n) {
  extern __shared__ __align__(16) unsigned char memory[];
  double* values = reinterpret_cast<double*>(memory);
  int* counts = (int*)&values[n];
  unsigned short* order = (unsigned short*)(counts + n);
  const int t = threadIdx.x;
  values[t] = in[t];
  counts[t] = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i)
    if (values[i] < values[t] || (values[i] == values[t] && i < t)) ++counts[t];
  order[counts[t]] = t;
  __syncthreads();
  out[t] = values[order[t]];  // sorted by ranks
}

// A template cannot declare the same extern array with two types: this is how people get round it.
template <class T>
struct Shared {
  __device__ operator T*() {
    extern __shared__ int raw[];
    return (T*)raw;
  }
};
template <>
struct Shared<double> {
  __device__ operator double*() {
    extern __shared__ double raw_double[];
    return raw_double;
  }
};

template <class T>
__global__ void rotate(T* x, int by) {
  T* s = Shared<T>();
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[(threadIdx.x + by) % blockDim.x];
}

struct Particle {
  float3 position;
  float mass;
};
extern __shared__ Particle particles[];

__device__ float3 weighted(int n) {
  float3 sum = make_float3(0, 0, 0);
  for (int i = 0; i < n; ++i) {
    sum.x += particles[i].mass * particles[i].position.x;
    sum.y += particles[i].mass * particles[i].position.y;
    sum.z += particles[i].mass * particles[i].position.z;
  }
  return sum;
}

__global__ void centre(const float4* in, int n, float3* out) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    particles[i] = Particle{{in[i].x, in[i].y, in[i].z}, in[i].w};
  __syncthreads();
  if (threadIdx.x == 0) *out = weighted(n);
}

template <class T>
void check_rotation(const char* what) {
  std::vector<T> x(40), right(40);
  for (int i = 0; i < 40; ++i) {
    x[i] = T(i * 3);
    right[i] = T((i + 7) % 40 * 3);
  }
  T* d_x = on_device(x);
  rotate<<<1, 40, 40 * sizeof(T)>>>(d_x, 7);
  expect(what, on_host(d_x, 40), right, 0);
}

int main() {
  const int n = 50;
  const auto floats = numbers(4 * n);
  std::vector<double> x(floats.begin(), floats.begin() + n), sorted = x;
  std::sort(sorted.begin(), sorted.end());
  double* out = on_device(std::vector<double>(n));
  carved<<<1, n, n*(sizeof(double) + sizeof(int) + sizeof(unsigned short))>>>(on_device(x), out, n);
  expect("carved", on_host(out, n), sorted, 0);

  check_rotation<float>("float");
  check_rotation<double>("double");
  check_rotation<char>("char");
  check_rotation<long long>("long long");

  std::vector<float4> bodies(n);
  double sum[3] = {};
  for (int i = 0; i < n; ++i) {
    const float* f = &floats[4 * i];
    bodies[i] = make_float4(f[0], f[1], f[2], f[3]);
    for (int k = 0; k < 3; ++k) sum[k] += double(f[3]) * f[k];
  }
  float3* d_centre = on_device(std::vector<float3>(1));
  centre<<<1, 32, n * sizeof(Particle)>>>(on_device(bodies), n, d_centre);
  const float3 c = on_host(d_centre, 1)[0];
  expect("centre", std::vector<float>{c.x, c.y, c.z}, std::vector<double>(sum, sum + 3));
}
