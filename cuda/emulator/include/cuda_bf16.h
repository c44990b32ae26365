// <cuda_bf16.h> of the emulator.
#pragma once

#include "cuda_runtime.h"
#include "small_floats.h"

using __nv_bfloat16 = prenorm::emulator::SmallFloat<prenorm::bfloat16>;
using __nv_bfloat162 = prenorm::emulator::SmallPair<__nv_bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

using __nv_bfloat16_raw = prenorm::emulator::SmallRaw<prenorm::bfloat16>;
using __nv_bfloat162_raw = prenorm::emulator::SmallRawPair<prenorm::bfloat16>;

PRENORM_SMALL(__nv_bfloat16, __nv_bfloat162)
PRENORM_SMALL_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(1)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
