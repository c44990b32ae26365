// Batch axes that broadcast by NumPy's rules: which part of each tensor serves a batch index.
#pragma once

#include "device.cuh"

#include <span>
#include <stdexcept>
#include <string>

namespace prenorm::cuda {

/// Axes to count through, the last one fastest, with the strides of `tensors` tensors along them: 0
/// where one broadcasts. A stride counts parts: what follows the batch axes is one part.
template <int tensors>
struct BatchAxes {
  static constexpr int most = 32;  // as in HDF5 and NumPy
  int count = 0;
  std::int64_t size = 1;  // of all axes together
  std::int64_t extent[most] = {}, stride[tensors][most] = {};

  /// Which part of a tensor serves index i of [0, size).
  __host__ __device__ std::int64_t part(int tensor, std::int64_t i) const {
    std::int64_t part = 0;
    for (int axis = count - 1; axis > 0; --axis) {
      part += i % extent[axis] * stride[tensor][axis];
      i /= extent[axis];
    }
    return count == 0 ? 0 : part + i * stride[tensor][0];
  }

  /// Appends an axis; it is joined with the last one where all tensors are contiguous over both.
  void append(std::int64_t axis_extent, const std::int64_t (&axis_stride)[tensors]) {
    size *= axis_extent;
    if (axis_extent == 1) return;
    bool joins = count > 0;
    for (int t = 0; t < tensors && joins; ++t) {
      joins = stride[t][count - 1] == axis_stride[t] * axis_extent;
    }
    if (!joins && count == most) {
      throw std::invalid_argument("more than " + std::to_string(most) + " batch axes");
    }
    const int axis = joins ? count - 1 : count++;
    extent[axis] = joins ? extent[axis] * axis_extent : axis_extent;
    for (int t = 0; t < tensors; ++t) stride[t][axis] = axis_stride[t];
  }
};

/// The stride of a tensor with batch axes `batch` along axis `axis` of the `axes` batch axes that
/// it broadcasts to: 0 where it broadcasts.
inline std::int64_t batch_stride(std::span<const std::int64_t> batch, std::size_t axis,
                                 std::size_t axes) {
  const std::size_t missing = axes - batch.size();
  if (axis < missing || batch[axis - missing] == 1) return 0;
  std::int64_t stride = 1;
  for (std::size_t i = axis - missing + 1; i < batch.size(); ++i) stride *= batch[i];
  return stride;
}

}  // namespace prenorm::cuda
