// Errors that only a kernel can see, as the data is in device memory: a token id or a position that
// is out of range.
//
// A call must return its error, so the host has to wait for a kernel: for the one that uses the
// values. Its first blocks check them before their other work, a share each, and write what they
// found to memory that the host sees. The host waits for these words, not for the kernel's end:
// when they come the device has most of the kernel before it, so nothing idles while the host
// returns.
#pragma once

#include "launch.cuh"
#include "reduce.cuh"

#include <memory>

namespace prenorm::cuda {

/// The index of a value that is out of range, or one of the two below.
using WrongIndex = unsigned long long;
constexpr WrongIndex not_looked = ~0ull, nothing_wrong = not_looked - 1;

/// For the kernel that uses the values.
struct RangeReport {
  const std::int64_t* values = nullptr;
  std::int64_t count = 0, limit = 0;
  std::int64_t share = 0;       // values that a warp checks
  WrongIndex* first = nullptr;  // [shares]: of each share the first that is out of range
  unsigned shares = 0;          // 0: nobody asks
  static constexpr unsigned in_flight = 4;  // values of a thread

  /// Checks the values. To be called before a thread returns, by all of a one-dimensional grid,
  /// whose blocks have a warp or more.
  __device__ void write() const {
    const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    if (thread >= 32) return;
    const auto smaller = [](unsigned a, unsigned b) { return min(a, b); };
    for (unsigned i = blockIdx.x; i < shares; i += gridDim.x) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * share;
      const auto last = static_cast<unsigned>(min(count - begin, share) - 1);
      const std::int64_t* from = values + begin;
      constexpr unsigned none = ~0u;
      unsigned wrong = none;
      for (unsigned k = thread; k <= last; k += 32 * in_flight) {
        std::int64_t value[in_flight];  // behind the last one that one again, so that none branches
#pragma unroll
        for (unsigned v = 0; v < in_flight; ++v) value[v] = from[min(k + 32 * v, last)];
#pragma unroll
        for (unsigned v = 0; v < in_flight; ++v) {
          if (value[v] < 0 || value[v] >= limit) wrong = min(wrong, min(k + 32 * v, last));
        }
      }
      wrong = warp_reduce(wrong, smaller);
      if (thread != 0) continue;
      *static_cast<volatile WrongIndex*>(first + i) =
          wrong == none ? nothing_wrong : static_cast<WrongIndex>(begin + wrong);
    }
  }
};

/// Checks that values are in [0, limit). The constructor is called before anything is enqueued, and
/// throw_if_wrong last. In between one kernel, and no other, is given report().
///
/// While the stream is captured into a graph nothing can wait: nobody asks, and a wrong value shows
/// only in the results.
class RangeCheck {
 public:
  /// "rope: position 7 is not in [0, max_seq_len = 5)".
  struct Names {
    const char *value, *limit;
  };

  RangeCheck(const Names& names, View<const std::int64_t> values, std::int64_t limit,
             Stream stream);
  RangeCheck(const RangeCheck&) = delete;
  RangeCheck& operator=(const RangeCheck&) = delete;
  /// Waits too, so that a call that throws before it has waited leaves no kernel running that
  /// writes to what the next check gets.
  ~RangeCheck();

  RangeReport report() const { return asked_; }

  /// std::invalid_argument that names the first value that is out of range. Where no kernel was
  /// launched, as there was nothing to do with the values, the host reads them.
  void throw_if_wrong() const;

 private:
  struct Answer;  // of the kernel to the host

  Names names_;
  Stream stream_;
  RangeReport asked_;
  std::unique_ptr<Answer> answer_;  // null: nobody asks
};

}  // namespace prenorm::cuda
