// NVIDIA's driver, loaded on demand. The declarations are our own: the harness builds without
// the CUDA toolkit and runs without a driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace prenorm::harness::cuda {

using Result = int;                     // CUresult
using DeviceNumber = int;               // CUdevice
using Pointer = unsigned long long;     // CUdeviceptr
using Context = struct ContextObject*;  // CUcontext
using Stream = struct StreamObject*;    // CUstream
using Event = struct EventObject*;      // CUevent
using Module = struct ModuleObject*;    // CUmodule
using Function = struct CodeObject*;    // CUfunction

constexpr Result success = 0, out_of_memory = 2, no_device = 100;
/// CUdevice_attribute.
constexpr int l2_cache_size = 38, capability_major = 75, capability_minor = 76;
/// CUstream_flags: no waiting for the legacy default stream.
constexpr unsigned non_blocking = 1;
/// CUlimit, CUstreamAttrID.
constexpr int persisting_l2_bytes = 6, access_policy_window = 1;

/// CUstreamAttrValue; all zeros: no window.
struct StreamAttribute {
  alignas(8) unsigned char bytes[64];
};

/// The driver's functions, under its own names without `cu`.
struct Driver {
  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*Init)(unsigned flags);
  Result (*DriverGetVersion)(int*);
  Result (*DeviceGetCount)(int*);
  Result (*DeviceGet)(DeviceNumber*, int ordinal);
  Result (*DeviceGetName)(char*, int length, DeviceNumber);
  Result (*DeviceGetAttribute)(int*, int attribute, DeviceNumber);
  Result (*DeviceTotalMem)(std::size_t*, DeviceNumber);
  Result (*DevicePrimaryCtxRetain)(Context*, DeviceNumber);
  Result (*CtxSetCurrent)(Context);
  Result (*CtxSynchronize)();
  Result (*MemAlloc)(Pointer*, std::size_t bytes);
  Result (*MemFree)(Pointer);
  Result (*MemcpyHtoDAsync)(Pointer to, const void* from, std::size_t bytes, Stream);
  Result (*MemcpyDtoHAsync)(void* to, Pointer from, std::size_t bytes, Stream);
  Result (*MemcpyDtoDAsync)(Pointer to, Pointer from, std::size_t bytes, Stream);
  Result (*MemsetD8Async)(Pointer, unsigned char value, std::size_t bytes, Stream);
  Result (*StreamCreate)(Stream*, unsigned flags);
  Result (*StreamSynchronize)(Stream);
  Result (*EventCreate)(Event*, unsigned flags);
  Result (*EventRecord)(Event, Stream);
  Result (*EventSynchronize)(Event);
  Result (*EventElapsedTime)(float* milliseconds, Event start, Event end);
  Result (*ModuleLoadData)(Module*, const void* image);
  Result (*ModuleGetFunction)(Function*, Module, const char* name);
  Result (*LaunchKernel)(Function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                         unsigned threads_x, unsigned threads_y, unsigned threads_z,
                         unsigned shared_bytes, Stream, void** parameters, void** extra);
  // Of CUDA 11; null where the driver is older.
  Result (*CtxSetLimit)(int limit, std::size_t value);
  Result (*CtxResetPersistingL2Cache)();
  Result (*StreamSetAttribute)(Stream, int attribute, const StreamAttribute*);

  /// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string text(Result result) const;
};

/// Loads libcuda.so.1, or the library that $PRENORM_CUDA_DRIVER names. Once; never unloaded.
///
/// Throws NoDevice: "no CUDA device" if there is no such library, else what is wrong with it.
const Driver& driver();

/// Throws OutOfDeviceMemory or DeviceFailed unless the result is success.
void check(Result result);

/// Bytes on the device.
class Allocation {
 public:
  /// Throws as check does.
  explicit Allocation(std::size_t bytes);
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  Pointer get() const { return pointer_; }
  std::size_t size() const { return size_; }

 private:
  Pointer pointer_ = 0;
  std::size_t size_;
};

}  // namespace prenorm::harness::cuda
