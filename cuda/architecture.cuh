// What differs between the architectures that kernels are compiled for.
#pragma once

namespace prenorm::cuda {

/// Threads that a multiprocessor holds, by __CUDA_ARCH__: "Maximum number of resident threads per
/// SM" in the CUDA Programming Guide, Technical Specifications per Compute Capability. Of 8.8 and
/// 10.3, which are not there, ptxas tells it (tests/cuda/test_cuda_resources.py).
///
/// Of other architectures, the least: launch bounds that ask for more threads than there are do not
/// compile, and those that ask for fewer only leave more registers.
constexpr int threads_per_multiprocessor(int architecture) {
  constexpr struct {
    int architecture, threads;
  } table[] = {{750, 1024}, {800, 2048},  {860, 1536},  {870, 1536},  {880, 1536},  {890, 1536},
               {900, 2048}, {1000, 2048}, {1030, 2048}, {1100, 1536}, {1200, 1536}, {1210, 1536}};
  for (const auto& row : table) {
    if (row.architecture == architecture) return row.threads;
  }
  return 1024;
}

/// Of the architecture that is compiled for. The host and the emulator ignore launch bounds.
#if defined(__CUDA_ARCH__)
constexpr int multiprocessor_threads = threads_per_multiprocessor(__CUDA_ARCH__);
#else
constexpr int multiprocessor_threads = 1024;
#endif

}  // namespace prenorm::cuda
