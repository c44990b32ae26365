// Attention, for all files that need it. Its versions, and which of them is launched, are in
// attention.cu.
#pragma once

#include "broadcast.cuh"
#include "device.cuh"

#include <optional>
#include <prenorm/prenorm.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace prenorm::cuda {

/// y = softmax(q kᵀ / sqrt(d_k)) v for every index of the batch axes: scores, maxima and sums in
/// compute_t<T>. Only the result is rounded to T; on tensor cores, from v3 on, also the
/// probabilities, for the product with v.
///
/// Rows and batch axes may have any strides, in elements: so a head is a range of columns, never a
/// copy.
template <class T>
struct Attention {
  const char* name;    // for messages
  const T *q, *k, *v;  // [n, d_k], [m, d_k], [m, d_v]
  T* y;                // [n, d_v], apart from the others
  std::int64_t n, m, d_k, d_v;
  std::int64_t q_stride, k_stride, v_stride, y_stride;  // from a row to the next
  enum { of_q, of_k, of_v, of_y, of_mask };
  BatchAxes<5> batch;          // of_mask counts whole masks
  const bool* mask = nullptr;  // [masks, n, m], where true a query attends; null: everywhere
  std::int64_t masks = 0;
  bool causal = false;  // query i attends to keys j <= i only
};

/// Whether there is something to launch. Outputs without terms are std::invalid_argument.
template <class T>
bool has_outputs(const Attention<T>& a) {
  if (a.batch.size == 0 || a.n == 0 || a.d_v == 0) return false;
  if (a.d_k > 0 && a.m > 0) return true;
  throw std::invalid_argument(std::string(a.name) + ": " + (a.m > 0 ? "d_k" : "m") +
                              " is 0, there is nothing to sum over");
}

/// scaled_dot_product_attention's call, whose tensors are all compact.
template <class T>
Attention<T> attention_of(View<const T> q, View<const T> k, View<const T> v,
                          const std::optional<View<const bool>>& mask, View<T> y) {
  const auto matrix = [](const auto& t) {  // its last two extents
    return std::pair(t.shape(t.dimension() - 2), t.shape(t.dimension() - 1));
  };
  const auto [n, d_k] = matrix(q);
  const auto [m, d_v] = matrix(v);
  Attention<T> a{.name = "scaled_dot_product_attention",
                 .q = q.data(),
                 .k = k.data(),
                 .v = v.data(),
                 .y = y.data(),
                 .n = n,
                 .m = m,
                 .d_k = d_k,
                 .d_v = d_v,
                 .q_stride = d_k,
                 .k_stride = d_k,
                 .v_stride = d_v,
                 .y_stride = d_v,
                 .batch = {}};
  if (mask) {
    a.mask = mask->data();
    a.masks = 1;
    for (const std::int64_t extent : mask->shape().first(mask->dimension() - 2)) a.masks *= extent;
  }
  const std::size_t axes = y.dimension() - 2;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto stride = [&](const auto& t, std::int64_t part) {
      return part * batch_stride(t.shape().first(t.dimension() - 2), axis, axes);
    };
    a.batch.append(y.shape(axis), {stride(q, n * d_k), stride(k, m * d_k), stride(v, m * d_v),
                                   stride(y, n * d_v), mask ? stride(*mask, 1) : 0});
  }
  return a;
}

/// Three passes through memory, which holds all scores.
///
/// This and the others: m = 0 or d_k = 0 with an output that is not empty is std::invalid_argument;
/// an empty output is no launch. A query that attends to no key, or whose scores are all -infinity,
/// gives zeros. For T: double, float, float16, bfloat16.
template <class T>
void attention_v1(const Attention<T>& attention, Stream stream);

/// Tiles with online softmax: takes all types and shapes, and stores no scores.
template <class T>
void attention_v2(const Attention<T>& attention, Stream stream);

/// The launched version: split keys, where there are few queries and many keys and attention_split
/// takes the call; else v4, if a device's record says that it passed, where it does; else v3 where
/// that does; else v2.
template <class T>
void attention_launched(const Attention<T>& attention, Stream stream);

/// v3, on tensor cores by mma.sync: false, and nothing is done, where T is not a 16-bit type or d_k
/// or d_v is more than 256. Only for calls with outputs and terms (attention_mma.cu).
template <class T>
bool attention_mma(const Attention<T>& attention, Stream stream);

/// v4, on Hopper's tensor cores: false, and nothing is done, where v4 does not take the call
/// (attention_wgmma.cu says what it takes, and is compiled for devices only). Only for calls with
/// outputs and terms.
template <class T>
bool attention_wgmma(const Attention<T>& attention, Stream stream);

}  // namespace prenorm::cuda
