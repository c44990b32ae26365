// The kernel that looks for values out of range, and how the host learns of them: device_error.cuh.
#include "device_error.cuh"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace prenorm::cuda {
namespace {

/// The smallest index of a value that is out of range; the order in which threads run does not
/// matter.
using WrongIndex = unsigned long long;
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

/// Memory that host and device both see, where the kernel writes, and an event that comes after it.
struct Place {
  int device = 0;
  WrongIndex* first = nullptr;
  cudaEvent_t done = nullptr;
};

/// Places that no check uses. Those of static storage would be freed when CUDA may be gone; there
/// are only as many as checks have been alive at the same time.
class Places {
 public:
  /// One on the device in use.
  Place take() {
    Place place;
    check(cudaGetDevice(&place.device), "asking which device is used");
    const std::lock_guard lock(mutex_);
    const auto same = [&](const Place& free) { return free.device == place.device; };
    const auto found = std::find_if(free_.begin(), free_.end(), same);
    if (found == free_.end()) return make(place);
    place = *found;
    free_.erase(found);
    return place;
  }
  void give_back(const Place& place) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(place);
  }

 private:
  Place make(Place place) {
    free_.reserve(++made_);  // so that give_back() cannot fail
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(WrongIndex), cudaHostAllocMapped | cudaHostAllocPortable),
          "allocating memory that host and device see");
    place.first = static_cast<WrongIndex*>(memory);
    const cudaError_t status = cudaEventCreateWithFlags(&place.done, cudaEventDisableTiming);
    if (status != cudaSuccess) cudaFreeHost(memory);
    check(status, "making an event");
    return place;
  }

  std::mutex mutex_;
  std::vector<Place> free_;
  std::size_t made_ = 0;
};

Places& places() {
  static Places& all = *new Places;
  return all;
}

std::int64_t read(const std::int64_t* value, Stream stream) {
  std::int64_t copy;
  check(cudaMemcpyAsync(&copy, value, sizeof copy, cudaMemcpyDeviceToHost, native(stream)),
        "reading the value that is wrong");
  check(cudaStreamSynchronize(native(stream)), "waiting for the stream");
  return copy;
}
#else
bool is_captured(Stream) { return false; }

std::int64_t read(const std::int64_t* value, Stream) { return *value; }
#endif

}  // namespace

#if defined(__CUDACC__)
/// What the kernel tells the host. Once it is destroyed no kernel writes there.
struct RangeCheck::Report {
  explicit Report(Stream on) : place(places().take()), stream(on) { *place.first = nothing_wrong; }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() {
    marked ? cudaEventSynchronize(place.done) : cudaStreamSynchronize(native(stream));
    places().give_back(place);
  }

  WrongIndex* first() { return place.first; }
  /// wait() then waits for what the stream has now, and not for later work.
  void mark() {
    check(cudaEventRecord(place.done, native(stream)), "marking the check of values");
    marked = true;
  }
  void wait() const { check(cudaEventSynchronize(place.done), "waiting for the check of values"); }

  Place place;
  Stream stream;
  bool marked = false;
};
#else
struct RangeCheck::Report {
  explicit Report(Stream) {}
  WrongIndex* first() { return &index; }
  void mark() {}
  void wait() const {}

  WrongIndex index = nothing_wrong;
};
#endif

RangeCheck::RangeCheck(const Names& names, View<const std::int64_t> values, std::int64_t limit,
                       Stream stream)
    : names_(names), values_(values.data()), limit_(limit), stream_(stream) {
  if (values.size() == 0 || is_captured(stream)) return;
  auto report = std::make_unique<Report>(stream);
  launch({names.kernel, ceil_div(values.size(), 256), 256, stream}, check_range, values_,
         values.size(), limit, report->first());
  report->mark();
  report_ = std::move(report);
}

RangeCheck::~RangeCheck() = default;

void RangeCheck::throw_if_wrong() const {
  if (!report_) return;
  report_->wait();
  const WrongIndex first = *report_->first();
  if (first == nothing_wrong) return;
  throw std::invalid_argument(std::string(names_.value) + " " +
                              std::to_string(read(values_ + first, stream_)) + " is not in [0, " +
                              names_.limit + std::to_string(limit_) + ")");
}

}  // namespace prenorm::cuda
