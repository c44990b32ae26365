// What the tests of the counter share: tensors at whole lines, and one launch's counts.
#pragma once

#include "device.cuh"
#include "launch.cuh"
#include "mma.cuh"
#include "profile/counts.hpp"

#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

extern "C" const char* prenorm_counts();

namespace prenorm::counting {

/// Elements aligned to 256 bytes, as tensors are; zeros.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count)
      : data_(static_cast<T*>(std::aligned_alloc(256, (count * sizeof(T) + 511) / 256 * 256))) {
    std::fill_n(data_.get(), count, T());
  }
  T* get() const { return data_.get(); }
  operator T*() const { return get(); }
  T& operator[](int i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
};

/// Loads or stores of global memory.
struct Global {
  std::uint64_t requests = 0, sectors = 0, lines = 0, ideal_sectors = 0;
  bool operator==(const Global&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Global& g) {
  return out << g.requests << " requests, " << g.sectors << " sectors, " << g.lines << " lines, "
             << g.ideal_sectors << " would do";
}

struct Counts {
  Global load, store;
  std::uint64_t load_lanes = 0;
  std::uint64_t shared_requests = 0, wavefronts = 0;
  std::uint64_t atomic_requests = 0, at_one_address = 0;
  std::uint64_t launches = 0, barriers = 0, shuffles = 0, products = 0;
  std::uint64_t sectors_read = 0, sectors_written = 0;
};

inline std::string& last_text() {
  static std::string text;
  return text;
}

/// Of all launches of `work`, which are of one kernel and shape.
inline Counts counts_of_all(auto work) {
  using harness::profile::Space;
  prenorm_counts();
  work();
  last_text() = prenorm_counts();
  const auto kernels = harness::profile::parse_counts(last_text());
  const auto& kernel = kernels.at(0);
  const auto global = [](const harness::profile::Traffic& t) {
    return Global{t.requests, t.sectors, t.lines, t.ideal_sectors};
  };
  Counts counts;
  counts.load = global(kernel.loads(Space::global));
  counts.store = global(kernel.stores(Space::global));
  counts.load_lanes = kernel.loads(Space::global).lanes;
  counts.shared_requests = kernel.shared().requests;
  counts.wavefronts = kernel.shared().wavefronts;
  counts.atomic_requests = kernel.atomics(Space::global).requests;
  counts.at_one_address = kernel.atomics(Space::global).at_one_address;
  counts.launches = kernel.launches;
  counts.barriers = kernel.barriers;
  counts.shuffles = kernel.shuffles();
  counts.products = kernel.operations_named("mma.sync");
  counts.sectors_read = kernel.sectors_read;
  counts.sectors_written = kernel.sectors_written;
  return counts;
}

struct Shape {
  std::int64_t blocks;
  unsigned threads;
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
Counts counts_of(Shape shape, void (*kernel)(Parameters...), const Arguments&... arguments) {
  return counts_of_all([&] {
    cuda::launch({"counted", shape.blocks, shape.threads, {}, shape.shared_bytes}, kernel,
                 static_cast<Parameters>(arguments)...);
  });
}

template <class... Parameters, class... Arguments>
Counts counts_of(std::int64_t blocks, unsigned threads, void (*kernel)(Parameters...),
                 const Arguments&... arguments) {
  return counts_of(Shape{blocks, threads}, kernel, arguments...);
}

}  // namespace prenorm::counting
