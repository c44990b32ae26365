#include "tensor.hpp"

#include <utility>

namespace prenorm::harness {

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + "]";
}

Shape index_of(std::int64_t offset, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = offset % shape[axis];
    offset /= shape[axis];
  }
  return index;
}

Tensor::Tensor(DType type, Shape extents)
    : dtype(type),
      shape(std::move(extents)),
      data(static_cast<std::size_t>(element_count(shape)) * size_of(type)) {}

}  // namespace prenorm::harness
