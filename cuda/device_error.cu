// How the host learns of values that are out of range: device_error.cuh.
#include "device_error.cuh"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace prenorm::cuda {
namespace {

/// A warp has the least share in flight at once, so it loses no more time than one access to memory
/// takes.
constexpr std::int64_t least_share = 32 * RangeReport::in_flight, most_shares = 1024;

#if defined(__CUDACC__)
bool is_captured(Stream stream) {
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(native(stream), &status), "asking whether the stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

/// Memory that host and device both see, where a kernel writes: [most_shares].
struct Place {
  int device = 0;
  WrongIndex* first = nullptr;
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
    check(cudaHostAlloc(&memory, most_shares * sizeof(WrongIndex),
                        cudaHostAllocMapped | cudaHostAllocPortable),
          "allocating memory that host and device see");
    place.first = static_cast<WrongIndex*>(memory);
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

std::vector<std::int64_t> read(const std::int64_t* values, std::int64_t count, Stream stream) {
  std::vector<std::int64_t> copy(static_cast<std::size_t>(count));
  check(cudaMemcpyAsync(copy.data(), values, copy.size() * sizeof(std::int64_t),
                        cudaMemcpyDeviceToHost, native(stream)),
        "reading values that may be wrong");
  check(cudaStreamSynchronize(native(stream)), "waiting for the stream");
  return copy;
}
#else
bool is_captured(Stream) { return false; }

std::vector<std::int64_t> read(const std::int64_t* values, std::int64_t count, Stream) {
  return {values, values + count};
}
#endif

}  // namespace

#if defined(__CUDACC__)
/// What the kernel tells the host. Once it is destroyed no kernel writes there.
struct RangeCheck::Answer {
  Answer(unsigned shares, Stream on)
      : place(places().take()), first(place.first, shares), stream(on) {
    std::fill(first.begin(), first.end(), not_looked);
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    come();
    places().give_back(place);
  }

  void wait() const { check(come(), "waiting for the check of values"); }

  /// Until all shares are there, or the stream has come to its end: a kernel that was not launched,
  /// or has failed, writes nothing.
  cudaError_t come() const {
    unsigned looks = 0;
    for (WrongIndex& share : first) {
      while (std::atomic_ref(share).load(std::memory_order_acquire) == not_looked) {
        if (++looks % 1024 != 0) continue;  // asking for the stream takes as long as that many
        const cudaError_t status = cudaStreamQuery(native(stream));
        if (status != cudaErrorNotReady) return status;
        cudaGetLastError();  // clears that
      }
    }
    return cudaSuccess;
  }

  Place place;
  std::span<WrongIndex> first;
  Stream stream;
};
#else
struct RangeCheck::Answer {
  Answer(unsigned shares, Stream) : first(shares, not_looked) {}
  void wait() const {}

  std::vector<WrongIndex> first;
};
#endif

RangeCheck::RangeCheck(const Names& names, View<const std::int64_t> values, std::int64_t limit,
                       Stream stream)
    : names_(names), stream_(stream) {
  const std::int64_t count = values.size();
  if (count == 0 || is_captured(stream)) return;
  const std::int64_t share = std::max(least_share, ceil_div(count, most_shares));
  const auto shares = static_cast<unsigned>(ceil_div(count, share));
  answer_ = std::make_unique<Answer>(shares, stream);
  asked_ = {values.data(), count, limit, share, answer_->first.data(), shares};
}

RangeCheck::~RangeCheck() = default;

void RangeCheck::throw_if_wrong() const {
  if (!answer_) return;
  answer_->wait();
  const auto [first, last] = std::ranges::minmax(answer_->first);
  std::vector<std::int64_t> wrong;
  if (last == not_looked) {
    wrong = read(asked_.values, asked_.count, stream_);
    std::erase_if(wrong, [&](std::int64_t value) { return value >= 0 && value < asked_.limit; });
  } else if (first != nothing_wrong) {
    wrong = read(asked_.values + first, 1, stream_);
  }
  if (wrong.empty()) return;
  throw std::invalid_argument(std::string(names_.value) + " " + std::to_string(wrong.front()) +
                              " is not in [0, " + names_.limit + std::to_string(asked_.limit) +
                              ")");
}

}  // namespace prenorm::cuda
