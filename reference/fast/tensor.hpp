// Tensors and their element types. With elementwise.hpp, all that includes xtensor.
//
// A tensor is a row-major array of xtensor. float16 and bfloat16 are storage types: computations
// widen them to float first (compute_t) and round once, when a result is stored.
#pragma once

#include "../checks.hpp"
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

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

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

}  // namespace prenorm::fast
