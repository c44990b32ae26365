#include "profile/resources.hpp"

#include "base/text.hpp"
#include "base/files.hpp"
#include "base/paths.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <sstream>

namespace prenorm::harness::profile {
namespace {

// How a multiprocessor shares out what it has, of compute capability 8.0 to 9.0 (CUDA C++
// Programming Guide, and the limits that cuda_occupancy.h of the toolkit computes with).
constexpr std::uint64_t warp_size = 32;
constexpr std::uint64_t register_step = 256;            // for a warp
constexpr std::uint64_t parts = 4;                      // each has a quarter of the registers
constexpr std::uint64_t shared_step = 128;              // for a block
constexpr std::uint64_t shared_bytes_of_system = 1024;  // in each block

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

/// The symbol's meaning; as it is what is no symbol.
std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : symbol;
}

/// The number that stands before `word`; 0 if it is not there.
std::uint64_t number_before(std::string_view line, std::string_view word) {
  const std::size_t end = line.find(word);
  if (end == line.npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::uint64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

/// What stands between the first two apostrophes after `word`.
std::string quoted_after(std::string_view line, std::string_view word) {
  const std::size_t found = line.find(word);
  if (found == line.npos) return "";
  const std::size_t begin = line.find('\'', found), end = line.find('\'', begin + 1);
  return end == line.npos ? "" : std::string(line.substr(begin + 1, end - begin - 1));
}

DeviceLimits parse_device(const Json& object) {
  auto device = object.get<DeviceLimits>();
  const bool all_positive = device.bytes_per_second > 0 && device.float64_flops > 0 &&
                            device.float32_flops > 0 && device.tensor_flops > 0;
  if (!all_positive) throw UsageError(device.id + ": rates must be positive");
  return device;
}

}  // namespace

std::string function_name(const std::string& symbol) {
  std::string text = demangled(symbol);
  for (const std::string_view scope : {"(anonymous namespace)::", "prenorm::cuda::", "prenorm::"}) {
    for (std::size_t at = 0; (at = text.find(scope, at)) != text.npos;)
      text.erase(at, scope.size());
  }
  // Outside of template arguments, up to the parameters; a result stands before it.
  std::size_t begin = 0, end = text.size();
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    depth += (c == '<') - (c == '>');
    if (depth != 0) continue;
    if (c == ' ') begin = i + 1;
    if (c == '(') {
      end = i;
      break;
    }
  }
  return text.substr(begin, end - begin);
}

Resources parse_resources(const std::string& report, std::string_view architecture) {
  Resources resources;
  KernelResources* kernel = nullptr;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string symbol = quoted_after(line, "Compiling entry function");
        !symbol.empty()) {
      const std::string compiled_for = quoted_after(line, " for ");
      const bool wanted =
          compiled_for == architecture || compiled_for == std::string(architecture) + "a";
      kernel = wanted ? &resources[function_name(symbol)] : nullptr;
    } else if (kernel == nullptr) {
      continue;
    } else if (line.find("bytes stack frame") != line.npos) {
      // A function that was not inlined counts for the kernel before it.
      kernel->stack_bytes =
          std::max(kernel->stack_bytes, number_before(line, " bytes stack frame"));
      kernel->spilled_bytes =
          std::max({kernel->spilled_bytes, number_before(line, " bytes spill stores"),
                    number_before(line, " bytes spill loads")});
    } else if (line.find(" registers") != line.npos) {
      kernel->registers = number_before(line, " registers");
      kernel->shared_bytes = number_before(line, " bytes smem");
    }
  }
  std::erase_if(resources, [](const auto& each) { return each.second.registers == 0; });
  return resources;
}

Resources built_resources(std::string_view architecture) {
  const auto report = read_whole(home() / "lib/prenorm/cuda.resources");
  return report ? parse_resources(*report, architecture) : Resources{};
}

void add_resources(std::vector<KernelCounts>& kernels, const Resources& resources) {
  for (KernelCounts& kernel : kernels) {
    for (const std::string& symbol : kernel.functions) {
      const auto found = resources.find(function_name(symbol));
      if (found != resources.end()) kernel.resources = found->second;
    }
  }
}

Occupancy occupancy_of(const KernelCounts& kernel, const DeviceLimits& device) {
  const Multiprocessor& has = device.multiprocessor;
  const KernelResources& needs = *kernel.resources;
  const std::uint64_t threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  const std::uint64_t warps = round_up(threads, warp_size) / warp_size;
  const std::uint64_t registers = round_up(needs.registers * warp_size, register_step);
  const std::uint64_t shared =
      round_up(needs.shared_bytes + kernel.shared_bytes + shared_bytes_of_system, shared_step);
  const std::pair<std::uint64_t, std::string_view> limits[] = {
      {has.threads / warp_size / warps, "threads"},
      {has.blocks, "blocks"},
      {has.registers / parts / registers * parts / warps, "registers"},
      {has.shared_bytes / shared, "shared memory"},
  };
  const auto [blocks, limit] =
      *std::ranges::min_element(limits, {}, [](auto& l) { return l.first; });
  return {blocks,
          static_cast<double>(blocks * warps * warp_size) / static_cast<double>(has.threads),
          limit};
}

std::vector<DeviceLimits> read_devices(const fs::path& path) try {
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
  const double rate = dtype == DType::float64 ? device.float64_flops : device.float32_flops;
  const double moving = bytes / device.bytes_per_second;
  // Both kinds of units may work at the same time.
  const double computing = std::max(flops / rate, tensor_flops / device.tensor_flops);
  return {std::max(moving, computing), moving >= computing};
}

}  // namespace prenorm::harness::profile
