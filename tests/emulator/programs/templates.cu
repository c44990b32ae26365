// Templates, namespaces and macros round kernels: functors, policies, parameter packs, `if
// constexpr`, static members, lambdas as arguments of templates, launches by dependent names.
#include <type_traits>
#include "check.h"

namespace op {
struct Add {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
  template <class T>
  static constexpr T identity = T(0);
};
struct Max {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
  template <class T>
  static constexpr T identity = std::is_floating_point_v<T> ? T(-1e30) : T(-1000000);
};
}  // namespace op

namespace detail {
namespace v2 {
template <int THREADS, class Op, class T>
__global__ void reduce(const T* in, T* out, int n) {
  __shared__ T values[THREADS];
  const Op op{};
  T own = Op::template identity<T>;
  for (int i = threadIdx.x; i < n; i += THREADS) own = op(own, in[i]);
  values[threadIdx.x] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      values[threadIdx.x] = op(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  if constexpr (sizeof(T) == 4) {
    if (threadIdx.x == 0) *out = values[0];
  } else {
    if (threadIdx.x == THREADS - 1) *out = values[0];
  }
}
}  // namespace v2
}  // namespace detail

template <class Op, class T>
struct Reducer {
  static constexpr int threads = 64;
  static T run(const std::vector<T>& values) {
    T* out = on_device(std::vector<T>(1));
    detail::v2::reduce<threads, Op><<<1, threads>>>(on_device(values), out, int(values.size()));
    return on_host(out, 1)[0];
  }
};

// A functor, a function or a lambda for each element, with any number of further arguments.
template <class F, class... More>
__global__ void for_each(float* x, int n, F f, More... more) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = f(x[i], more...);
}

struct Affine {
  float slope;
  __device__ float operator()(float x, float offset) const { return slope * x + offset; }
};
struct Clamp {
  __device__ float operator()(float x, float low, float high) const {
    return fminf(fmaxf(x, low), high);
  }
};

template <unsigned N>
struct Power {
  static __host__ __device__ float of(float x) { return x * Power<N - 1>::of(x); }
};
template <>
struct Power<0> {
  static __host__ __device__ float of(float) { return 1; }
};
template <unsigned N>
__global__ void power(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = Power<N>::of(x[threadIdx.x]);
}

#define BLOCKS(n) (((n) + 31) / 32)
#define FOR_EACH(x, n, ...) for_each<<<BLOCKS(n), 32>>>(x, n, __VA_ARGS__)
#define DISPATCH(exponent, ...)                      \
  switch (exponent) {                                \
    case 2: power<2><<<1, 64>>>(__VA_ARGS__); break; \
    case 3: power<3><<<1, 64>>>(__VA_ARGS__); break; \
    default: std::exit(5);                           \
  }

int main() {
  const auto x = numbers(50);
  const std::vector<double> wide(x.begin(), x.end());
  double sum = 0, max = -1;
  std::vector<double> mapped, cubes;
  for (const float each : x) {
    sum += each;
    max = std::max<double>(max, each);
    mapped.push_back(std::min(std::max(2.0 * each + 0.25, -0.5), 1.0));
    cubes.push_back(mapped.back() * mapped.back() * mapped.back());
  }
  expect("float",
         std::vector<float>{Reducer<op::Add, float>::run(x), Reducer<op::Max, float>::run(x)},
         std::vector<double>{sum, max});
  expect("double", std::vector<double>{Reducer<op::Add, double>::run(wide)},
         std::vector<double>{sum}, 1e-14);
  expect("int", std::vector<int>{Reducer<op::Max, int>::run({-3, -9, -2, -7})},
         std::vector<int>{-2});
  float* d_x = on_device(x);
  FOR_EACH(d_x, 50, Affine{2.0f}, 0.25f);
  FOR_EACH(d_x, 50, Clamp(), -0.5f, 1.0f);
  expect("for each", on_host(d_x, 50), mapped);
  DISPATCH(3, d_x, 50)
  expect("dispatched", on_host(d_x, 50), cubes);
}
