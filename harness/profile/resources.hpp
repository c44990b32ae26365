// Registers and shared memory that nvcc has given kernels, and the occupancy that follows.
#pragma once

#include "profile/devices.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace prenorm::harness::profile {

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
