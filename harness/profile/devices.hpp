// What devices can do at most, by their makers' figures, and the bound on time that follows.
#pragma once

#include "fixture/tensor.hpp"
#include "profile/counts.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace prenorm::harness::profile {

/// What each multiprocessor has for the blocks that run on it at a time.
struct Multiprocessor {
  std::uint64_t registers = 0, threads = 0, blocks = 0, shared_bytes = 0;
};

/// As devices.json has it.
struct DeviceLimits {
  std::string id;    // "h100": what --device takes
  std::string name;  // "NVIDIA H100 SXM 80 GB"
  double bytes_per_second = 0;
  double float64 = 0, float32 = 0;  // operations per second without tensor cores
  double tensor = 0;                // of products of 16-bit types, dense, sums in float32
  std::string architecture;         // "sm_90"
  Multiprocessor multiprocessor;
  std::string source;
};

/// Reads the file. Throws UsageError.
std::vector<DeviceLimits> read_devices(const std::filesystem::path& path);

/// The time that the work takes at least: its bytes at the device's bandwidth, or its operations at
/// the device's rate, whichever is longer. Nothing else is in it: it is no estimate of a time.
struct Bound {
  double seconds = 0;
  bool by_bytes = true;  // else by operations
};

/// `flops` without tensor cores in the arithmetic of `dtype`; `tensor_flops` by them.
Bound bound_of(double bytes, double flops, double tensor_flops, DType dtype,
               const DeviceLimits& device);

}  // namespace prenorm::harness::profile
