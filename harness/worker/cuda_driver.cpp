#include "worker/cuda_driver.hpp"

#include "worker/device.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace prenorm::harness::cuda {
namespace {

/// Null where there is none.
template <class Function>
void find_newer(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
  find_newer(library, name, function);
  if (function == nullptr) {
    throw NoDevice("the CUDA driver is too old: it has no function " + std::string(name));
  }
}

void* open_library() {
  const char* given = std::getenv("PRENORM_CUDA_DRIVER");
  const bool chosen = given != nullptr && *given != '\0';
  if (void* library = ::dlopen(chosen ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    return library;
  }
  const std::string reason = ::dlerror();
  const bool absent = reason.find("No such file") != std::string::npos;
  throw NoDevice(absent ? "no CUDA device" : "the CUDA driver cannot be loaded: " + reason);
}

Driver load() {
  void* library = open_library();
  Driver driver{};
  find(library, "cuGetErrorName", driver.GetErrorName);
  find(library, "cuGetErrorString", driver.GetErrorString);
  find(library, "cuInit", driver.Init);
  find(library, "cuDriverGetVersion", driver.DriverGetVersion);
  find(library, "cuDeviceGetCount", driver.DeviceGetCount);
  find(library, "cuDeviceGet", driver.DeviceGet);
  find(library, "cuDeviceGetName", driver.DeviceGetName);
  find(library, "cuDeviceGetAttribute", driver.DeviceGetAttribute);
  find(library, "cuDeviceTotalMem_v2", driver.DeviceTotalMem);
  find(library, "cuDevicePrimaryCtxRetain", driver.DevicePrimaryCtxRetain);
  find(library, "cuCtxSetCurrent", driver.CtxSetCurrent);
  find(library, "cuCtxSynchronize", driver.CtxSynchronize);
  find(library, "cuMemAlloc_v2", driver.MemAlloc);
  find(library, "cuMemFree_v2", driver.MemFree);
  find(library, "cuMemcpyHtoDAsync_v2", driver.MemcpyHtoDAsync);
  find(library, "cuMemcpyDtoHAsync_v2", driver.MemcpyDtoHAsync);
  find(library, "cuMemcpyDtoDAsync_v2", driver.MemcpyDtoDAsync);
  find(library, "cuMemsetD8Async", driver.MemsetD8Async);
  find(library, "cuStreamCreate", driver.StreamCreate);
  find(library, "cuStreamSynchronize", driver.StreamSynchronize);
  find(library, "cuEventCreate", driver.EventCreate);
  find(library, "cuEventRecord", driver.EventRecord);
  find(library, "cuEventSynchronize", driver.EventSynchronize);
  find(library, "cuEventElapsedTime", driver.EventElapsedTime);
  find(library, "cuModuleLoadData", driver.ModuleLoadData);
  find(library, "cuModuleGetFunction", driver.ModuleGetFunction);
  find(library, "cuLaunchKernel", driver.LaunchKernel);
  find_newer(library, "cuCtxSetLimit", driver.CtxSetLimit);
  find_newer(library, "cuCtxResetPersistingL2Cache", driver.CtxResetPersistingL2Cache);
  find_newer(library, "cuStreamSetAttribute", driver.StreamSetAttribute);
  return driver;
}

}  // namespace

std::string Driver::text(Result result) const {
  const char *name = nullptr, *meaning = nullptr;
  if (GetErrorName(result, &name) != success || name == nullptr) {
    return "CUDA error " + std::to_string(result);
  }
  if (GetErrorString(result, &meaning) != success || meaning == nullptr) return name;
  return std::string(meaning) + " (" + name + ")";
}

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

void check(Result result) {
  if (result == success) return;
  if (result == out_of_memory) throw OutOfDeviceMemory("out of device memory");
  throw DeviceFailed("the device failed: " + driver().text(result));
}

Allocation::Allocation(std::size_t bytes) : size_(bytes) {
  check(driver().MemAlloc(&pointer_, bytes));
}
Allocation::~Allocation() { driver().MemFree(pointer_); }

}  // namespace prenorm::harness::cuda
