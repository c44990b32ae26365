// What fake_cuda_runtime.hpp says: functions of the CUDA runtime's names, which come before those
// of its library.
#include "fake_cuda_runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>

namespace prenorm::testing {
Device device;
}

using prenorm::testing::device;

extern "C" {

cudaError_t cudaGetDevice(int* number) { return *number = device.number, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "planted"; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? device.capability : device.has_clusters;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->ptxVersion = device.compiled_for;
  attributes->binaryVersion = 90;  // as a device of 9.0 compiles PTX
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  device.memory.insert(*memory = std::malloc(bytes));
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void*) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return device.finish(), cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) {
  ++device.questions;
  if (device.fails) return device.work.clear(), cudaErrorLaunchFailure;
  const bool busy = !device.work.empty();
  device.finish();
  return busy ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = device.captures ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void** arguments) {
  device.attributes.clear();
  for (unsigned i = 0; i < config->numAttrs; ++i) device.attributes.insert(config->attrs[i].id);
  device.work.push_back(device.work_of(arguments));
  if (device.works_alone) device.finish();
  return cudaSuccess;
}

}  // extern "C"
