// Errors that only a kernel can see, as the data is in device memory: a token id or a position that
// is out of range.
//
// A call must return its error, so the host has to wait for a kernel; but only for a small one that
// does nothing else and comes first. By then the device has the rest of the call's work, and goes
// on while the host returns: nothing idles.
#pragma once

#include "launch.cuh"

#include <memory>

namespace prenorm::cuda {

/// Checks that values are in [0, limit). The constructor, called before anything else is enqueued,
/// launches the kernel; throw_if_wrong, called last, waits for that kernel only.
///
/// While the stream is captured into a graph nothing can wait: nothing is launched, and a wrong
/// value shows only in the results.
class RangeCheck {
 public:
  /// "rope: position 7 is not in [0, max_seq_len = 5)", by a kernel "rope check".
  struct Names {
    const char *kernel, *value, *limit;
  };

  RangeCheck(const Names& names, View<const std::int64_t> values, std::int64_t limit,
             Stream stream);
  RangeCheck(const RangeCheck&) = delete;
  RangeCheck& operator=(const RangeCheck&) = delete;
  /// Waits too, so that a call that throws before it has waited leaves no kernel running that
  /// writes to what the next check gets.
  ~RangeCheck();

  /// std::invalid_argument that names the first value that is out of range.
  void throw_if_wrong() const;

 private:
  struct Report;  // of the kernel to the host

  Names names_;
  const std::int64_t* values_;
  std::int64_t limit_;
  Stream stream_;
  std::unique_ptr<Report> report_;  // null: nothing was launched
};

}  // namespace prenorm::cuda
