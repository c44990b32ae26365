// Rows by token id, for all files that need them. The versions, and which of them is launched, are
// in embedding.cu.
#pragma once

#include "device_error.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y[i] = weight[token_ids[i]]
template <class T>
struct Lookup {
  const std::int64_t* token_ids;          // [ids]
  const T* weight;                        // [vocab_size, d_model]
  T* y;                                   // [ids, d_model]
  std::int64_t ids, vocab_size, d_model;  // where an id is out of range the row becomes NaN
  RangeReport report;                     // of check_ids
};

/// One thread per id.
///
/// This and the other: no id is no launch. For T: double, float, float16, bfloat16.
template <class T>
void lookup_v1(const Lookup<T>& lookup, Stream stream);

/// The launched version: neighbouring threads share a row.
template <class T>
void lookup_launched(const Lookup<T>& lookup, Stream stream);

/// For a call that looks rows up: throw_if_wrong, at its end, names the first id out of range.
RangeCheck check_ids(View<const std::int64_t> token_ids, std::int64_t vocab_size, Stream stream);

}  // namespace prenorm::cuda
