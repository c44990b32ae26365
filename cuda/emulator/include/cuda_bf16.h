// <cuda_bf16.h> of the emulator.
#pragma once

#include "cuda_runtime.h"
#include "small_floats.h"

using __nv_bfloat16 = prenorm::emulator::SmallFloat<prenorm::bfloat16>;
using __nv_bfloat162 = prenorm::emulator::SmallPair<__nv_bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

PRENORM_SMALL(__nv_bfloat16, __nv_bfloat162)
PRENORM_SMALL_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
