// What the machine can do at most.
#include "bench/measure.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>

namespace prenorm::harness::bench {
namespace {

constexpr std::size_t large_copy = 512u << 20;  // bytes moved: far beyond the caches of a CPU
constexpr double margin = 1.25;                 // ceilings are measured beside noise, too

/// Seconds from the moment when all threads stand ready until the last has copied its part.
double time_one_copy(std::byte* to, const std::byte* from, std::size_t bytes, unsigned threads) {
  std::barrier ready(static_cast<std::ptrdiff_t>(threads) + 1);
  std::barrier done(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    const std::size_t begin = bytes / threads * i;
    const std::size_t end = i + 1 == threads ? bytes : bytes / threads * (i + 1);
    workers.emplace_back([=, &ready, &done] {
      ready.arrive_and_wait();
      std::memcpy(to + begin, from + begin, end - begin);
      done.arrive_and_wait();
    });
  }
  ready.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  done.arrive_and_wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string arithmetic(DType dtype, const std::string& mode) {
  return mode == "tf32" && dtype == DType::float32 ? mode : std::string(name(dtype));
}

double copy_bandwidth(std::size_t bytes_moved, unsigned threads) {
  const std::size_t bytes = bytes_moved / 2;
  std::vector<std::byte> from(bytes), to(bytes);  // zeros are written: all pages are there
  for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  double best = 0;
  for (int attempt = 0; attempt < 7; ++attempt) {
    const double seconds = time_one_copy(to.data(), from.data(), bytes, threads);
    best = std::max(best, 2 * static_cast<double>(bytes) / seconds);
  }
  return best;
}

void Ceilings::measure_cpu_copies(unsigned threads) {
  copy = std::max(copy, copy_bandwidth(large_copy, threads));
  // Below 1 MiB, starting threads would be timed.
  for (std::size_t bytes = 1u << 20; bytes < large_copy; bytes *= 4) {
    double& best = cached_copies[static_cast<double>(bytes)];
    best = std::max(best, copy_bandwidth(bytes, threads));
  }
}

double Ceilings::fastest_copy(double bytes) const {
  double best = copy;
  for (const auto& [size, bandwidth] : cached_copies) {
    if (size >= bytes / 2 || size == cached_copies.rbegin()->first) {
      best = std::max(best, bandwidth);
    }
  }
  return best;
}

Roof roof(const Workload& workload, const std::string& mode, const Ceilings& ceilings) {
  Roof roof;
  if (ceilings.copy > 0) roof.seconds = workload.bytes / ceilings.copy;
  const auto product = ceilings.products.find(arithmetic(workload.dtype, mode));
  if (product != ceilings.products.end() && workload.flops / product->second > roof.seconds) {
    roof = {true, workload.flops / product->second};
  }
  return roof;
}

double floor_seconds(const Workload& workload, const std::string& mode, const Ceilings& ceilings) {
  const bool has_cold_caches = ceilings.cached_copies.empty();
  const double bytes =
      has_cold_caches ? std::min(workload.bytes, workload.bytes_read) : workload.bytes;
  double seconds = 0;
  if (ceilings.copy > 0) seconds = bytes / ceilings.fastest_copy(workload.bytes);
  const auto product = ceilings.products.find(arithmetic(workload.dtype, mode));
  if (product != ceilings.products.end()) {
    seconds = std::max(seconds, workload.flops / product->second);
  }
  return seconds / margin;
}

}  // namespace prenorm::harness::bench
