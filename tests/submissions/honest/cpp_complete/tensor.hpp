// A tensor that owns its elements, and how one is read from a call.
#pragma once

#include <prenorm/prenorm.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using Size = std::int64_t;

/// What computes for elements of type T: float for all but double.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
class Tensor {
 public:
  using Element = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

  explicit Tensor(std::vector<Size> shape) : shape_(std::move(shape)), size_(1) {
    for (const Size extent : shape_) size_ *= extent;
    elements_.resize(static_cast<std::size_t>(size_));
  }
  explicit Tensor(prenorm::View<const T> view)
      : Tensor(std::vector<Size>(view.shape().begin(), view.shape().end())) {
    std::copy(view.begin(), view.end(), elements_.begin());
  }

  const std::vector<Size>& shape() const { return shape_; }
  Size axes() const { return static_cast<Size>(shape_.size()); }
  Size size() const { return size_; }
  /// The extent of an axis, counted from the end: 1 is the last.
  Size last(std::size_t nth) const { return shape_.at(shape_.size() - nth); }
  Element* data() { return elements_.data(); }
  const Element* data() const { return elements_.data(); }
  Element& operator[](Size i) { return elements_[static_cast<std::size_t>(i)]; }
  Element operator[](Size i) const { return elements_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<Size> shape_;
  Size size_;
  std::vector<Element> elements_;
};

template <class T>
struct prenorm::argument<Tensor<T>> {
  static Tensor<T> read(Arguments& arguments) { return Tensor<T>(arguments.input<T>()); }
};
template <class T>
struct prenorm::argument<std::optional<Tensor<T>>> {
  static std::optional<Tensor<T>> read(Arguments& arguments) {
    const auto view = arguments.optional_input<T>();
    if (!view) return std::nullopt;
    return Tensor<T>(*view);
  }
};

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

/// x's shape with another last extent.
template <class T>
std::vector<Size> with_last(const Tensor<T>& x, Size extent) {
  std::vector<Size> shape = x.shape();
  shape.back() = extent;
  return shape;
}

/// f of every element, computed wide and rounded once.
template <class T, class F>
Tensor<T> each(Tensor<T> x, F f) {
  for (Size i = 0; i < x.size(); ++i) x[i] = T(f(Real<T>(x[i])));
  return x;
}

/// f of every pair of elements.
template <class T, class F>
Tensor<T> each(Tensor<T> a, const Tensor<T>& b, F f) {
  require(a.shape() == b.shape(), "two tensors that belong together differ in shape");
  for (Size i = 0; i < a.size(); ++i) a[i] = T(f(Real<T>(a[i]), Real<T>(b[i])));
  return a;
}
