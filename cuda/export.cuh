// How a file of this folder exports its problem. The same sources make several solutions:
//
//     cuda-naive   the first version of each kernel
//     cuda         the launched version, and the steps between them as variants
//     cuda-tf32    as cuda, with float32 products in tf32
//
// and, compiled by the host compiler, cuda-naive-emulated and cuda-emulated. A file is compiled
// once for all of them: which version a problem's function calls is decided by solution.cu, which
// is compiled for each.
#pragma once

#include "device.cuh"

#include <prenorm/prenorm.hpp>

#if defined(__SANITIZE_ADDRESS__) && !defined(__CUDACC__)
#include <sanitizer/asan_interface.h>
#endif

namespace prenorm::cuda {

/// Where kernels run on the CPU under AddressSanitizer: marks the bytes around the call's tensors,
/// which the harness allocated and AddressSanitizer does not know, as out of bounds during the
/// call.
class Redzones {
 public:
#if defined(__SANITIZE_ADDRESS__) && !defined(__CUDACC__)
  explicit Redzones(const prenorm_call& call) : call_(call) {
    each([](const char* at, std::size_t bytes) { __asan_poison_memory_region(at, bytes); });
  }
  ~Redzones() {
    each([](const char* at, std::size_t bytes) { __asan_unpoison_memory_region(at, bytes); });
  }
  Redzones(const Redzones&) = delete;
  Redzones& operator=(const Redzones&) = delete;

 private:
  void each(auto visit) const {
    constexpr std::size_t width = 16;  // the harness keeps at least as much around each tensor
    const auto around = [&](const DLTensor* tensor) {
      if (tensor == nullptr) return;
      std::size_t bytes = tensor->dtype.bits / 8u;
      for (int axis = 0; axis < tensor->ndim; ++axis) {
        bytes *= static_cast<std::size_t>(tensor->shape[axis]);
      }
      const auto* data = static_cast<const char*>(tensor->data);
      visit(data - width, width);
      visit(data + bytes, width);
    };
    for (int i = 0; i < call_.num_inputs; ++i) around(call_.inputs[i]);
    for (int i = 0; i < call_.num_outputs; ++i) around(call_.outputs[i]);
  }
  const prenorm_call& call_;
#else
  explicit Redzones(const prenorm_call&) {}
#endif
};

/// Whether the library exports the first version of each problem: cuda-naive. Defined in
/// solution.cu.
extern const bool first_versions;

/// Runs the function that `select` has for the call's element type.
template <class Select>
int run_call(const prenorm_call* call, Select select) {
  const Redzones redzones(*call);
  return detail::run<double, float, ::prenorm::float16, ::prenorm::bfloat16>(call, select);
}

}  // namespace prenorm::cuda

#define PRENORM_CUDA_FUNCTION(name, function)                                                      \
  extern "C" PRENORM_API int prenorm_##name(const prenorm_call* call) {                            \
    return ::prenorm::cuda::run_call(call,                                                         \
                                     []<class T>(std::type_identity<T>) { return &function<T>; }); \
  }

/// Exports a problem: by its first version in cuda-naive, by the launched one in cuda.
#define PRENORM_CUDA_EXPORT(problem, naive, launched)                           \
  extern "C" PRENORM_API int prenorm_##problem(const prenorm_call* call) {      \
    return ::prenorm::cuda::run_call(call, []<class T>(std::type_identity<T>) { \
      return ::prenorm::cuda::first_versions ? &naive<T> : &launched<T>;        \
    });                                                                         \
  }

/// Exports a step of the ladder between them: cuda/v2. cuda-naive hides it (first_versions.map).
#define PRENORM_CUDA_VARIANT(problem, variant, function) \
  PRENORM_CUDA_FUNCTION(problem##__##variant, function)
