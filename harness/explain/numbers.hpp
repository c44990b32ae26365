// Tensors along their axes, and their numbers side by side.
#pragma once

#include "fixture/fixture.hpp"

#include <functional>
#include <string>
#include <utility>

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

/// Two numbers with as many digits as it takes to tell them apart, at least eight.
std::pair<std::string, std::string> told_apart(double a, double b);

/// "[[1, 2], [3, 4]]", each number as `number` writes it.
std::string nested(const Tensor& tensor, const std::function<std::string(double)>& number);

/// Inputs of at most 16 elements, and each output's elements, expected and got, with * at wrong
/// ones; of an output of more than 16 elements its three worst, with their neighbours. Lines of
/// text, each with its newline; nothing is as wide as 100 columns.
std::string numbers_of(const Signature& signature, const LoadedCase& loaded,
                       const std::vector<Tensor>& outputs);

}  // namespace prenorm::harness
