// Two more versions of the product, for product_mma.cu: v3 with sums in register tiles, for every
// type; v4 on tensor cores from sm_80 on, for 16-bit types.
#pragma once

#include "product.cuh"

namespace prenorm::cuda {

/// Register tiles of 8 x 8 outputs.
template <class T>
void product_registers(const Product<T>& product, Stream stream);

/// mma.sync; `warps` of a block, 4 or 8, and stages of its ring.
template <int warps, int stages, class T>
void product_mma(const Product<T>& product, Stream stream);

}  // namespace prenorm::cuda
