// What the programs of puzzles.ipynb share: arrays that host and kernels see, and a comparison.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

/// Floats that the host and kernels see: an input of small whole numbers, whose sums are exact.
class Floats {
 public:
  explicit Floats(int size) : size_(size) {
    cudaMallocManaged(&data_, size * sizeof(float));
    for (int i = 0; i < size; ++i) data_[i] = 1 + i * 7 % 13;
  }
  operator float*() const { return data_; }
  int size() const { return size_; }

 private:
  float* data_;
  int size_;
};

/// The same, not a number yet.
inline Floats output(int size) {
  Floats y(size);
  for (int i = 0; i < size; ++i) y[i] = NAN;
  return y;
}

/// Waits for the kernel. Ends the program unless y[i] is wanted(i) for every i, to five digits.
template <class Wanted>
void expect(const Floats& y, Wanted wanted) {
  if (const cudaError_t error = cudaDeviceSynchronize()) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
  }
  for (int i = 0; i < y.size(); ++i) {
    const double right = wanted(i);
    if (std::abs(y[i] - right) <= 1e-5 * std::abs(right)) continue;
    std::fprintf(stderr, "element %d is %g, wanted %g\n", i, y[i], right);
    std::exit(1);
  }
}
