// The runtime's functions on the host: memory is the host's, streams have run everything when a
// call returns, events are host times, and the device is one named on paper.
#pragma once

#include "../emulator.hpp"
#include "driver_types.h"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#define CUDART_VERSION 13000
#define CUDART_CB

struct prenorm_event {
  std::chrono::steady_clock::time_point at;
};

namespace prenorm::emulator {

/// What cudaGetLastError returns next.
inline thread_local cudaError_t last_error = cudaSuccess;
/// Why a launch was refused that the program has not asked about.
inline thread_local const char* unheard = nullptr;
inline cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

/// Memory that the runtime knows. AddressSanitizer sees its bounds.
void* allocate(std::size_t bytes, cudaMemoryType type);
/// The host's own memory, which kernels may access from now on; with no bytes, no longer.
void know_host_memory(void* memory, std::size_t bytes);
cudaError_t release(void* memory);

/// memmove and memset, of a device's memory too.
void copy(void* to, const void* from, std::size_t bytes);
void fill(void* to, int value, std::size_t bytes);

/// Whether the pointers are of the sides that the direction says, as far as that is known.
bool fits(const void* to, const void* from, cudaMemcpyKind kind);
/// Whether cudaMemset may write there.
bool can_fill(const void* to);

/// An argument of a kernel: a pointer to the host's memory is remembered until the kernel has
/// ended.
void look_at_argument(int number, const void* pointer);
template <class T>
void look_at(int number, const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    look_at_argument(number, const_cast<const void*>(static_cast<const volatile void*>(argument)));
  }
}
template <class... Arguments>
void look_at_all(const Arguments&... arguments) {
  int number = 0;
  (look_at(++number, arguments), ...);
}

/// Whether the bytes are not more than the rest of the memory that a pointer points into, where the
/// runtime knows that memory.
bool has_room(const void* memory, std::size_t bytes);

/// <<<grid, block, shared, stream>>>, and where it stands.
struct Shape {
  Shape(dim3 grid_, dim3 block_, std::size_t shared_ = 0, cudaStream_t = nullptr,
        const Place& at_ = Place::current())
      : grid(grid_), block(block_), shared(shared_), at(at_) {}
  dim3 grid, block;
  std::size_t shared;
  Place at;
  bool cooperative = false;
};

/// The launch of a program: what a device refuses becomes the error that cudaGetLastError returns;
/// what is undefined ends the program with a message, or is thrown where a harness asks for it.
void launch_kernel(const char* name, const Shape& shape, const std::function<void()>& body);

/// Dynamic shared memory that a kernel may have without leave.
constexpr std::size_t shared_without_leave = 48 << 10;

/// Every kernel begins with this call. While a call is asked for its kernel, that ends there.
void enter_kernel(const char* signature);
std::string kernel_of(const std::function<void()>& call);
/// Without its types.
std::string name_of(const std::function<void()>& call);
[[noreturn]] void no_kernel_at(const Place& here);

/// Leave for so much dynamic shared memory; of all kernels, where the signature is empty.
cudaError_t allow_shared(const std::string& signature, int bytes);
std::size_t allowed_shared(const std::string& signature);

/// An argument for a call that does not get as far as to read it.
template <class T>
std::remove_reference_t<T>& no_argument() {
  alignas(
      std::remove_reference_t<T>) static unsigned char bytes[sizeof(std::remove_reference_t<T>)];
  void* const at = bytes;
  return *static_cast<std::remove_reference_t<T>*>(at);
}
template <class... Parameters>
std::string kernel_of(void (*kernel)(Parameters...)) {
  return kernel_of([kernel] { kernel(no_argument<Parameters>()...); });
}

/// A launch of a kernel that is one function, which waits for its arguments: it takes what the
/// kernel takes.
template <class... Parameters>
struct Launching {
  const char* name;
  const Shape& shape;
  void (*kernel)(Parameters...);
  void operator()(Parameters... arguments) const {
    // By reference: the arguments stay on this stack, which is no memory of the kernel.
    const auto thread = [&] { kernel(arguments...); };
    look_at_all(arguments...);
    launch_kernel(name, shape, std::cref(thread));
  }
};
template <class... Parameters>
Launching<Parameters...> launch(const char* name, const Shape& shape,
                                void (*kernel)(Parameters...)) {
  return {name, shape, kernel};
}

/// The launch of a template, of one of several functions, or of what a pointer points to. Arguments
/// are taken as by parameters of their types: an array is a pointer.
template <class Kernel, class... Arguments>
auto launch(const char* name, const Shape& shape, Kernel kernel, Arguments... arguments)
    -> decltype(kernel(arguments...)) {
  const auto thread = [&] { kernel(arguments...); };
  look_at_all(arguments...);
  launch_kernel(name, shape, std::cref(thread));
}

template <class T>
using Pointer = T*;

/// extern __shared__ T name[] outside of functions.
template <class T>
struct DynamicShared {
  operator T*() const { return reinterpret_cast<T*>(dynamic_shared_memory()); }
  template <class U>
  explicit operator U*() const {
    return reinterpret_cast<U*>(dynamic_shared_memory());
  }
};

}  // namespace prenorm::emulator

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
inline cudaError_t cudaGetLastError() {
  prenorm::emulator::unheard = nullptr;
  return std::exchange(prenorm::emulator::last_error, cudaSuccess);
}
inline cudaError_t cudaPeekAtLastError() {
  prenorm::emulator::unheard = nullptr;
  return prenorm::emulator::last_error;
}

