// Names of errors and states as programs print and compare them: of the runtime, cuBLAS and cuRAND.
#include <cublas_v2.h>
#include <cublasLt.h>
#include <curand.h>

#include <cstring>

#include "check.h"

__global__ void nothing() {}

int main() {
  nothing<<<1, 2048>>>();
  const bool refused = cudaPeekAtLastError() == cudaErrorInvalidConfiguration;
  const bool named =
      std::strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidConfiguration") == 0;
  const bool clear = cudaGetLastError() == cudaSuccess;

  cublasHandle_t handle;
  cublasLtHandle_t light;
  cublasMath_t math;
  cublasPointerMode_t pointers;
  const bool made = cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS &&
                    cublasLtCreate(&light) == CUBLAS_STATUS_SUCCESS;
  cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
  cublasGetMathMode(handle, &math);
  cublasGetPointerMode(handle, &pointers);
  const bool kept = math == CUBLAS_TF32_TENSOR_OP_MATH && pointers == CUBLAS_POINTER_MODE_HOST;
  const float one = 1;
  const bool wrong = cublasSgemv(handle, CUBLAS_OP_N, 4, 4, &one, nullptr, 2, nullptr, 1, &one,
                                 nullptr, 1) == CUBLAS_STATUS_INVALID_VALUE;
  cublasLtDestroy(light);
  cublasDestroy(handle);
  const bool absent = curandGenerate(nullptr, nullptr, 1) == CURAND_STATUS_NOT_INITIALIZED;
  expect("states", std::vector<int>{refused, named, clear, made, kept, wrong, absent},
         std::vector<int>(7, 1), 0);
}
