// The forms of a launch: in macros, by pointers, in templates, in conditions, with expressions as
// arguments; and errors of launches that a program reads.
#include "check.h"

#include <cstring>

__global__ void set(int* at, int value) { *at = value; }
template <class T>
__global__ void set_as(T* at, T value) {
  *at = value;
}
template <int N, bool negative>
__global__ void constant(int* at) {
  *at = negative ? -N : N;
}
__global__ void nothing() {}

#define LAUNCH(kernel, grid, ...) kernel<<<grid, 1>>>(__VA_ARGS__)
#define LAUNCH_IF(condition, kernel, ...) \
  if (condition) kernel<<<1, 1, 0, 0>>>(__VA_ARGS__)

using Setter = void (*)(int*, int);

struct Holder {
  int* at;
  template <class T>
  void set(T value) {
    ::set_as<T><<<1, 1>>>(at, value);
  }
};

template <class T>
void set_in_template(T* at, T value) {
  set_as<<<1, dim3(1)>>>(at, value);
}

static int next(int& counter) { return counter++; }

int main() {
  int* at;
  CUDA_CHECK(cudaMallocManaged(&at, sizeof(int)));
  int right = 0;
  const auto check = [&](const char* what) {
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    expect(what, std::vector<int>{*at}, std::vector<int>{right}, 0);
  };
  LAUNCH(set, 1, at, right = 1);
  check("in a macro");
  LAUNCH_IF(right == 1, set, at, 2);
  right = 2;
  check("in a condition of a macro");
  Setter setter = set;
  setter<<<1, 1>>>(at, right = 3);
  check("by a pointer");
  const Setter setters[] = {set, set_as<int>};
  setters[1]<<<1, 1>>>(at, right = 4);
  check("by a pointer in an array");
  (*setters[0])<<<1, 1>>>(at, right = 5);
  check("by a pointer's value");
  Holder{at}.set(right = 6);
  check("in a member");
  set_in_template(at, right = 7);
  check("in a template");
  constant<(8 >> 1) * 2, (3 > 4)><<<1, 1>>>(at);
  right = 8;
  check("with template arguments that are expressions");
  // clang-format off
  for (int i = 0; i < 3; ++i) set<<<1 << i >> i, 1>>>(at, 9 + i);
  // clang-format on
  right = 11;
  check("with shifts in the configuration");
  int counter = 12;
  set<<<1, 1>>>(at, next(counter));
  right = 12;
  check("with an argument of side effects");
  if (counter != 13) return 5;
  if (right == 12)
    nothing<<<1, 1>>>();
  else
    nothing<<<2, 1>>>();
  nothing<<<1, dim3(1, 2)>>>();
  nothing<<<dim3(2, 2, 2), dim3(4, 4, 4)>>>();
  check("without arguments");

  nothing<<<1, 1025>>>();
  if (cudaPeekAtLastError() != cudaErrorInvalidConfiguration) return 6;
  if (cudaGetLastError() != cudaErrorInvalidConfiguration) return 7;
  if (cudaGetLastError() != cudaSuccess) return 8;
  nothing<<<0, 1>>>();
  if (cudaGetLastError() != cudaErrorInvalidConfiguration) return 9;
#if defined(__PRENORM_EMULATOR__)
  // It says more than a device does.
  const char* why = cudaGetErrorString(cudaErrorInvalidConfiguration);
  if (std::strstr(why, "kernel nothing: a grid of (0, 1, 1) blocks") == nullptr) return 10;
#endif
}
