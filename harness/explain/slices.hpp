// A tensor along one of its axes.
#pragma once

#include "fixture/signature.hpp"

#include <functional>

namespace prenorm::harness {

/// In memory order, of the element at that index.
std::int64_t offset_of(const Shape& index, const Shape& shape);

/// What the axis of an output is called: "seq", "axis 0" of a batch.
std::string axis_of(const TensorSpec& spec, const Shape& shape, std::ptrdiff_t axis);

/// Calls visit(offsets) for each slice along the axis.
void for_each_slice(const Shape& shape, std::ptrdiff_t axis,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit);

/// For each index of the axis, whether all elements there are right.
std::vector<bool> right_along(const Shape& shape, std::ptrdiff_t axis,
                              const std::function<bool(std::int64_t)>& right);

}  // namespace prenorm::harness
