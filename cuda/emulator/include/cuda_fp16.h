// <cuda_fp16.h> of the emulator.
#pragma once

#include "cuda_runtime.h"
#include "small_floats.h"

using __half = prenorm::emulator::SmallFloat<prenorm::float16>;
using __half2 = prenorm::emulator::SmallPair<__half>;
using half = __half;
using half2 = __half2;

using __half_raw = prenorm::emulator::SmallRaw<prenorm::float16>;
using __half2_raw = prenorm::emulator::SmallRawPair<prenorm::float16>;

PRENORM_SMALL(__half, __half2)
PRENORM_SMALL_CONVERSIONS(__half, __half2, half, half2)

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(1)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
