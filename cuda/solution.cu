// What the solutions of this folder export beside their problems, which the other files do.
#include "device.cuh"

#include <prenorm/prenorm.hpp>

#if defined(__CUDACC__)
PRENORM_SOLUTION(kDLCUDA)
#else
PRENORM_SOLUTION(kDLCPU)
#endif

#if defined(PRENORM_CUDA_TF32)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
#endif

#if defined(PRENORM_CUDA_SOURCES)
/// The digest of the sources of this folder that were compiled.
extern "C" PRENORM_API const char* prenorm_sources() { return PRENORM_CUDA_SOURCES; }
#endif
