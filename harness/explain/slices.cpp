#include "explain/slices.hpp"

namespace prenorm::harness {

std::int64_t offset_of(const Shape& index, const Shape& shape) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    offset = offset * shape[axis] + index[axis];
  }
  return offset;
}

std::string axis_of(const TensorSpec& spec, const Shape& shape, std::ptrdiff_t axis) {
  const std::ptrdiff_t batch = std::ssize(shape) - std::ssize(spec.dims);
  if (axis >= batch) return spec.dims[static_cast<std::size_t>(axis - batch)];
  if (shape.size() > 1 && axis + 1 == std::ssize(shape)) return "the last axis";
  return "axis " + std::to_string(axis);
}

void for_each_slice(const Shape& shape, std::ptrdiff_t axis,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t stride = 1;
  for (std::size_t i = at + 1; i < shape.size(); ++i) stride *= shape[i];
  const std::int64_t n = shape[at], all = element_count(shape);
  std::vector<std::int64_t> slice(static_cast<std::size_t>(n));
  for (std::int64_t outer = 0; outer < all; outer += n * stride) {
    for (std::int64_t inner = 0; inner < stride; ++inner) {
      for (std::int64_t i = 0; i < n; ++i) {
        slice[static_cast<std::size_t>(i)] = outer + i * stride + inner;
      }
      visit(slice);
    }
  }
}

std::vector<bool> right_along(const Shape& shape, std::ptrdiff_t axis,
                              const std::function<bool(std::int64_t)>& right) {
  std::vector<bool> all(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]), true);
  for_each_slice(shape, axis, [&](const std::vector<std::int64_t>& slice) {
    for (std::size_t i = 0; i < slice.size(); ++i) all[i] = all[i] && right(slice[i]);
  });
  return all;
}

}  // namespace prenorm::harness
