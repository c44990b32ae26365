// Tiles in shared memory as Hopper's copy engine (TMA) writes them and its tensor cores (wgmma)
// read them, and where they are in a tensor. Only arithmetic, so that the host can test it
// (tests/cuda/test_tensor_tiles.cpp). For elements of 16 bits.
#pragma once

#include "broadcast.cuh"
#include "device.cuh"

#include <optional>

namespace prenorm::cuda {

/// A tile is made of panels side by side, each 64 columns wide: rows of 128 bytes, one after the
/// other, from a multiple of 1024 bytes on. That is what TMA writes for a box of 64 columns.
constexpr int panel_columns = 64;
constexpr int panel_row_bytes = 128;

/// Where element (row, column) of a panel is, in elements from its start. In the swizzle of 128
/// bytes the 16-byte chunk c of row r is at the place of chunk c ^ (r % 8), so that the same chunk
/// of eight rows covers all 32 banks.
__host__ __device__ constexpr int swizzled(int row, int column) {
  const int chunk = column / 8 ^ row % 8;
  return row * panel_columns + chunk * 8 + column % 8;
}

/// Describes an operand in shared memory to wgmma. PTX ISA, "Matrix Descriptor Format":
///
///     bits 0-13   address / 16
///     bits 16-29  leading dimension byte offset / 16
///     bits 32-45  stride dimension byte offset / 16
///     bits 49-51  base offset: 0, as the swizzle's pattern begins at multiples of 1024 bytes
///     bits 62-63  1, the swizzle of 128 bytes
__host__ __device__ constexpr std::uint64_t matrix_descriptor(std::uint32_t address,
                                                              std::uint32_t leading_bytes,
                                                              std::uint32_t stride_bytes) {
  const auto encode = [](std::uint32_t x) { return std::uint64_t{(x & 0x3ffff) >> 4}; };
  return encode(address) | encode(leading_bytes) << 16 | encode(stride_bytes) << 32 |
         std::uint64_t{1} << 62;
}

/// An operand whose sums run along a panel's columns (K-major): Q and K of attention, both of a
/// product. Its rows come in groups of 8, 1024 bytes apart; the other offset is not used and taken
/// as 1. The address is that of the first row, plus 32 bytes for each 16 columns that the sums are
/// ahead.
__host__ __device__ constexpr std::uint64_t along_columns(std::uint32_t address) {
  return matrix_descriptor(address, 16, 8 * panel_row_bytes);
}

/// An operand whose sums run along a panel's rows (MN-major): V of attention. Rows come in groups
/// of 8 again; from 64 columns to the next 64 it is a panel. The address is that of the first of
/// the 16 rows that are summed over.
__host__ __device__ constexpr std::uint64_t along_rows(std::uint32_t address,
                                                       std::uint32_t panel_bytes) {
  return matrix_descriptor(address, panel_bytes, 8 * panel_row_bytes);
}

/// The matrices of a batch as one tensor [parts, rows, columns] for TMA: each matrix is a range of
/// the columns of a part. So heads, which are side by side, need no copy.
struct TensorRows {
  std::int64_t parts, rows, columns;
  std::int64_t stride;  // from a row to the next, in elements; a part is rows * stride

  /// Where a matrix begins.
  struct Corner {
    std::int32_t part, column;
  };
  /// Of the matrix that is `offset` elements from the first.
  __host__ __device__ Corner corner(std::int64_t offset) const {
    return {static_cast<std::int32_t>(offset / (rows * stride)),
            static_cast<std::int32_t>(offset % (rows * stride))};
  }
};

/// Tensor number `tensor` of a batch as such a tensor: matrices of `rows` rows, `width` wide.
/// Nothing where an axis steps neither over whole parts nor over columns of a row, where rows are
/// not multiples of TMA's 16 bytes, or where rows or parts do not fit 32 bits.
template <int tensors>
std::optional<TensorRows> tensor_rows(const BatchAxes<tensors>& batch, int tensor,
                                      std::int64_t rows, std::int64_t width, std::int64_t stride) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // TMA counts in 32 bits, with a sign
  TensorRows all{1, rows, width, stride};
  if (rows < 1 || rows > most || stride < 1 || stride > most || stride % 8 != 0) return {};
  for (int axis = 0; axis < batch.count; ++axis) {
    const std::int64_t step = batch.stride[tensor][axis], steps = batch.extent[axis] - 1;
    if (step < 0 || step % 8 != 0) return {};
    if (step % (rows * stride) == 0) {
      all.parts += step / (rows * stride) * steps;
    } else {
      all.columns += step * steps;
    }
  }
  if (all.columns > stride || all.parts > most) return {};
  return all;
}

}  // namespace prenorm::cuda
