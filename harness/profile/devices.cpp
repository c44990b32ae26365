#include "profile/devices.hpp"

#include "base/error.hpp"
#include "base/files.hpp"

namespace prenorm::harness::profile {
namespace {

DeviceLimits parse_device(const Json& object) {
  DeviceLimits device;
  device.id = object.at("id").get<std::string>();
  device.name = object.at("name").get<std::string>();
  device.bytes_per_second = object.at("bytes_per_second").get<double>();
  device.float64 = object.at("float64_flops").get<double>();
  device.float32 = object.at("float32_flops").get<double>();
  device.tensor = object.at("tensor_flops").get<double>();
  device.architecture = object.at("architecture").get<std::string>();
  const Json& has = object.at("multiprocessor");
  device.multiprocessor = {.registers = has.at("registers").get<std::uint64_t>(),
                           .threads = has.at("threads").get<std::uint64_t>(),
                           .blocks = has.at("blocks").get<std::uint64_t>(),
                           .shared_bytes = has.at("shared_bytes").get<std::uint64_t>()};
  device.source = object.at("source").get<std::string>();
  const bool all_positive =
      device.bytes_per_second > 0 && device.float64 > 0 && device.float32 > 0 && device.tensor > 0;
  if (!all_positive) throw UsageError(device.id + ": rates must be positive");
  return device;
}

}  // namespace

std::vector<DeviceLimits> read_devices(const std::filesystem::path& path) try {
  const auto text = read_whole(path);
  if (!text) throw UsageError(path.string() + ": cannot be read");
  const Json root = parse_json(*text);
  std::vector<DeviceLimits> devices;
  for (const Json& object : root.at("devices")) {
    devices.push_back(parse_device(object));
  }
  return devices;
} catch (const Json::exception& error) {
  throw UsageError(path.string() + ": " + error.what());
}

Bound bound_of(double bytes, double flops, double tensor_flops, DType dtype,
               const DeviceLimits& device) {
  const double rate = dtype == DType::float64 ? device.float64 : device.float32;
  const double moving = bytes / device.bytes_per_second;
  // Both kinds of units may work at the same time.
  const double computing = std::max(flops / rate, tensor_flops / device.tensor);
  return {std::max(moving, computing), moving >= computing};
}

}  // namespace prenorm::harness::profile
