// The level 2 cache of a CUDA device, before a timed call: none of the call's data is in it, and no
// line of it has to be written to memory during the call.
#pragma once

#include "worker/cuda_driver.hpp"

#include <optional>

namespace prenorm::harness::cuda {

class Cache {
 public:
  /// `bytes` of level 2 cache. Nothing is allocated before the first flush.
  explicit Cache(std::size_t bytes) : bytes_(bytes) {}

  /// Enqueues the flush: what may persist is reset, four times the cache's size is written, and as
  /// much of other memory, which is clean, is read. The context must be current.
  ///
  /// Throws OutOfDeviceMemory or DeviceFailed.
  void flush(Stream stream);

 private:
  void allocate(Stream stream);

  std::size_t bytes_;
  std::optional<Allocation> written_, clean_;
  Function read_all_ = nullptr;  // null: the driver cannot translate it
};

}  // namespace prenorm::harness::cuda
