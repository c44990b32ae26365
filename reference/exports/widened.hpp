// Tensors of any floating type, read as wider ones, for `mistakes` and `honest`.
//
// PRENORM_EXPORT_FUNCTION(name, Widening<&function>::call) exports a function of Tensor<double> for
// every element type T: its inputs are widened to float64 and its result is rounded to T, so
// that a variant is written once. A parameter of type Element, if there is one, is T itself.
#pragma once

#include "../fast/batch.hpp"
#include "fast.hpp"

#include <numeric>

#include <prenorm/prenorm.hpp>

namespace prenorm::fast {

/// The call's element type T; round(value) is the value rounded to T.
struct Element {
  DLDataType dtype;

  template <class T>
  bool is() const {
    constexpr DLDataType wanted = dtype_of<T>();
    return dtype.code == wanted.code && dtype.bits == wanted.bits;
  }
  bool is_16_bit() const { return dtype.bits == 16; }

  double round(double value) const {
    if (is<float16>()) return static_cast<double>(float16(value));
    if (is<bfloat16>()) return static_cast<double>(bfloat16(value));
    if (is<float>()) return static_cast<double>(static_cast<float>(value));
    return value;
  }
};

/// A tensor that is read from, or written to, a call's tensor of any floating type.
template <class C>
struct Widened {
  Tensor<C> value;
};

/// `call` is `function` with parameters and a result for calls of any element type T. A T wider
/// than C is not implemented.
template <auto function>
struct Widening;
template <class C, class... P, Tensor<C> (*function)(P...)>
struct Widening<function> {
  // Tensors of C are read widened, all other parameters as they are.
  template <class Q>
  static constexpr bool widens = std::is_same_v<std::remove_cvref_t<Q>, Tensor<C>>;
  template <class Q>
  using Read = std::conditional_t<widens<Q>, const Widened<C>&, Q>;

  template <class Q>
  static decltype(auto) unwrap(const std::remove_cvref_t<Read<Q>>& read) {
    if constexpr (widens<Q>) {
      return (read.value);
    } else {
      return (read);
    }
  }

  static Widened<C> call(const Element& t, Read<P>... arguments) {
    if (8 * sizeof(C) < t.dtype.bits) throw not_implemented("not for an element type this wide");
    return {function(unwrap<P>(arguments)...)};
  }
};

/// x[..., seq, d_model], broadcast to the batch axes that token_positions[..., seq] bring.
template <class C>
Tensor<C> with_batch_of(const Tensor<C>& x,
                        const std::optional<Tensor<std::int64_t>>& token_positions) {
  if (!token_positions) return x;
  Batch batch;
  batch.join(x, 2);
  batch.join(*token_positions, 1);
  return xt::broadcast(x, batch.with({x.shape(x.dimension() - 2), x.shape().back()}));
}

/// Attention with the caller's own softmax, for any batch axes: calls
/// attend(queries, keys, values, allowed, y, n, m, d_k, d_v) with the rows of each sequence.
template <class C, class Attend>
Tensor<C> each_sequence(const Tensor<C>& q, const Tensor<C>& k, const Tensor<C>& v,
                        const std::optional<Tensor<bool>>& mask, Attend attend) {
  const std::size_t n = q.shape(q.dimension() - 2), m = k.shape(k.dimension() - 2);
  const std::size_t d_k = q.shape().back(), d_v = v.shape().back();
  Batch batch;
  batch.join(q, 2);
  batch.join(k, 2);
  batch.join(v, 2);
  if (mask) batch.join(*mask, 2);
  const Tensor<C> queries = xt::broadcast(q, batch.with({n, d_k})),
                  keys = xt::broadcast(k, batch.with({m, d_k})),
                  values = xt::broadcast(v, batch.with({m, d_v}));
  Tensor<bool> allowed = xt::ones<bool>(batch.with({n, m}));
  if (mask) allowed = xt::broadcast(*mask, batch.with({n, m}));

  Tensor<C> y = xt::zeros<C>(batch.with({n, d_v}));
  for (std::size_t b = 0; b * n * d_v < y.size(); ++b) {
    attend(queries.data() + b * n * d_k, keys.data() + b * m * d_k, values.data() + b * m * d_v,
           allowed.data() + b * n * m, y.data() + b * n * d_v, n, m, d_k, d_v);
  }
  return y;
}

}  // namespace prenorm::fast

namespace prenorm {

template <class C>
struct argument<fast::Widened<C>> {
  static fast::Widened<C> read(Arguments& arguments) {
    const DLTensor* tensor = arguments.next_input();
    if (tensor == nullptr) throw std::invalid_argument("an input is absent");
    const std::vector<std::size_t> shape(tensor->shape, tensor->shape + tensor->ndim);
    auto wide = fast::Tensor<C>::from_shape(shape);
    const auto widen = [&]<class T>() {
      if (!has_dtype<T>(*tensor)) return false;
      const T* from = static_cast<const T*>(tensor->data);
      for (std::size_t i = 0; i < wide.size(); ++i) wide.data()[i] = static_cast<C>(from[i]);
      return true;
    };
    if (!(widen.template operator()<double>() || widen.template operator()<float>() ||
          widen.template operator()<float16>() || widen.template operator()<bfloat16>())) {
      throw not_implemented("an input is of no floating type");
    }
    return {std::move(wide)};
  }
};

template <>
struct argument<fast::Element> {
  static fast::Element read(Arguments& arguments) { return {arguments.element_type()}; }
};

template <class C>
struct result<fast::Widened<C>> {
  static void write(const fast::Widened<C>& widened, const prenorm_call& call) {
    const fast::Tensor<C>& value = widened.value;
    const DLTensor& output = *call.outputs[0];
    detail::require_shape(value.shape(), output);
    const auto narrow = [&]<class T>() {
      if (!has_dtype<T>(output)) return;
      T* to = static_cast<T*>(output.data);
      for (std::size_t i = 0; i < value.size(); ++i) to[i] = static_cast<T>(value.data()[i]);
    };
    narrow.template operator()<double>();
    narrow.template operator()<float>();
    narrow.template operator()<float16>();
    narrow.template operator()<bfloat16>();
  }
};

}  // namespace prenorm

/// Declares that a function template of `fast` is compiled in `plain`, whose object files
/// `honest` and `mistakes` are linked with.
#define PRENORM_COMPILED_IN_PLAIN(function)                                                \
  extern template decltype(prenorm::fast::function<float>) prenorm::fast::function<float>; \
  extern template decltype(prenorm::fast::function<double>) prenorm::fast::function<double>;
