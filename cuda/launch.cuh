// Launching a kernel: on the device or by the emulator, with errors that name the kernel.
#pragma once

#include "device.cuh"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <prenorm/prenorm.hpp>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace prenorm::cuda {

#if defined(__CUDACC__)
/// Throws std::runtime_error that says what failed and why.
inline void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears it
  throw std::runtime_error(what + ": " + cudaGetErrorString(status));
}
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "the device in use");
  check(cudaDeviceGetAttribute(&value, attribute, device), "an attribute of the device");
  return value;
}
inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }
#endif

/// How a kernel is launched.
struct Launch {
  const char* kernel;  // its name, for messages
  std::int64_t blocks;
  dim3 threads;  // of a block
  Stream stream;
  std::size_t shared_bytes = 0;  // of dynamic shared memory
  unsigned blocks_y = 1;
  unsigned cluster = 1;  // neighbouring blocks that form a cluster (cluster.cuh); divides `blocks`
  bool early = false;    // may begin before the kernel before it has ended (dependent_launch.cuh)
};

/// That launch, early where device and code can be. For kernels that wait themselves.
inline Launch early(Launch how) {
  how.early = true;
  return how;
}

/// Of the device in use. The emulator's are few, so that few rows fill them.
inline int multiprocessors() {
#if defined(__CUDACC__)
  return device_attribute(cudaDevAttrMultiProcessorCount);
#else
  return 2;
#endif
}

/// The bytes of shared memory that a block can have where `blocks` of them share a multiprocessor
/// of the device in use. The emulator has as many for each.
inline std::size_t shared_beside(int blocks) {
#if defined(__CUDACC__)
  const int all = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int most = all / blocks - device_attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  return static_cast<std::size_t>(
      std::min(most, device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)));
#else
  static_cast<void>(blocks);
  return emulator::most_shared_bytes;
#endif
}

/// Whether a kernel can run in clusters of blocks: on a device that has them, from compute
/// capability 9.0 on, by code that was compiled for one. Such a device also runs PTX of an earlier
/// architecture, in which cluster.cuh stops the kernel.
template <class... Parameters>
bool can_cluster(void (*kernel)(Parameters...)) {
#if defined(__CUDACC__)
  if (device_attribute(cudaDevAttrClusterLaunch) == 0) return false;
  cudaFuncAttributes code{};
  check(cudaFuncGetAttributes(&code, reinterpret_cast<const void*>(kernel)), "a kernel's code");
  return code.ptxVersion >= 90;  // 10 times the virtual architecture's number
#else
  static_cast<void>(kernel);
  return emulator::has_clusters;
#endif
}

#if defined(__CUDACC__)
/// Lets a kernel have that much dynamic shared memory on the current device. The driver is asked
/// once for each amount above those before, not for each launch.
inline void allow_shared(const Launch& how, const void* code) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, std::size_t> allowed;
  int device = 0;
  check(cudaGetDevice(&device), how.kernel);
  const std::lock_guard lock(mutex);
  std::size_t& most = allowed[{device, code}];
  if (how.shared_bytes <= most) return;
  check(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(how.shared_bytes)),
        how.kernel);
  most = how.shared_bytes;
}
#endif

/// How many clusters of such a launch run at the same time on the device in use; of blocks, where
/// they form none. The driver is asked once.
template <class... Parameters>
std::int64_t clusters_at_a_time(const Launch& how, void (*kernel)(Parameters...)) {
#if defined(__CUDACC__)
  static std::mutex mutex;
  static std::map<std::tuple<int, const void*, std::size_t, unsigned, unsigned>, int> known;
  const auto code = reinterpret_cast<const void*>(kernel);
  const unsigned threads = how.threads.x * how.threads.y * how.threads.z;
  allow_shared(how, code);
  int device = 0;
  check(cudaGetDevice(&device), how.kernel);
  const std::lock_guard lock(mutex);
  int& count = known[{device, code, how.shared_bytes, threads, how.cluster}];
  if (count > 0) return count;
  if (how.cluster == 1) {
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, code, static_cast<int>(threads),
                                                        how.shared_bytes),
          how.kernel);
    count *= multiprocessors();
  } else {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {how.cluster, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = how.cluster;
    config.blockDim = how.threads;
    config.dynamicSmemBytes = how.shared_bytes;
    config.attrs = &cluster;
    config.numAttrs = 1;
    check(cudaOccupancyMaxActiveClusters(&count, code, &config), how.kernel);
  }
  return count = std::max(count, 1);
#else
  static_cast<void>(kernel);
  return std::max(2 * multiprocessors() / static_cast<int>(how.cluster), 1);
#endif
}

#if defined(__CUDACC__)
/// Whether a kernel can begin early: from compute capability 9.0 on, by code that was compiled for
/// one. In other code it does not wait for the kernel before it. The driver is asked once.
inline bool can_be_early(const Launch& how, const void* code) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, bool> known;
  int device = 0;
  check(cudaGetDevice(&device), how.kernel);
  const std::lock_guard lock(mutex);
  const auto found = known.find({device, code});
  if (found != known.end()) return found->second;
  cudaFuncAttributes of_code{};
  check(cudaFuncGetAttributes(&of_code, code), how.kernel);
  const bool can =
      device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9 && of_code.ptxVersion >= 90;
  return known[{device, code}] = can;
}
#endif

/// Runs kernel(arguments...) on the stream. A grid without blocks is not an error: nothing is done.
///
/// Throws std::runtime_error if the launch fails; later errors on the device are reported by
/// whatever waits for the stream.
template <class... Parameters, class... Arguments>
void launch(const Launch& how, void (*kernel)(Parameters...), Arguments... arguments) {
  if (how.blocks == 0 || how.blocks_y == 0) return;
  if (how.blocks > 0x7fffffff) {
    throw std::runtime_error(std::string(how.kernel) + ": more than 2^31 - 1 blocks");
  }
  const dim3 grid(static_cast<unsigned>(how.blocks), how.blocks_y);
#if defined(__CUDACC__)
  std::tuple<Parameters...> values(arguments...);
  const auto code = reinterpret_cast<const void*>(kernel);
  // Up to 48 KiB need no leave, but those are of dynamic and static memory together.
  if (how.shared_bytes > 32 * 1024) allow_shared(how, code);
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {&value...};
        cudaLaunchAttribute attributes[2] = {};
        cudaLaunchConfig_t config{};
        config.attrs = attributes;
        if (how.cluster > 1) {
          cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
          cluster.id = cudaLaunchAttributeClusterDimension;
          cluster.val.clusterDim = {how.cluster, 1, 1};
        }
        if (how.early && can_be_early(how, code)) {
          cudaLaunchAttribute& early = attributes[config.numAttrs++];
          early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
          early.val.programmaticStreamSerializationAllowed = 1;
        }
        config.gridDim = grid;
        config.blockDim = how.threads;
        config.dynamicSmemBytes = how.shared_bytes;
        config.stream = native(how.stream);
        check(cudaLaunchKernelExC(&config, code, pointers), how.kernel);
      },
      values);
#else
  const auto thread = [&] { kernel(static_cast<Parameters>(arguments)...); };
  // By reference: the arguments stay on this stack, which is no memory of the kernel.
  emulator::run({how.kernel, grid, how.threads, how.shared_bytes, how.cluster}, std::cref(thread));
#endif
}

}  // namespace prenorm::cuda
