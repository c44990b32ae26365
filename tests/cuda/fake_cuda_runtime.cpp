// What fake_cuda_runtime.hpp says: functions of the CUDA runtime's names, which come before those
// of its library.
#include "fake_cuda_runtime.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>

namespace prenorm::testing {
Device device;
}

using prenorm::testing::device;

namespace {

/// What check_range does (device_error.cu), by its arguments.
void check_range(const std::int64_t* values, std::int64_t count, std::int64_t limit,
                 unsigned long long* first) {
  for (std::int64_t i = count; i-- > 0;) {
    if (values[i] < 0 || values[i] >= limit) *first = static_cast<unsigned long long>(i);
  }
}

template <class T>
T read_argument(void** arguments, int i) {
  return *static_cast<T*>(arguments[i]);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* number) { return *number = 0, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "planted"; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  return *value = device.has_clusters ? 1 : 0, cudaSuccess;
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
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = static_cast<cudaEvent_t>(std::malloc(1));
  device.events.insert(*event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (!device.records_events) return cudaErrorNotSupported;
  return device.recorded.insert(event), cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return device.finish(), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++device.waits_for_stream;
  return device.finish(), cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void** arguments) {
  device.work.emplace_back([values = read_argument<const std::int64_t*>(arguments, 0),
                            count = read_argument<std::int64_t>(arguments, 1),
                            limit = read_argument<std::int64_t>(arguments, 2),
                            first = read_argument<unsigned long long*>(arguments, 3)] {
    check_range(values, count, limit, first);
  });
  return cudaSuccess;
}

}  // extern "C"
