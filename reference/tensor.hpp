// Tensors: the one file that includes xtensor. Element types, checks, rows.
//
// A tensor is an xt::xarray, row-major. float16 and bfloat16 are types to store; what computes with
// them widens to float first (compute_t) and rounds once, when a result is stored.
#pragma once

#include <prenorm/prenorm.hpp>

#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace prenorm::reference {

template <class T>
using Tensor = xt::xarray<T>;

using Shape = std::vector<std::size_t>;

/// The type that computes for elements of type T: float for the 16-bit types, else T itself.
template <class T>
using compute_t = std::conditional_t<sizeof(T) == 2, float, T>;

/// Throws std::invalid_argument unless the condition holds.
inline void require(bool condition, const std::string& message) {
  if (!condition) throw std::invalid_argument(message);
}

/// "[2, 3]".
template <class S>
std::string to_text(const S& shape) {
  std::string text = "[";
  for (const auto extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

template <class T>
Shape shape_of(const Tensor<T>& x) {
  return {x.shape().begin(), x.shape().end()};
}

/// A tensor of that shape, its elements not yet set.
template <class T>
Tensor<T> empty(const Shape& shape) {
  return Tensor<T>::from_shape(shape);
}

/// `shape` with its last axis replaced.
inline Shape with_last(Shape shape, std::size_t extent) {
  shape.back() = extent;
  return shape;
}

/// Every element in the type that computes.
template <class T>
Tensor<compute_t<T>> widen(const Tensor<T>& x) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return x;
  } else {
    auto y = empty<compute_t<T>>(shape_of(x));
    for (std::size_t i = 0; i < x.size(); ++i) y.data()[i] = static_cast<float>(x.data()[i]);
    return y;
  }
}

/// Every element rounded to T.
template <class T>
Tensor<T> narrow(Tensor<compute_t<T>> x) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return x;
  } else {
    auto y = empty<T>(shape_of(x));
    for (std::size_t i = 0; i < x.size(); ++i) y.data()[i] = static_cast<T>(x.data()[i]);
    return y;
  }
}

/// "10000" or "1e-05": a number as Python prints it.
inline std::string to_text(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

/// n elements that lie elsewhere, as an xtensor expression of one axis.
template <class C>
auto row_view(C* data, std::size_t n) {
  return xt::adapt(data, n, xt::no_ownership(), std::array<std::size_t, 1>{n});
}

/// Runs work(i) for i in [0, count), on all cores where the whole is worth a thread's start.
/// Each i does the same whichever thread runs it, so results do not depend on their number.
template <class Work>
void parallel_for(std::size_t count, std::size_t elements, Work work) {
  constexpr std::size_t worth_threads = 1u << 16;
#pragma omp parallel for schedule(static) if (elements >= worth_threads)
  for (std::size_t i = 0; i < count; ++i) work(i);
}

/// y of the shape of x, row by row: formula(a, b) is given a row of x, widened, and sets that of y.
/// A row has `width` elements; a and b are xtensor expressions of one axis.
template <class T, class Formula>
Tensor<T> map_rows(const Tensor<T>& x, std::size_t width, Formula formula) {
  using C = compute_t<T>;
  auto y = empty<T>(shape_of(x));
  const std::size_t rows = width == 0 ? 0 : (x.size() + width - 1) / width;
  parallel_for(rows, x.size(), [&](std::size_t row) {
    const std::size_t first = row * width, n = std::min(width, x.size() - first);
    if constexpr (std::is_same_v<T, C>) {
      auto b = row_view(y.data() + first, n);
      formula(row_view(x.data() + first, n), b);
    } else {
      std::vector<C> wide(x.data() + first, x.data() + first + n), result(n);
      auto b = row_view(result.data(), n);
      formula(row_view(static_cast<const C*>(wide.data()), n), b);
      for (std::size_t i = 0; i < n; ++i) y.data()[first + i] = static_cast<T>(result[i]);
    }
  });
  return y;
}

/// Element by element: formula is given part of x, an expression of one axis, and returns that of y.
template <class T, class Formula>
Tensor<T> map_elements(const Tensor<T>& x, Formula formula) {
  constexpr std::size_t part = 4096;  // fits the first-level cache with room for the result
  return map_rows(x, part, [&](const auto& a, auto& b) { xt::noalias(b) = formula(a); });
}

/// The axes that leading axes of several tensors broadcast to, by NumPy's rules.
class Batch {
 public:
  /// Joins in a tensor's leading axes: all but its last `trailing` ones.
  template <class T>
  void join(const Tensor<T>& x, std::size_t trailing) {
    Shape other(x.shape().begin(), x.shape().end() - static_cast<std::ptrdiff_t>(trailing));
    if (other.size() > shape_.size()) std::swap(other, shape_);
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::size_t& extent = shape_[shape_.size() - other.size() + i];
      require(extent == other[i] || extent == 1 || other[i] == 1, "batch axes do not broadcast");
      if (extent == 1) extent = other[i];
    }
  }

  std::size_t size() const {
    std::size_t size = 1;
    for (const std::size_t extent : shape_) size *= extent;
    return size;
  }

  /// The shape with further axes behind it.
  Shape with(std::initializer_list<std::size_t> trailing) const {
    Shape shape = shape_;
    shape.insert(shape.end(), trailing);
    return shape;
  }

  /// Which part of x, counted in its own leading axes, serves batch index b.
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
  Shape shape_;
};

}  // namespace prenorm::reference

namespace prenorm {

// How PRENORM_EXPORT hands the tensors of a call to a function of the reference: as copies.
template <class T>
struct argument<reference::Tensor<T>> {
  static reference::Tensor<T> read(Arguments& arguments) {
    return copy(arguments.input<T>());
  }
  static reference::Tensor<T> copy(const View<const T>& view) {
    auto tensor = reference::empty<T>({view.shape().begin(), view.shape().end()});
    std::copy(view.begin(), view.end(), tensor.data());
    return tensor;
  }
};
template <class T>
struct argument<std::optional<reference::Tensor<T>>> {
  static std::optional<reference::Tensor<T>> read(Arguments& arguments) {
    const auto view = arguments.optional_input<T>();
    if (!view) return std::nullopt;
    return argument<reference::Tensor<T>>::copy(*view);
  }
};

}  // namespace prenorm
