// <cuda_fp16.h> of the emulator.
#pragma once

#include "cuda_runtime.h"
#include "small_floats.h"

using __half = prenorm::emulator::SmallFloat<prenorm::float16>;
using __half2 = prenorm::emulator::SmallPair<__half>;
using half = __half;
using half2 = __half2;

PRENORM_SMALL(__half, __half2)
PRENORM_SMALL_CONVERSIONS(__half, __half2, half, half2)
