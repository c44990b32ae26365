// Errors that only a kernel can see, for its data lies on the device: a token id, a position that
// is out of range. The kernel records the first, the launcher throws.
#pragma once

#include "launch.cuh"

#include <memory>
#include <optional>

namespace prenorm::cuda {

/// The smallest index that a kernel found wrong; the order in which threads run does not matter.
using WrongIndex = unsigned long long;
constexpr WrongIndex nothing_wrong = ~0ull;

/// Called by a kernel; `first` is WrongValue::first().
__device__ inline void record_wrong(WrongIndex* first, std::int64_t index) {
  if (first != nullptr) atomicMin(first, static_cast<WrongIndex>(index));
}

/// One a call, made before the kernels are launched.
///
/// While the stream is captured into a graph nobody can wait: first() is null, and a wrong value
/// shows in the results alone.
class WrongValue {
 public:
  explicit WrongValue(Stream stream) : stream_(stream) {
#if defined(__CUDACC__)
    cudaStreamCaptureStatus status{};
    check(cudaStreamIsCapturing(native(stream), &status), "asking whether the stream is captured");
    if (status != cudaStreamCaptureStatusNone) return;
#endif
    first_ = place();
    *first_ = nothing_wrong;
  }

  WrongIndex* first() const { return first_; }

  /// Waits for the stream. Which of the values a kernel recorded, if any.
  std::optional<std::int64_t> wait(const std::int64_t* values) const {
    if (first_ == nullptr) return std::nullopt;
    synchronize();
    if (*first_ == nothing_wrong) return std::nullopt;
    std::int64_t value;
#if defined(__CUDACC__)
    check(cudaMemcpyAsync(&value, values + *first_, sizeof value, cudaMemcpyDeviceToHost,
                          native(stream_)),
          "reading the value that is wrong");
    synchronize();
#else
    value = values[*first_];
#endif
    return value;
  }

 private:
  void synchronize() const {
#if defined(__CUDACC__)
    check(cudaStreamSynchronize(native(stream_)), "waiting for the stream");
#endif
  }

  /// Memory that host and device both see, of this thread of the host: its calls wait for the
  /// stream, so one place serves them all. Allocated by the first.
  static WrongIndex* place() {
#if defined(__CUDACC__)
    struct Free {
      void operator()(WrongIndex* memory) const { cudaFreeHost(memory); }
    };
    static thread_local const std::unique_ptr<WrongIndex, Free> memory([] {
      void* allocated = nullptr;
      check(cudaHostAlloc(&allocated, sizeof(WrongIndex),
                          cudaHostAllocMapped | cudaHostAllocPortable),
            "allocating memory that host and device see");
      return static_cast<WrongIndex*>(allocated);
    }());
    return memory.get();
#else
    // Calls come one at a time. Not thread_local: the checker takes what is that for shared memory.
    static WrongIndex memory;
    return &memory;
#endif
  }

  Stream stream_;
  WrongIndex* first_ = nullptr;
};

}  // namespace prenorm::cuda
