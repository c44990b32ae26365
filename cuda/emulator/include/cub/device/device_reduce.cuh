// cub's DeviceReduce and DeviceScan in the emulator: a kernel of one thread goes through all
// values.
#pragma once

#include "../cub.cuh"

#include <iterator>
#include <limits>

namespace cub {
namespace detail {

/// Without storage it says how much is wanted; with it, f runs on the device.
template <class F>
cudaError_t on_device(const char* name, void* storage, std::size_t& bytes, const F& f) {
  if (storage == nullptr) {
    bytes = 1;
    return cudaSuccess;
  }
  prenorm::emulator::launch_kernel(name, {1, 1}, std::ref(f));
  return cudaPeekAtLastError();
}
template <class It>
using Value = std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<It>())>>;

}  // namespace detail

struct DeviceReduce {
  template <class In, class Out, class Join, class T>
  static cudaError_t Reduce(void* storage, std::size_t& bytes, In in, Out out, int n, Join join,
                            T first, cudaStream_t = nullptr) {
    return detail::on_device("cub::DeviceReduce", storage, bytes, [&] {
      T result = first;
      for (int i = 0; i < n; ++i) result = join(result, in[i]);
      *out = result;
    });
  }
  template <class In, class Out>
  static cudaError_t Sum(void* storage, std::size_t& bytes, In in, Out out, int n,
                         cudaStream_t = nullptr) {
    return Reduce(storage, bytes, in, out, n, cub::Sum(), detail::Value<In>(0));
  }
  template <class In, class Out>
  static cudaError_t Min(void* storage, std::size_t& bytes, In in, Out out, int n,
                         cudaStream_t = nullptr) {
    return Reduce(storage, bytes, in, out, n, cub::Min(),
                  std::numeric_limits<detail::Value<In>>::max());
  }
  template <class In, class Out>
  static cudaError_t Max(void* storage, std::size_t& bytes, In in, Out out, int n,
                         cudaStream_t = nullptr) {
    return Reduce(storage, bytes, in, out, n, cub::Max(),
                  std::numeric_limits<detail::Value<In>>::lowest());
  }
};

struct DeviceScan {
  template <class In, class Out, class Join>
  static cudaError_t InclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Join join,
                                   int n, cudaStream_t = nullptr) {
    return detail::on_device("cub::DeviceScan", storage, bytes, [&] {
      detail::Value<In> sum{};
      for (int i = 0; i < n; ++i) out[i] = sum = i == 0 ? in[i] : join(sum, in[i]);
    });
  }
  template <class In, class Out, class Join, class T>
  static cudaError_t ExclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Join join,
                                   T first, int n, cudaStream_t = nullptr) {
    return detail::on_device("cub::DeviceScan", storage, bytes, [&] {
      T sum = first;
      for (int i = 0; i < n; ++i) {
        const T next = join(sum, in[i]);
        out[i] = sum;
        sum = next;
      }
    });
  }
  template <class In, class Out>
  static cudaError_t InclusiveSum(void* storage, std::size_t& bytes, In in, Out out, int n,
                                  cudaStream_t = nullptr) {
    return InclusiveScan(storage, bytes, in, out, cub::Sum(), n);
  }
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* storage, std::size_t& bytes, In in, Out out, int n,
                                  cudaStream_t = nullptr) {
    return ExclusiveScan(storage, bytes, in, out, cub::Sum(), detail::Value<In>(0), n);
  }
};

}  // namespace cub
