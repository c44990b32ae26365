// RoPE, for all files that need it. Its versions, and which of them is launched, are in rope.cu.
#pragma once

#include "broadcast.cuh"
#include "device_error.cuh"

#include <optional>
#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y = rope(x) for every index of the batch axes, among which heads are one.
///
/// Rows and batch axes may have any strides, in elements and multiples of d_k, from addresses that
/// are aligned like d_k elements: so a head is a range of columns.
template <class T>
struct RopeHeads {
  const T* x;  // [seq, d_k], d_k even
  T* y;        // the same; x itself, laid out as x is, or apart from it
  std::int64_t seq, d_k;
  std::int64_t x_stride, y_stride;                // from a row to the next
  const std::int64_t* token_positions = nullptr;  // [own axes..., seq]; null: 0, 1, ..., seq - 1
  double theta;
  std::int64_t max_seq_len;  // a row whose position is not below it, or negative, is NaN
  RangeReport report = {};   // of a PositionCheck
  enum { of_x, of_y };
  BatchAxes<2> own = {}, shared = {};  // axes along which positions differ, and the others

  std::int64_t positions() const { return own.size * seq; }

  /// Appends the batch axes of y, to which x and the positions broadcast. What lies behind them is
  /// a part: x_part elements of x, y_part of y.
  void append_batch(std::span<const std::int64_t> x_batch, std::int64_t x_part,
                    std::span<const std::int64_t> y_batch, std::int64_t y_part,
                    std::span<const std::int64_t> positions_batch) {
    const std::size_t axes = y_batch.size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const bool differ = batch_stride(positions_batch, axis, axes) != 0;
      (differ ? own : shared)
          .append(y_batch[axis], {batch_stride(x_batch, axis, axes) * x_part,
                                  batch_stride(y_batch, axis, axes) * y_part});
    }
  }
};

/// One thread per pair.
///
/// This and the other: for T: double, float, float16, bfloat16.
template <class T>
void rope_heads_v1(const RopeHeads<T>& heads, Stream stream);

/// The launched version: v3, or v2 where v3 cannot (rope.cu).
template <class T>
void rope_heads_launched(const RopeHeads<T>& heads, Stream stream);

/// Checks on the host: std::invalid_argument if theta is not positive, d_k is odd, or no positions
/// are given and a sequence of `seq` exceeds max_seq_len.
void check_rope(std::int64_t d_k, bool has_positions, std::int64_t seq, double theta,
                std::int64_t max_seq_len);

/// A RangeCheck of positions; without positions nothing is waited for.
class PositionCheck {
 public:
  PositionCheck(std::optional<View<const std::int64_t>> token_positions, std::int64_t max_seq_len,
                Stream stream);

  /// For one kernel that rotates.
  RangeReport report() const { return check_ ? check_->report() : RangeReport{}; }

  /// std::invalid_argument that names the first position that is not in [0, max_seq_len), or from
  /// 2^53 on.
  void throw_if_wrong() const;

 private:
  std::optional<RangeCheck> check_;
};

}  // namespace prenorm::cuda
