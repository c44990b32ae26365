// What a C++ exercise of the notebooks begins with: tensors of float32, and helpers of the
// reference.
#pragma once

#include <exports/text.hpp>

using Tensor = prenorm::reference::Tensor<float>;
using Integers = prenorm::reference::Tensor<std::int64_t>;
using Mask = prenorm::reference::Tensor<bool>;

using namespace xt::placeholders;  // xt::range(0, _, 2) is 0::2
using prenorm::reference::batch_of, prenorm::reference::empty, prenorm::reference::reshape,
    prenorm::reference::shape_of, prenorm::reference::size, prenorm::reference::swap_axes,
    prenorm::reference::with;
