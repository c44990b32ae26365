// The product of float32 on tensor cores: linear_bf16x6.cu.
#pragma once

#include "product.cuh"

namespace prenorm::cuda {

/// Products by three parts of bfloat16 (bf16x6.cuh), for T = float: not_implemented for others. A
/// row has the same bits however many others there are.
template <class T>
void product_bf16x6(const Product<T>& product, Stream stream);

}  // namespace prenorm::cuda
