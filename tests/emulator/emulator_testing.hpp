// What the tests of the emulator share: launches of kernels that are written as for a device.
#pragma once

#include "device.cuh"
#include "launch.cuh"

#include <string>
#include <vector>

namespace prenorm::cuda {

constexpr unsigned all = 0xffffffffu;  // lanes

/// Launches blocks of threads with a grid along x.
template <class... Parameters, class... Arguments>
void run(std::int64_t blocks, dim3 threads, void (*kernel)(Parameters...), Arguments... arguments) {
  launch({"planted", blocks, threads, {}}, kernel, arguments...);
}

/// The message of the KernelError that a launch throws.
template <class... Arguments>
std::string error_of(Arguments... arguments) {
  try {
    run(arguments...);
  } catch (const emulator::KernelError& error) {
    return error.what();
  }
  return "no error";
}

/// The message of a KernelError in a thread of the first block.
inline std::string in_thread(int x, const std::string& words) {
  return "kernel planted, block (0, 0, 0), thread (" + std::to_string(x) + ", 0, 0): " + words;
}

/// Neighbours pass values on around a ring, one step a barrier.
__global__ inline void ring(int* out, int steps) {
  __shared__ int values[1024];
  const unsigned i = threadIdx.x;
  values[i] = static_cast<int>(i);
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    const int taken = values[(i + 1) % blockDim.x];
    __syncthreads();
    values[i] = taken;
  }
  out[blockIdx.x * blockDim.x + i] = values[i];
}

inline std::vector<int> ring_of(int threads, int steps) {
  std::vector<int> out(static_cast<std::size_t>(threads));
  run(1, static_cast<unsigned>(threads), ring, out.data(), steps);
  return out;
}

inline std::vector<int> ring_expected(int threads, int steps) {
  std::vector<int> out(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) out[static_cast<std::size_t>(i)] = (i + steps) % threads;
  return out;
}

}  // namespace prenorm::cuda
