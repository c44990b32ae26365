// Attention of float32 on tensor cores (attention_bf16x6.cu).
#pragma once

#include "attention.cuh"

namespace prenorm::cuda {

/// By mma.sync, with operands split into three bfloat16: false, and nothing is done, where T is not
/// float or d_k or d_v is more than 128. Only for calls with outputs and terms.
template <class T>
bool attention_bf16x6(const Attention<T>& attention, Stream stream);

}  // namespace prenorm::cuda
