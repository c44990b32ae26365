// Attention of few queries and many keys, as in decoding (attention_split.cu).
#pragma once

#include "attention.cuh"

namespace prenorm::cuda {

/// Whether the launched version splits the keys: where queries alone are too few blocks to fill a
/// device. It depends only on n and m, so that a sequence has the same bits alone and in a batch,
/// and on any device. Causal calls are not split: n queries attend to at most n keys.
template <class T>
bool splits_keys(const Attention<T>& a) {
  return a.n <= 64 && a.m >= 1024 && !a.causal;
}

/// Keys in parts, by tensor cores: false, and nothing is done, where T is not a 16-bit type or d_k
/// or d_v is more than 256. Takes any n and m. Only for calls with outputs and terms.
template <class T>
bool attention_split(const Attention<T>& attention, Stream stream);

}  // namespace prenorm::cuda
