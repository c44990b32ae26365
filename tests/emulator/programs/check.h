// What the programs in this folder share: the macro that everybody writes, data, and a comparison.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                   \
  do {                                                                                     \
    const cudaError_t status = (call);                                                     \
    if (status != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(3);                                                                        \
    }                                                                                      \
  } while (0)

/// Values between -1 and 1, the same each time.
inline std::vector<float> numbers(std::size_t size, unsigned seed = 1) {
  std::vector<float> values(size);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 8) - (1 << 23)) / (1 << 23);
  }
  return values;
}

/// A copy on the device.
template <class T>
T* on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, values.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

/// A copy on the host, once all kernels have ended.
template <class T>
std::vector<T> on_host(const T* memory, std::size_t size) {
  std::vector<T> values(size);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(values.data(), memory, size * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

/// Ends the program with exit code 4 where a value is further than the tolerance from what is
/// right.
template <class T, class U>
void expect(const char* what, const std::vector<T>& actual, const std::vector<U>& right,
            double tolerance = 1e-5) {
  if (actual.size() != right.size()) std::exit(4);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference =
        std::fabs(static_cast<double>(actual[i]) - static_cast<double>(right[i]));
    if (difference <= tolerance * (1 + std::fabs(static_cast<double>(right[i])))) continue;
    std::printf("%s: element %zu is %g, not %g\n", what, i, static_cast<double>(actual[i]),
                static_cast<double>(right[i]));
    std::exit(4);
  }
  std::printf("%s: %zu elements agree\n", what, actual.size());
}
