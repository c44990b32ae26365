// What the solutions of this folder export beside their problems, and which versions of them.
#include "device.cuh"
#include "export.cuh"
#include "product.cuh"

#include <prenorm/prenorm.hpp>

#if defined(__CUDACC__) || defined(PRENORM_CUDA_REHEARSED)  // see cuda/record/rehearse.sh
PRENORM_SOLUTION(kDLCUDA)
#else
PRENORM_SOLUTION(kDLCPU)
#endif

namespace prenorm::cuda {

#if !defined(PRENORM_CUDA_NAIVE)
const bool first_versions = false;
#else
const bool first_versions = true;

#if defined(__CUDACC__)
// The first versions need no library, and cuda-naive is not linked with one.
template <class T>
bool cublaslt_product(const Product<T>&, Stream) {
  return false;
}
template bool cublaslt_product<double>(const Product<double>&, Stream);
template bool cublaslt_product<float>(const Product<float>&, Stream);
template bool cublaslt_product<float16>(const Product<float16>&, Stream);
template bool cublaslt_product<bfloat16>(const Product<bfloat16>&, Stream);
#endif
#endif

}  // namespace prenorm::cuda

#if defined(PRENORM_CUDA_TF32)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
#endif

#if defined(PRENORM_CUDA_SOURCES)
/// The digest of the sources in this folder that were compiled.
extern "C" PRENORM_API const char* prenorm_sources() { return PRENORM_CUDA_SOURCES; }
#endif
