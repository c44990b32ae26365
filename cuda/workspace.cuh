// Memory for intermediate results: on the device or, for emulated kernels, on the host.
#pragma once

#include "launch.cuh"

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <utility>

namespace prenorm::cuda {

/// Device memory that is kept as long as the process lives: a call that needs no more than an
/// earlier one on its stream allocates nothing. One static Workspace for each tensor:
///
///     static Workspace workspace("ffn_relu: hidden");
///     T* hidden = workspace.get<T>(rows * d_ff, stream);
///
/// Calls of one library come one at a time, so nothing here is locked. Work of different streams
/// may overlap on the device, so each stream has its own memory.
class Workspace {
 public:
  /// `what` begins the messages of errors.
  explicit Workspace(const char* what) : what_(what) {}

  /// Uninitialized memory for `count` elements, aligned to 256 bytes. It replaces the result of the
  /// last get for this stream. 0 elements: nullptr.
  ///
  /// Where the memory must grow this waits for the stream, which is std::runtime_error while a
  /// graph is captured: make the call once before the capture. A graph uses the memory of its
  /// capture: after a larger call it must be captured again.
  template <class T>
  T* get(std::int64_t count, Stream stream) {
    return static_cast<T*>(bytes(static_cast<std::size_t>(count) * sizeof(T), stream));
  }

  /// The same, of zeros when it is new. Kernels must leave zeros behind.
  template <class T>
  T* get_zeroed(std::int64_t count, Stream stream) {
    zeroed_ = true;
    return get<T>(count, stream);
  }

#if !defined(__CUDACC__)
  /// For tests: the bytes that all Workspaces have returned so far.
  static std::size_t bytes_given() { return bytes_given_; }
#endif

 private:
#if defined(__CUDACC__)
  /// Never freed: when static objects are destroyed CUDA may be gone.
  struct Memory {
    void* data = nullptr;
    std::size_t size = 0;
  };

  void* bytes(std::size_t wanted, Stream stream) {
    int device = 0;
    check(cudaGetDevice(&device), what_);
    Memory& memory = of_stream_[{device, stream.handle}];
    if (wanted > memory.size) grow(memory, wanted, stream);
    return wanted == 0 ? nullptr : memory.data;
  }

  void grow(Memory& memory, std::size_t wanted, Stream stream) {
    cudaStreamCaptureStatus capture{};
    check(cudaStreamIsCapturing(native(stream), &capture), what_);
    if (capture != cudaStreamCaptureStatusNone) {
      throw std::runtime_error(std::string(what_) + ": " + std::to_string(wanted) +
                               " bytes wanted while a graph is captured; call once before");
    }
    check(cudaStreamSynchronize(native(stream)), what_);
    void* old = std::exchange(memory, Memory{}).data;
    check(cudaFree(old), what_);
    check(cudaMalloc(&memory.data, wanted), what_);
    if (zeroed_) check(cudaMemsetAsync(memory.data, 0, wanted, native(stream)), what_);
    memory.size = wanted;
  }

  std::map<std::pair<int, void*>, Memory> of_stream_;
#else
  /// Allocated at every call, of exactly this size and filled with NaN: reads of unwritten memory
  /// show in the result, and AddressSanitizer sees reads beyond the end.
  void* bytes(std::size_t wanted, Stream) {
    memory_.reset();
    if (wanted == 0) return nullptr;
    memory_.reset(::operator new(wanted, alignment));
    bytes_given_ += wanted;
    std::memset(memory_.get(), zeroed_ ? 0 : 0xff, wanted);
    return memory_.get();
  }

  static inline std::size_t bytes_given_ = 0;
  static constexpr std::align_val_t alignment{256};
  struct Delete {
    void operator()(void* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<void, Delete> memory_;
#endif

  const char* what_;
  bool zeroed_ = false;
};

}  // namespace prenorm::cuda
