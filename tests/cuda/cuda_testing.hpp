// What tests of kernels share that run emulated and on a device: tensors of the host as kernels see
// them, in the host's own memory or as a copy on the device; and, emulated, which kernels run.
#pragma once

#include "launch.cuh"
#include "types.cuh"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prenorm::cuda {

using Kernels = std::vector<std::string>;

/// Numbers in [-scale, scale], always the same for a seed.
template <class T>
std::vector<T> uniform(std::int64_t count, std::uint64_t seed, double scale) {
  std::vector<T> values;
  std::uint64_t state = seed;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.emplace_back((static_cast<double>(state >> 33) / 0x40000000 - 1) * scale);
  }
  return values;
}

/// Elements in that many vectors of 16 bytes.
template <class T>
std::int64_t in(std::int64_t vectors) {
  return vectors * vector_width<T>;
}

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

/// The kernels that `work` launches, in order.
Kernels launches(const auto& work) {
  static Kernels launched;
  launched.clear();
  emulator::observe_launch = [](const emulator::Launch& l) { launched.emplace_back(l.kernel); };
  work();
  emulator::observe_launch = nullptr;
  return launched;
}
#endif

}  // namespace prenorm::cuda
