// Errors that only a kernel can see, as the data is in device memory: a token id or a position that
// is out of range. The kernel records the first, the launcher throws.
#pragma once

#include "launch.cuh"

#include <map>
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

/// One per call, constructed before the kernels are launched.
///
/// While the stream is captured into a graph nothing can wait: first() is null, and a wrong value
/// shows only in the results.
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
  WrongValue(const WrongValue&) = delete;
  WrongValue& operator=(const WrongValue&) = delete;

#if defined(__CUDACC__)
  /// So that a call that throws before it has waited leaves no kernel running that writes to the
  /// place of the next call.
  ~WrongValue() {
    if (mark_ != nullptr) cudaEventSynchronize(mark_);
  }
#endif

  WrongIndex* first() const { return first_; }

  /// Called once the kernels that may record are launched: wait() then waits for them, and not for
  /// later work of the stream.
  void mark() {
#if defined(__CUDACC__)
    if (first_ == nullptr) return;
    mark_ = event();
    check(cudaEventRecord(mark_, native(stream_)), "marking the check of values");
#endif
  }

  /// Waits for the stream, or up to the mark. Which of the values a kernel recorded, if any.
  std::optional<std::int64_t> wait(const std::int64_t* values) const {
    if (first_ == nullptr) return std::nullopt;
    wait_for_kernels();
    if (*first_ == nothing_wrong) return std::nullopt;
    std::int64_t value;
#if defined(__CUDACC__)
    check(cudaMemcpyAsync(&value, values + *first_, sizeof value, cudaMemcpyDeviceToHost,
                          native(stream_)),
          "reading the value that is wrong");
    check(cudaStreamSynchronize(native(stream_)), "waiting for the stream");
#else
    value = values[*first_];
#endif
    return value;
  }

 private:
  void wait_for_kernels() const {
#if defined(__CUDACC__)
    check(mark_ != nullptr ? cudaEventSynchronize(mark_) : cudaStreamSynchronize(native(stream_)),
          "waiting for the check of values");
#endif
  }

#if defined(__CUDACC__)
  /// One event per device and host thread, made once: calls of a thread wait, so they can share it.
  /// Never destroyed: when static objects are, CUDA may be gone.
  static cudaEvent_t event() {
    static thread_local std::map<int, cudaEvent_t> events;
    int device = 0;
    check(cudaGetDevice(&device), "asking which device is used");
    cudaEvent_t& event = events[device];
    if (event == nullptr) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    }
    return event;
  }

  cudaEvent_t mark_ = nullptr;  // null: none was set
#endif

  /// Memory that host and device both see, one place per host thread: calls of a thread wait for
  /// the kernels that record, so they can share it. Allocated by the first call.
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
    // Calls come one at a time. Not thread_local, which the checker takes for shared memory.
    static WrongIndex memory;
    return &memory;
#endif
  }

  Stream stream_;
  WrongIndex* first_ = nullptr;
};

}  // namespace prenorm::cuda
