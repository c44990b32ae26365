// libcublasLt.so.13 where there is none. A solution that is linked with cuBLASLt then loads, and
// only its products fail: every function reports CUBLAS_STATUS_NOT_INITIALIZED, with this reason.
// tests/record/test_record.py checks that it has every function that cuda/cublaslt.cu calls.
extern "C" {

const char* cublasLtGetStatusString(int) { return "libcublasLt.so.13 was not found here"; }

#define STAND_IN(function) \
  int function() { return 1; }
STAND_IN(cublasLtCreate)
STAND_IN(cublasLtMatmul)
STAND_IN(cublasLtMatmulAlgoGetHeuristic)
STAND_IN(cublasLtMatmulDescInit_internal)
STAND_IN(cublasLtMatmulDescSetAttribute)
STAND_IN(cublasLtMatmulPreferenceInit_internal)
STAND_IN(cublasLtMatmulPreferenceSetAttribute)
STAND_IN(cublasLtMatrixLayoutInit_internal)

}  // extern "C"
