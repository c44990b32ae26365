// Names that the host has too, where a kernel means its own: locals, parameters, captures, members,
// overloads, and what is not evaluated.
#include "check.h"

#include <cmath>
#include <string>
#include <type_traits>

// The host's.
int n = 100, total = 3, tile = 7, i, t, key, first = 1, second = 2, inner, red, whole, real, bits;
float alpha = 2, factor = 9, sum = 8, result, *data, mean, rstd;
float (*callback)(float);
float rows[4][4];
using Index = int;
std::string name = "none";
double host_only(int) { return 0; }
float compute(int x) { return x + 100.0f; }
float apply(float x) { return x + 100; }
int twice(int x) { return 20 * x; }
void log_line(const char*) {}
namespace util {
float max(float, float) { return -1; }
float fabs(float) { return -1; }
int min(int) { return -1; }
int size = 50;
}  // namespace util

// The device's, or both sides'.
constexpr int width = 4;
const float small = 0.5f;
enum Mode { plain, bold };
__device__ float twice(float x) { return 2 * x; }
namespace device {
__device__ int size = 5;
__device__ float compute(float x) { return x + 1; }
}  // namespace device
using device::compute;
template <int N>
__device__ int power(int x) {
  if constexpr (N == 0) {
    return 1;
  } else {
    return x * power<N - 1>(x);
  }
}
template <class... Ts>
__device__ int added(Ts... total) {
  return (total + ... + 0);
}
__device__ int bounded(int x, int total = 7) { return x < total ? x : total; }
struct Stats {
  float mean, rstd;
  static constexpr int tile = 2;
  __host__ __device__ Stats(float m, float r) : mean(m), rstd(r) {}
  __device__ float apply(float x) const { return (x - mean) * rstd; }
  __device__ float twice_applied(float x) const;
  friend __device__ float sum_of(const Stats& s) { return s.mean + s.rstd; }
};
__device__ float Stats::twice_applied(float x) const { return apply(apply(x)) + mean * 0; }
template <class T>
struct List {
  T first;
  __device__ T value() const { return first; }
};
static __host__ __device__ inline int traced(int x) {
#ifndef __CUDA_ARCH__
  log_line("on the host");
  total += x;
#endif
  return x;
}

__global__ void declared(float* data, int n, float alpha) {
  float result = alpha, factor = 2, *real = data;
  decltype(result) sum = 1;
  std::conditional_t<true, float, int> mean(3);
  const auto& rstd = mean;
  int(&whole)[2] = reinterpret_cast<int(&)[2]>(data[2]);
  float (*callback)(float) = compute;
  typedef float Index;
  enum { red = 3 };
  struct {
    unsigned bits : 3;
  } key{2};
  whole[0] = n;
  for (int i = 0, t = 1; i < t; ++i) sum += i;
  if (int t = n; t > 0) sum += t;
  int tile = n > 3 ? 1 : 2, total = 0;
  real[0] = result * factor + sum + callback(rstd) + Index(red) + key.bits + tile + total;
}

__global__ void captured(float* x, int n) {
  auto apply = [factor = 3.0f](float v) { return v * factor; };
  auto outer = [&](int key, float sum) {
    auto inner = [&, total = key + 1]() mutable { return ++total; };
    return sum + inner();
  };
  auto rest = [](auto first, auto... second) { return first + (0 + ... + second); };
  x[0] = apply(1) + outer(n, 2) + rest(1.0f, 2.0f);
}

struct Pair {
  int first, second;
};
template <int total, class data>
__global__ void of_templates(data* x, Pair pair) {
  auto [first, second] = pair;
  for (const auto& [i, t] : {Pair{1, 2}}) x[0] += i + t;
  x[0] += first * second + total + power<3>(2) + added(1, 2, 3) + bounded(9);
}

__global__ void looked_up(float* x) {
  Stats s(1, 2);
  List<int> list{4};
  x[0] = compute(1.0f) + twice(1.0f) + device::size + Stats::tile + s.mean + width + small + bold;
  x[1] = max(1.0f, 2.0f) + min(3, 4) + fabs(-5.0f) + s.twice_applied(2) + sum_of(s) + list.value();
  x[2] = sizeof total + sizeof(rows) + alignof(decltype(total)) + noexcept(host_only(n));
  x[3] = decltype(host_only(1))(1.5) + traced(2);
}

int main() {
  float* x = on_device(std::vector<float>{0, 0, 0, 0});
  declared<<<1, 1>>>(x, 5, 1.5f);
  expect("declared", on_host(x, 1), std::vector<float>{19});
  captured<<<1, 1>>>(x, 5);
  expect("captured", on_host(x, 1), std::vector<float>{15});
  of_templates<4><<<1, 1>>>(x, Pair{2, 3});
  expect("of_templates", on_host(x, 1), std::vector<float>{49});
  looked_up<<<1, 1>>>(x);
  expect("looked_up", on_host(x, 4), std::vector<float>{17.5, 19, 72, 3.5});
  CUDA_CHECK(cudaFree(x));
  puts("all agree");
}