// --- the device ----------------------------------------------------------------------------------

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return prenorm::emulator::remember(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
inline cudaError_t cudaDeviceSynchronize() { return prenorm::emulator::last_error; }
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
  *value = std::size_t{8} << 20;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = cudaDeviceScheduleAuto;
  return cudaSuccess;
}
inline cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }
inline cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
inline cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return cudaGetDevice(device);
}
inline cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:00:00.0");
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) {
  return cudaGetDevice(device);
}
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return prenorm::emulator::remember(cudaErrorPeerAccessUnsupported);
}
inline cudaError_t cudaDeviceDisablePeerAccess(int) {
  return prenorm::emulator::remember(cudaErrorPeerAccessNotEnabled);
}
inline cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  *value = 0;
  return cudaSuccess;
}
inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

#include "runtime_memory.h"

// --- streams and events --------------------------------------------------------------------------

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
using cudaHostFn_t = void (*)(void*);
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  function(data);
  return cudaSuccess;
}
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                         void* data, unsigned) {
  function(stream, cudaSuccess, data);
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return prenorm::emulator::last_error; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new prenorm_event{};
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  event->at = std::chrono::steady_clock::now();
  return cudaSuccess;
}
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t = nullptr,
                                            unsigned = cudaEventRecordDefault) {
  return cudaEventRecord(event);
}
inline cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetId(cudaStream_t, unsigned long long* number) {
  *number = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) { return cudaGetDevice(device); }
inline cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned* flags) {
  *flags = cudaStreamDefault;
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return cudaSuccess;
}

// --- kernels -------------------------------------------------------------------------------------

/// Of a function's address alone it cannot be told which kernel it is: the leave is then all
/// kernels'.
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return prenorm::emulator::allow_shared("", value);
}
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return prenorm::emulator::allow_shared(prenorm::emulator::kernel_of(kernel), value);
}

/// What the emulator knows: no registers are counted.
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA,
      maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth,
      requiredClusterHeight, requiredClusterDepth, clusterSchedulingPolicyPreference,
      nonPortableClusterSizeAllowed;
};
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 86;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(prenorm::emulator::allowed_shared(""));
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  cudaFuncGetAttributes(attributes, static_cast<const void*>(nullptr));
  attributes->maxDynamicSharedSizeBytes =
      static_cast<int>(prenorm::emulator::allowed_shared(prenorm::emulator::kernel_of(kernel)));
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel, cudaFuncCache) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int threads,
                                                          std::size_t shared) {
  const std::size_t by_threads = 1536 / static_cast<std::size_t>(threads > 0 ? threads : 1);
  const std::size_t by_memory = shared == 0 ? 16 : (std::size_t{100} << 10) / (shared + 1024);
  *blocks = static_cast<int>(by_threads < by_memory ? by_threads : by_memory);
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel, std::size_t = 0,
                                               int = 0) {
  *grid = 16 * 6;
  *block = 256;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Kernel kernel,
                                                        std::size_t shared = 0, int most = 0,
                                                        unsigned = cudaOccupancyDefault) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, shared, most);
}
template <class SharedOf, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, Kernel kernel,
                                                           SharedOf, int most = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, 0, most);
}
template <class SharedOf, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int* grid, int* block, Kernel kernel, SharedOf shared_of, int most = 0,
    unsigned = cudaOccupancyDefault) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, shared_of, most);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel kernel,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}

// Launches by a kernel's address. It has its type here: prenorm-cuda-to-cpp takes casts to void*
// away.

namespace prenorm::emulator {

template <class... Parameters, std::size_t... I>
cudaError_t launch_by_address(const Shape& shape, void (*kernel)(Parameters...), void** arguments,
                              std::index_sequence<I...>) {
  const auto thread = [&] {
    kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
  };
  look_at_all(*static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
  const cudaError_t before = std::exchange(last_error, cudaSuccess);
  const std::string name = name_of(thread);
  launch_kernel(name.c_str(), shape, std::cref(thread));
  const cudaError_t error = last_error;
  unheard = nullptr;  // the program has it
  if (error == cudaSuccess) last_error = before;
  return error;
}

}  // namespace prenorm::emulator

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared = 0, cudaStream_t stream = nullptr,
                             prenorm::emulator::Place here = prenorm::emulator::Place::current()) {
  return prenorm::emulator::launch_by_address({grid, block, shared, stream, here}, kernel,
                                              arguments, std::index_sequence_for<Parameters...>());
}
inline cudaError_t cudaLaunchKernel(
    const void*, dim3, dim3, void**, std::size_t = 0, cudaStream_t = nullptr,
    prenorm::emulator::Place here = prenorm::emulator::Place::current()) {
  prenorm::emulator::no_kernel_at(here);
}
inline cudaError_t cudaLaunchCooperativeKernel(
    const void*, dim3, dim3, void**, std::size_t = 0, cudaStream_t = nullptr,
    prenorm::emulator::Place here = prenorm::emulator::Place::current()) {
  prenorm::emulator::no_kernel_at(here);
}
template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
    cudaStream_t stream = nullptr,
    prenorm::emulator::Place here = prenorm::emulator::Place::current()) {
  int most = 0;  // that run together
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &most, kernel, static_cast<int>(block.x * block.y * block.z), shared);
  if (std::size_t{grid.x} * grid.y * grid.z > static_cast<std::size_t>(most) * 16) {
    return prenorm::emulator::remember(cudaErrorCooperativeLaunchTooLarge);
  }
  prenorm::emulator::Shape shape(grid, block, shared, stream, here);
  shape.cooperative = true;
  return prenorm::emulator::launch_by_address(shape, kernel, arguments,
                                              std::index_sequence_for<Parameters...>());
}
