// The kernel that looks for values out of range, and how the host learns of them: device_error.cuh.
#include "device_error.cuh"

#include <map>
#include <memory>
#include <string>

namespace prenorm::cuda {
namespace {

constexpr WrongIndex nothing_wrong = ~0ull;

__global__ void check_range(const std::int64_t* values, std::int64_t count, std::int64_t limit,
                            WrongIndex* first) {
  const std::int64_t i = global_thread();
  if (i < count && (values[i] < 0 || values[i] >= limit)) {
    atomicMin(first, static_cast<WrongIndex>(i));
  }
}

#if defined(__CUDACC__)
bool is_captured(Stream stream) {
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(native(stream), &status), "asking whether the stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

/// Memory that host and device both see, one place per host thread: calls of a thread wait for the
/// kernels that write there, so they can share it. Allocated by the first call.
WrongIndex* place() {
  struct Free {
    void operator()(WrongIndex* memory) const { cudaFreeHost(memory); }
  };
  static thread_local const std::unique_ptr<WrongIndex, Free> memory([] {
    void* allocated = nullptr;
    check(
        cudaHostAlloc(&allocated, sizeof(WrongIndex), cudaHostAllocMapped | cudaHostAllocPortable),
        "allocating memory that host and device see");
    return static_cast<WrongIndex*>(allocated);
  }());
  return memory.get();
}

/// One event per device and host thread, made once: calls of a thread wait, so they can share it.
/// Never destroyed: when static objects are, CUDA may be gone.
cudaEvent_t event() {
  static thread_local std::map<int, cudaEvent_t> events;
  int device = 0;
  check(cudaGetDevice(&device), "asking which device is used");
  cudaEvent_t& event = events[device];
  if (event == nullptr) {
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  }
  return event;
}

/// wait() then waits for what the stream has now, and not for later work.
void* mark(Stream stream) {
  const cudaEvent_t mark = event();
  check(cudaEventRecord(mark, native(stream)), "marking the check of values");
  return mark;
}

cudaError_t wait(void* mark) { return cudaEventSynchronize(static_cast<cudaEvent_t>(mark)); }

std::int64_t read(const std::int64_t* value, Stream stream) {
  std::int64_t copy;
  check(cudaMemcpyAsync(&copy, value, sizeof copy, cudaMemcpyDeviceToHost, native(stream)),
        "reading the value that is wrong");
  check(cudaStreamSynchronize(native(stream)), "waiting for the stream");
  return copy;
}
#else
bool is_captured(Stream) { return false; }

/// Calls come one at a time. Not thread_local, which the checker takes for shared memory.
WrongIndex* place() {
  static WrongIndex memory;
  return &memory;
}

void* mark(Stream) { return nullptr; }
std::int64_t read(const std::int64_t* value, Stream) { return *value; }
#endif

}  // namespace

RangeCheck::RangeCheck(const Names& names, View<const std::int64_t> values, std::int64_t limit,
                       Stream stream)
    : names_(names), values_(values.data()), limit_(limit), stream_(stream) {
  if (values.size() == 0 || is_captured(stream)) return;
  WrongIndex* first = place();
  *first = nothing_wrong;
  launch({names.kernel, ceil_div(values.size(), 256), 256, stream}, check_range, values_,
         values.size(), limit, first);
  mark_ = mark(stream);
  first_ = first;
}

RangeCheck::~RangeCheck() {
#if defined(__CUDACC__)
  if (first_ != nullptr) wait(mark_);
#endif
}

void RangeCheck::throw_if_wrong() const {
  if (first_ == nullptr) return;
#if defined(__CUDACC__)
  check(wait(mark_), "waiting for the check of values");
#endif
  if (*first_ == nothing_wrong) return;
  throw std::invalid_argument(std::string(names_.value) + " " +
                              std::to_string(read(values_ + *first_, stream_)) + " is not in [0, " +
                              names_.limit + std::to_string(limit_) + ")");
}

}  // namespace prenorm::cuda
