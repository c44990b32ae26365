// A tensor in the harness's own memory: element type, shape, bytes; compact and row-major.
#pragma once

#include "dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prenorm::harness {

using Shape = std::vector<std::int64_t>;

/// Number of elements of a tensor of that shape; 1 for no axis.
inline std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// "[2, 3]".
std::string to_text(const Shape& shape);

/// The index, one number an axis, of the element at `offset` in memory order.
Shape index_of(std::int64_t offset, const Shape& shape);

struct Tensor {
  DType dtype = DType::float64;
  Shape shape;
  std::vector<std::byte> data;

  Tensor() = default;
  /// A tensor of zeros.
  Tensor(DType dtype, Shape shape);

  std::int64_t size() const { return element_count(shape); }
  double at(std::int64_t i) const { return load(dtype, data.data(), i); }
  void set(std::int64_t i, double value) { store(dtype, data.data(), i, value); }
};

}  // namespace prenorm::harness
