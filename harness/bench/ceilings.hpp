// What the machine can do at most, measured in the same run: the roof that every row is held to.
#pragma once

#include "bench/workload.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness::bench {

/// Bytes a second, read and written counted both, of copies between two arrays by that many
/// threads: the best of several.
double copy_bandwidth(std::size_t bytes_moved, unsigned threads);

/// How products are taken: the dtype's name, or "tf32" for float32 in that mode.
std::string arithmetic(DType dtype, const std::string& mode);

/// The roof of one place (the CPU, a device).
struct Ceilings {
  /// Of a copy far larger than any cache.
  double copy = 0;
  /// Of smaller copies, by bytes moved, which caches may help. A shape of that many bytes cannot
  /// be faster; empty for a device, whose caches are cold.
  std::map<double, double> cached_copies;
  /// Operations a second of the fastest large product, by arithmetic(); absent where none was
  /// measured.
  std::map<std::string, double> products;

  /// Measures the CPU's copies and keeps the best of what is known.
  void measure_cpu_copies(unsigned threads);

  /// The fastest that so many bytes were ever moved: the best copy of at least half that size.
  double fastest_copy(double bytes) const;
};

/// Which roof a workload lies under for a contestant of that mode, and how long it takes at least.
struct Roof {
  bool by_product = false;  // else by copying
  double seconds = 0;       // at the ceiling: share = seconds / time
};
Roof roof(const Workload& workload, const std::string& mode, const Ceilings& ceilings);

/// A time below this is no speed but an error of the measurement: the bytes at the fastest copy, or
/// the operations at the fastest product, less a quarter that ceilings may err by. On a device,
/// where a cache may keep the outputs, only what must be read counts.
double floor_seconds(const Workload& workload, const std::string& mode, const Ceilings& ceilings);

}  // namespace prenorm::harness::bench
