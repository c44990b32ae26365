// Tensors, element types, checks, and maps over rows. With elementwise.hpp, all that includes
// xtensor.
//
// A tensor is a row-major array of xtensor. float16 and bfloat16 are storage types: computations
// widen them to float first (compute_t) and round once, when a result is stored.
#pragma once

#include "../checks.hpp"
#include "elementwise.hpp"
#include "memory.hpp"

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

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace prenorm::fast {

/// As xt::xarray, but it can also read elements in the memory of a caller.
template <class T>
using Tensor = xt::xarray_container<Memory<T>>;

using reference::require;
using reference::Shape;
using reference::to_text;

/// The compute type of elements of type T: float for the 16-bit types, else T itself.
template <class T>
using compute_t = std::conditional_t<sizeof(T) == 2, float, T>;

/// Throws std::invalid_argument unless two tensors have the same shape: nothing is broadcast
/// silently.
template <class T>
void require_same_shape(const Tensor<T>& a, const Tensor<T>& b, const std::string& what) {
  require(a.shape() == b.shape(), what, " must have the same shape, have ", a.shape(), " and ",
          b.shape());
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

/// A tensor of elements that somebody else owns, for as long as they are there. It is only read.
template <class T>
Tensor<T> tensor_at(const T* data, const Shape& extents) {
  typename Tensor<T>::inner_shape_type shape(extents.begin(), extents.end());
  typename Tensor<T>::inner_strides_type strides(shape.size());
  const std::size_t size = xt::compute_strides(shape, xt::layout_type::row_major, strides);
  return Tensor<T>(Memory<T>::of_caller(data, size), std::move(shape), std::move(strides));
}

/// `shape` with its last axis replaced.
inline Shape with_last(Shape shape, std::size_t extent) {
  shape.back() = extent;
  return shape;
}

/// Every element in the compute type: a new tensor, or x itself where T is that type.
template <class T>
decltype(auto) widen(const Tensor<T>& x) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return (x);
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

/// n elements at `data`, not copied, as an xtensor expression of one axis.
template <class C>
auto row_view(C* data, std::size_t n) {
  return xt::adapt(data, n, xt::no_ownership(), std::array<std::size_t, 1>{n});
}

/// Runs work(i) for i in [0, count), on all cores if there is enough work to pay for starting
/// threads. Each i does the same on any thread, so results do not depend on the number of threads.
template <class Work>
void parallel_for(std::size_t count, std::size_t elements, Work work) {
  constexpr std::size_t worth_threads = 1u << 16;
  std::exception_ptr failure;  // an exception must not leave an OpenMP thread
#pragma omp parallel for schedule(guided) if (elements >= worth_threads && count > 1)
  for (std::size_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (...) {
#pragma omp critical(prenorm_parallel_for)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// n elements at `data` in the compute type, as an expression of one axis: where they are, or
/// copied into `memory`.
template <class T>
auto wide_row(const T* data, std::size_t n, [[maybe_unused]] std::vector<compute_t<T>>& memory) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return row_view(data, n);
  } else {
    memory.resize(n);
    for (std::size_t i = 0; i < n; ++i) memory[i] = static_cast<float>(data[i]);
    return row_view(static_cast<const float*>(memory.data()), n);
  }
}

/// Sets y row by row: set(first, b) sets b, the `width` elements from `first` on in the compute
/// type.
template <class T, class Set>
void set_rows(Tensor<T>& y, std::size_t width, Set set) {
  using C = compute_t<T>;
  const std::size_t rows = width == 0 ? 0 : (y.size() + width - 1) / width;
  parallel_for(rows, y.size(), [&](std::size_t row) {
    const std::size_t first = row * width, n = std::min(width, y.size() - first);
    if constexpr (std::is_same_v<T, C>) {
      auto b = row_view(y.data() + first, n);
      set(first, b);
    } else {
      std::vector<C> result(n);
      auto b = row_view(result.data(), n);
      set(first, b);
      for (std::size_t i = 0; i < n; ++i) y.data()[first + i] = static_cast<T>(result[i]);
    }
  });
}

/// y of the shape of x, row by row: formula(a, b) is given a row of x, widened, and sets that of y.
/// A row has `width` elements; a and b are xtensor expressions of one axis.
template <class T, class Formula>
Tensor<T> map_rows(const Tensor<T>& x, std::size_t width, Formula formula) {
  auto y = empty<T>(shape_of(x));
  set_rows(y, width, [&](std::size_t first, auto& b) {
    std::vector<compute_t<T>> memory;
    formula(wide_row(x.data() + first, b.size(), memory), b);
  });
  return y;
}

/// y of the shape of x, slice by slice along an axis: formula(a, b) is given a slice of x, widened,
/// and sets that of y. Both may be the same memory, so b is set element by element.
template <class T, class Formula>
Tensor<T> map_slices(const Tensor<T>& x, std::size_t axis, Formula formula) {
  using C = compute_t<T>;
  const std::size_t n = x.shape(axis);
  std::size_t inner = 1;  // the distance between elements of a slice
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  if (inner == 1) return map_rows(x, n, formula);

  auto y = empty<T>(shape_of(x));
  if (x.size() == 0) return y;
  // Neighbouring slices are copied together, each into contiguous memory.
  constexpr std::size_t together = 64;
  const std::size_t parts = (inner + together - 1) / together;
  const std::size_t stride = n + together;  // a power of two would map all to the same cache set
  parallel_for(x.size() / (n * inner) * parts, x.size(), [&](std::size_t job) {
    const std::size_t column = job % parts * together, count = std::min(together, inner - column);
    const std::size_t first = job / parts * n * inner + column;
    std::vector<C> slices(count * stride);
    for (std::size_t i = 0; i < n; ++i) {
      const T* from = x.data() + first + i * inner;
      for (std::size_t s = 0; s < count; ++s) slices[s * stride + i] = static_cast<C>(from[s]);
    }
    for (std::size_t s = 0; s < count; ++s) {
      auto slice = row_view(&slices[s * stride], n);
      formula(slice, slice);
    }
    for (std::size_t i = 0; i < n; ++i) {
      T* to = y.data() + first + i * inner;
      for (std::size_t s = 0; s < count; ++s) to[s] = static_cast<T>(slices[s * stride + i]);
    }
  });
  return y;
}

/// Elements of which two or three rows fit into the first-level cache.
inline constexpr std::size_t part_of_elements = 2048;

/// Element by element: formula gets part of x, an expression of one axis, and returns that of y.
template <class T, class Formula>
Tensor<T> map_elements(const Tensor<T>& x, Formula formula) {
  return map_rows(x, part_of_elements,
                  [&](const auto& a, auto& b) { xt::noalias(b) = formula(a); });
}

/// The same for two tensors of one shape: formula gets a part of each.
template <class T, class Formula>
Tensor<T> map_elements(const Tensor<T>& x, const Tensor<T>& z, Formula formula) {
  auto y = empty<T>(shape_of(x));
  set_rows(y, part_of_elements, [&](std::size_t first, auto& b) {
    std::vector<compute_t<T>> memory, more;
    xt::noalias(b) = formula(wide_row(x.data() + first, b.size(), memory),
                             wide_row(z.data() + first, b.size(), more));
  });
  return y;
}

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
