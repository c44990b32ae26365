// Tensors of the host as kernels see them, in tests that run emulated and on a device: the host's
// own memory, or a copy on the device.
#pragma once

#include "launch.cuh"

#include <cstddef>
#include <cstdint>

namespace prenorm::cuda {

#if defined(__CUDACC__)
constexpr bool on_a_device = true;

/// A copy of the host's [begin, begin + count), at the same address modulo 256. What kernels have
/// written is in the host's memory after take_back().
template <class T>
class Mirror {
 public:
  Mirror(T* begin, std::int64_t count)
      : begin_(begin), bytes_(count > 0 ? static_cast<std::size_t>(count) * sizeof(T) : 0) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(begin) % 256;
    check(cudaMalloc(&memory_, bytes_ + 256), "mirror");
    copy_ = reinterpret_cast<T*>(static_cast<std::byte*>(memory_) + offset);
    check(cudaMemcpy(const_cast<void*>(static_cast<const void*>(copy_)), begin, bytes_,
                     cudaMemcpyHostToDevice),
          "mirror");
  }
  ~Mirror() { cudaFree(memory_); }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  T* data() const { return copy_; }
  void take_back() const {
    check(cudaMemcpy(begin_, copy_, bytes_, cudaMemcpyDeviceToHost), "a kernel");
  }

 private:
  T* begin_;
  std::size_t bytes_;
  void* memory_ = nullptr;
  T* copy_;
};
#else
constexpr bool on_a_device = false;

template <class T>
class Mirror {
 public:
  Mirror(T* begin, std::int64_t) : begin_(begin) {}
  T* data() const { return begin_; }
  void take_back() const {}

 private:
  T* begin_;
};
#endif

}  // namespace prenorm::cuda
