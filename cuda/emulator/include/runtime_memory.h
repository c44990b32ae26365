// Part of cuda_runtime_api.h: memory, copies, symbols, and whose memory a pointer is to.
#pragma once

namespace prenorm::emulator {

template <class T>
cudaError_t allocate_into(T** memory, std::size_t bytes, cudaMemoryType type) {
  *memory = static_cast<T*>(allocate(bytes, type));
  return remember(*memory == nullptr && bytes > 0 ? cudaErrorMemoryAllocation : cudaSuccess);
}

}  // namespace prenorm::emulator

template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  return prenorm::emulator::allocate_into(memory, bytes, cudaMemoryTypeDevice);
}
inline cudaError_t cudaFree(void* memory) { return prenorm::emulator::release(memory); }
template <class T>
cudaError_t cudaMallocManaged(T** memory, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
  return prenorm::emulator::allocate_into(memory, bytes, cudaMemoryTypeManaged);
}
template <class T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes, unsigned = cudaHostAllocDefault) {
  return prenorm::emulator::allocate_into(memory, bytes, cudaMemoryTypeHost);
}
template <class T>
cudaError_t cudaHostAlloc(T** memory, std::size_t bytes, unsigned) {
  return cudaMallocHost(memory, bytes);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** on_device, void* on_host, unsigned) {
  *on_device = static_cast<T*>(on_host);
  return cudaSuccess;
}
inline cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  prenorm::emulator::know_host_memory(memory, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void* memory) {
  prenorm::emulator::know_host_memory(memory, 0);
  return cudaSuccess;
}

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);
inline cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
template <class T>
cudaError_t cudaMallocAsync(T** memory, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return cudaFree(memory); }

inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  using prenorm::emulator::has_room;
  if (!prenorm::emulator::fits(to, from, kind) || !has_room(to, bytes) || !has_room(from, bytes)) {
    return prenorm::emulator::remember(cudaErrorInvalidValue);
  }
  prenorm::emulator::copy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind);
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height);
inline cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height, cudaStream_t = nullptr) {
  return cudaMemset2D(to, pitch, value, width, height);
}
cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width,
                            std::size_t height);
template <class T>
cudaError_t cudaMallocPitch(T** memory, std::size_t* pitch, std::size_t width, std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(memory), pitch, width, height);
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (!prenorm::emulator::can_fill(to) || !prenorm::emulator::has_room(to, bytes)) {
    return prenorm::emulator::remember(cudaErrorInvalidValue);
  }
  prenorm::emulator::fill(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(to, value, bytes);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  if (offset + bytes > sizeof(T)) return prenorm::emulator::remember(cudaErrorInvalidValue);
  return cudaMemcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  if (offset + bytes > sizeof(T)) return prenorm::emulator::remember(cudaErrorInvalidValue);
  return cudaMemcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes, kind);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** address, T& symbol) {
  *address = &symbol;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
// Of CUDA 12 with a device's number, of CUDA 13 with a location.
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{8} << 30;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemPrefetchAsync(const T*, std::size_t, int, cudaStream_t = nullptr) {
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemPrefetchAsync(const T*, std::size_t, cudaMemLocation, unsigned,
                                 cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t = 0,
                                            unsigned = cudaMemAttachSingle) {
  return cudaSuccess;
}

inline cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  void* at = nullptr;
  std::size_t pitch = 0;
  const cudaError_t error =
      cudaMallocPitch(&at, &pitch, extent.width, extent.height * extent.depth);
  *memory = make_cudaPitchedPtr(at, pitch, extent.width, extent.height);
  return error;
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t error =
        cudaMemset2D(static_cast<char*>(memory.ptr) + z * memory.pitch * memory.ysize, memory.pitch,
                     value, extent.width, extent.height);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent,
                                     cudaStream_t = nullptr) {
  return cudaMemset3D(memory, value, extent);
}
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* how) {
  const auto row = [](const cudaPitchedPtr& memory, const cudaPos& at, std::size_t z) {
    return static_cast<char*>(memory.ptr) + ((at.z + z) * memory.ysize + at.y) * memory.pitch +
           at.x;
  };
  for (std::size_t z = 0; z < how->extent.depth; ++z) {
    const cudaError_t error = cudaMemcpy2D(row(how->dstPtr, how->dstPos, z), how->dstPtr.pitch,
                                           row(how->srcPtr, how->srcPos, z), how->srcPtr.pitch,
                                           how->extent.width, how->extent.height, how->kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* how, cudaStream_t = nullptr) {
  return cudaMemcpy3D(how);
}
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                       cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
inline cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
  *flags = cudaHostAllocDefault;
  return cudaSuccess;
}
