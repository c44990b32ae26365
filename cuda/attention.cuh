// Attention, for all files that need it. Its versions, and which of them is launched, are in
// attention.cu.
#pragma once

#include "broadcast.cuh"
#include "device.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y = softmax(q kᵀ / sqrt(d_k)) v for every index of the batch axes: scores, maxima and sums in
/// compute_t<T>, rounded once, at the end.
///
/// Rows may lie any stride apart and batch axes any strides, all of them in elements: so a head is
/// a range of columns, and never a copy.
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

/// Three passes through memory, which holds all scores.
///
/// This and the others: m = 0 or d_k = 0 with an output that is not empty is std::invalid_argument;
/// an empty output is no launch. A query that attends to no key, or whose scores are all -infinity,
/// gives zeros. For T: double, float, float16, bfloat16.
template <class T>
void attention_v1(const Attention<T>& attention, Stream stream);

/// Tiles with online softmax: takes everything, and keeps no scores.
template <class T>
void attention_v2(const Attention<T>& attention, Stream stream);

/// The launched one: v3 where it takes the call, else v2.
template <class T>
void attention_launched(const Attention<T>& attention, Stream stream);

/// v3, on tensor cores by mma.sync: false, and nothing is done, where T is not a 16-bit type or d_k
/// or d_v is more than 256. Only for calls with outputs and terms (attention_mma.cu).
template <class T>
bool attention_mma(const Attention<T>& attention, Stream stream);

}  // namespace prenorm::cuda
