// Batch axes: how the leading axes of several tensors broadcast.
#pragma once

#include "tensor.hpp"

#include <string>
#include <utility>

namespace prenorm::fast {

/// The shape that the leading axes of several tensors broadcast to, by NumPy's rules.
class Batch {
 public:
  explicit Batch(std::string problem = "") : problem_(std::move(problem)) {}

  /// Adds a tensor's leading axes: all but its last `trailing` ones.
  template <class T>
  void join(const Tensor<T>& x, std::size_t trailing, const std::string& name = "a tensor") {
    Shape other(x.shape().begin(), x.shape().end() - static_cast<std::ptrdiff_t>(trailing));
    if (other.size() > shape_.size()) std::swap(other, shape_);
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::size_t& extent = shape_[shape_.size() - other.size() + i];
      require(extent == other[i] || extent == 1 || other[i] == 1, problem_,
              ": batch axes do not broadcast: ", name, " is ", x.shape());
      if (extent == 1) extent = other[i];
    }
  }

  std::size_t size() const {
    std::size_t size = 1;
    for (const std::size_t extent : shape_) size *= extent;
    return size;
  }

  /// The shape followed by further axes.
  Shape with(std::initializer_list<std::size_t> trailing) const {
    Shape shape = shape_;
    shape.insert(shape.end(), trailing);
    return shape;
  }

  /// The index, in x's own leading axes, of the part of x that batch index b uses.
  template <class T>
  std::size_t part(const Tensor<T>& x, std::size_t trailing, std::size_t b) const {
    const std::size_t axes = x.dimension() - trailing;
    std::size_t part = 0, stride = 1;
    for (std::size_t axis = axes; axis-- > 0;) {
      const std::size_t extent = shape_[shape_.size() - axes + axis];
      part += (x.shape(axis) == 1 ? 0 : b % extent) * stride;
      stride *= x.shape(axis);
      b /= extent;
    }
    return part;
  }

 private:
  std::string problem_;
  Shape shape_;
};

}  // namespace prenorm::fast
