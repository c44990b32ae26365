// What ncu (Nsight Compute) has written of a device's counters, and the kernels that it is of.
#pragma once

#include "profile/counts.hpp"

#include <string>
#include <vector>

namespace prenorm::harness::profile {

/// One launch on a device.
struct DeviceLaunch {
  std::string function;  // function_name of the kernel
  std::array<std::uint64_t, 3> grid{}, block{};
  DeviceCounters counters;
};

/// The counters that are read, as ncu calls them.
std::vector<std::string> counter_names();

/// Reads what ncu writes with --csv --page raw --print-units base --print-kernel-base mangled.
/// Throws std::invalid_argument for what is no such text.
std::vector<DeviceLaunch> parse_launches(const std::string& text);

/// Gives kernels what the device counted of them: launches of the same function with the same grid
/// and block; or with another grid, where the device had one only, and here is one only. (A kernel
/// may be launched with as many blocks as fit the device.)
void add_counters(std::vector<KernelCounts>& kernels, const std::vector<DeviceLaunch>& launches);

}  // namespace prenorm::harness::profile
