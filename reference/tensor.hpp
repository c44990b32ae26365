// Tensors, their element types and batch axes: the one helper that every component includes.
//
// A tensor is xt::xarray, which works as NumPy's ndarray does. README.md has a table PyTorch ->
// xtensor. Two traps are avoided throughout: an expression is lazy, so each result gets a name and
// the type Tensor (`auto` only for a view that is used in the next line); and axes broadcast
// silently, so shapes are checked first.
#pragma once

#include "checks.hpp"

#include <prenorm/float16.hpp>

#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xview.hpp>

#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

namespace prenorm::reference {

/// A row-major array with any number of axes. float16 and bfloat16 only store: see widen.
template <class T>
using Tensor = xt::xarray<T>;

/// The compute type of elements of type T: float for the 16-bit types, else T itself.
template <class T>
using compute_t = std::conditional_t<sizeof(T) == 2, float, T>;

using xt::placeholders::_;  // xt::range(0, _, 2) is 0::2

/// Every element in the compute type.
template <class T>
Tensor<compute_t<T>> widen(const Tensor<T>& x) {
  return xt::cast<compute_t<T>>(x);
}

/// Every element of an expression rounded to T.
template <class T, class E>
Tensor<T> narrow(E&& x) {
  return xt::cast<T>(std::forward<E>(x));
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

/// The size of an axis, counted from the end: size(x, -1) is x.size(-1) of PyTorch.
template <class T>
std::size_t size(const Tensor<T>& x, int axis) {
  return x.shape(static_cast<std::size_t>(static_cast<int>(x.dimension()) + axis));
}

/// The same elements in the same order, in another shape.
template <class T>
Tensor<T> reshape(Tensor<T> x, const Shape& shape) {
  x.reshape(shape);
  return x;
}

/// Two axes, counted from the end, change places: x.transpose(-3, -2) of PyTorch.
template <class T>
Tensor<T> swap_axes(const Tensor<T>& x, int a, int b) {
  std::vector<std::size_t> order(x.dimension());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order.end()[a], order.end()[b]);
  return xt::transpose(x, order);
}

/// Throws std::invalid_argument unless two tensors have the same shape.
template <class T>
void require_same_shape(const Tensor<T>& a, const Tensor<T>& b, const std::string& what) {
  require(a.shape() == b.shape(), what, " must have the same shape, have ", a.shape(), " and ",
          b.shape());
}

/// The leading axes of x: all but its last `trailing` ones.
template <class T>
Shape batch_of(const Tensor<T>& x, std::size_t trailing) {
  return {x.shape().begin(), x.shape().end() - static_cast<std::ptrdiff_t>(trailing)};
}

/// `shape` followed by further axes.
inline Shape with(Shape shape, std::initializer_list<std::size_t> trailing) {
  shape.insert(shape.end(), trailing);
  return shape;
}

inline std::size_t elements(const Shape& shape) {
  std::size_t product = 1;
  for (const std::size_t extent : shape) product *= extent;
  return product;
}

/// The shape that batch axes broadcast to, by NumPy's rules. Throws std::invalid_argument, with the
/// name of the problem, if they do not.
inline Shape broadcast(const std::string& problem, std::initializer_list<Shape> batches) {
  Shape shape;
  for (Shape other : batches) {
    if (other.size() > shape.size()) std::swap(other, shape);
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::size_t& extent = shape[shape.size() - other.size() + i];
      require(extent == other[i] || extent == 1 || other[i] == 1, problem,
              ": batch axes do not broadcast: ", batches);
      if (extent == 1) extent = other[i];
    }
  }
  return shape;
}

/// The matrix, the last two axes of x, that x[..., rows, columns] has for the b-th of all indices
/// of the axes `batch`, which its own batch axes broadcast to.
template <class T>
Tensor<T> matrix_at(std::size_t b, const Shape& batch, const Tensor<T>& x) {
  const auto index = xt::unravel_index(b, batch);
  const std::size_t axes = x.dimension() - 2;
  xt::xstrided_slice_vector slices;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    slices.push_back(x.shape(axis) == 1 ? 0 : index[batch.size() - axes + axis]);
  }
  slices.push_back(xt::ellipsis());
  return xt::strided_view(x, slices);
}

}  // namespace prenorm::reference
