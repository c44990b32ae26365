// What devices can do and have at most, and what nvcc has given kernels of it: bounds on time,
// occupancy.
#pragma once

#include "fixture/tensor.hpp"
#include "profile/counts.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness::profile {

/// What each multiprocessor has for the blocks that run on it at a time.
struct Multiprocessor {
  std::uint64_t registers = 0, threads = 0, blocks = 0, shared_bytes = 0;
};
PRENORM_JSON(Multiprocessor, registers, threads, blocks, shared_bytes)

/// As devices.json has it.
struct DeviceLimits {
  std::string id;    // "h100": what --device takes
  std::string name;  // "NVIDIA H100 SXM 80 GB"
  double bytes_per_second = 0;
  double float64_flops = 0, float32_flops = 0;  // per second, without tensor cores
  double tensor_flops = 0;   // of products of 16-bit types, dense, sums in float32
  std::string architecture;  // "sm_90"
  Multiprocessor multiprocessor;
  std::string source;
};
PRENORM_JSON(DeviceLimits, id, name, bytes_per_second, float64_flops, float32_flops, tensor_flops,
             architecture, multiprocessor, source)

/// Reads the file. Throws UsageError.
std::vector<DeviceLimits> read_devices(const fs::path& path);

/// The time that the work takes at least: its bytes at the device's bandwidth, or its operations at
/// the device's rate, whichever is longer. Nothing else is in it: it is no estimate of a time.
struct Bound {
  double seconds = 0;
  bool by_bytes = true;  // else by operations
};

/// `flops` without tensor cores in the arithmetic of `dtype`; `tensor_flops` by them.
Bound bound_of(double bytes, double flops, double tensor_flops, DType dtype,
               const DeviceLimits& device);

/// A function's name without namespaces and parameters: "rmsnorm_v1<float>". Its symbol is another
/// in code for a device than in the emulator's; debug information also has the name itself.
std::string function_name(const std::string& symbol);

/// By the kernels' function_name.
using Resources = std::map<std::string, KernelResources>;

/// What `ptxas -v` has printed of kernels for an architecture ("sm_90", also "sm_90a").
Resources parse_resources(const std::string& report, std::string_view architecture);

/// What nvcc reported when the device's solutions were built. Empty where they were not, or for
/// other architectures.
Resources built_resources(std::string_view architecture);

/// Gives kernels that are among the resources theirs.
void add_resources(std::vector<KernelCounts>& kernels, const Resources& resources);

/// How much of a multiprocessor the blocks of a launch can fill.
struct Occupancy {
  std::uint64_t blocks = 0;  // at a time; 0: not even one fits
  double share = 0;          // of the threads that can be there at most
  std::string_view limit;    // what leaves no room for one more: "registers", "shared memory", ...
};

/// `kernel` must have resources.
Occupancy occupancy_of(const KernelCounts& kernel, const DeviceLimits& device);

}  // namespace prenorm::harness::profile
