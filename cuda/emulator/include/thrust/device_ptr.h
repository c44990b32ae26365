// <thrust/device_ptr.h> of the emulator, and what decides where an algorithm runs: one on the
// device's iterators, or with a device's policy, is a kernel of one thread, so that what it
// accesses is checked.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <iterator>
#include <optional>
#include <ostream>
#include <type_traits>
#include <utility>

namespace thrust {

template <class T, class U>
using pair = std::pair<T, U>;
using std::make_pair;

/// An element of the device's memory: the host reads and writes it by copies.
template <class T>
class device_reference {
  using Value = std::remove_const_t<T>;

 public:
  explicit device_reference(T* at) : at_(at) {}
  operator Value() const {
    Value value{};
    cudaMemcpy(static_cast<void*>(&value), at_, sizeof value, cudaMemcpyDefault);
    return value;
  }
  device_reference& operator=(const Value& value) {
    cudaMemcpy(static_cast<void*>(at_), &value, sizeof value, cudaMemcpyDefault);
    return *this;
  }
  device_reference& operator=(const device_reference& other) { return *this = Value(other); }
  device_reference& operator+=(const Value& value) { return *this = Value(*this) + value; }
  device_reference& operator-=(const Value& value) { return *this = Value(*this) - value; }
  device_reference& operator*=(const Value& value) { return *this = Value(*this) * value; }

 private:
  T* at_;
};
template <class T>
std::ostream& operator<<(std::ostream& out, const device_reference<T>& element) {
  return out << static_cast<std::remove_const_t<T>>(element);
}

template <class T>
class device_ptr {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = device_ptr;
  using reference = device_reference<T>;

  device_ptr() = default;
  explicit device_ptr(T* at) : at_(at) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  device_ptr(const device_ptr<U>& other) : at_(other.get()) {}
  T* get() const { return at_; }
  reference operator*() const { return reference(at_); }
  reference operator[](difference_type i) const { return reference(at_ + i); }
  device_ptr& operator+=(difference_type n) {
    at_ += n;
    return *this;
  }
  device_ptr& operator-=(difference_type n) { return *this += -n; }
  device_ptr& operator++() { return *this += 1; }
  device_ptr& operator--() { return *this += -1; }
  device_ptr operator++(int) { return device_ptr(at_++); }
  device_ptr operator--(int) { return device_ptr(at_--); }
  friend device_ptr operator+(device_ptr a, difference_type n) { return a += n; }
  friend device_ptr operator+(difference_type n, device_ptr a) { return a += n; }
  friend device_ptr operator-(device_ptr a, difference_type n) { return a += -n; }
  friend difference_type operator-(device_ptr a, device_ptr b) { return a.at_ - b.at_; }
  friend bool operator==(device_ptr a, device_ptr b) { return a.at_ == b.at_; }
  friend bool operator!=(device_ptr a, device_ptr b) { return a.at_ != b.at_; }
  friend bool operator<(device_ptr a, device_ptr b) { return a.at_ < b.at_; }

 private:
  T* at_ = nullptr;
};
template <class T>
device_ptr<T> device_pointer_cast(T* at) {
  return device_ptr<T>(at);
}
template <class T>
device_ptr<T> device_pointer_cast(const device_ptr<T>& at) {
  return at;
}
template <class T>
T* raw_pointer_cast(const device_ptr<T>& at) {
  return at.get();
}
template <class T>
T* raw_pointer_cast(T* at) {
  return at;
}

namespace detail {

struct Policy {};
struct OnHost : Policy {};
struct OnDevice : Policy {
  OnDevice on(cudaStream_t) const { return {}; }
};
template <class T>
constexpr bool is_policy = std::is_base_of_v<Policy, T>;

/// Iterators as kernels use them, and whether they are the device's.
template <class It>
struct Raw {
  static constexpr bool of_device = false;
  static It of(const It& it) { return it; }
};
template <class T>
struct Raw<device_ptr<T>> {
  static constexpr bool of_device = true;
  static T* of(device_ptr<T> it) { return it.get(); }
};

template <class F>
auto on_device(const char* name, const F& f) {
  if constexpr (std::is_void_v<decltype(f())>) {
    prenorm::emulator::launch_kernel(name, {1, 1}, std::ref(f));
  } else {
    std::optional<decltype(f())> result;
    prenorm::emulator::launch_kernel(name, {1, 1}, [&] { result.emplace(f()); });
    return *result;
  }
}
/// What an algorithm gives: a raw pointer as the device's where it got such.
template <bool device, class T>
auto given(const T& result) {
  return result;
}
template <bool device, class T>
auto given(T* result) {
  if constexpr (device) {
    return device_ptr<T>(result);
  } else {
    return result;
  }
}
template <bool device, class T, class U>
auto given(const std::pair<T, U>& result) {
  return std::make_pair(given<device>(result.first), given<device>(result.second));
}
template <bool device, bool wraps, class F, class... Arguments>
auto run(const char* name, const F& f, const Arguments&... arguments) {
  const auto call = [&] { return f(Raw<Arguments>::of(arguments)...); };
  if constexpr (!device) {
    return call();
  } else if constexpr (std::is_void_v<decltype(call())>) {
    on_device(name, call);
  } else {
    return given<wraps>(on_device(name, call));
  }
}
/// f of the arguments, where their policy or their iterators say.
template <class F, class First, class... Rest>
auto dispatch(const char* name, const F& f, const First& first, const Rest&... rest) {
  constexpr bool device = (Raw<Rest>::of_device || ...);
  if constexpr (is_policy<First>) {
    return run<std::is_same_v<First, OnDevice>, device>(name, f, rest...);
  } else {
    return run < device || Raw<First>::of_device,
           device || Raw<First>::of_device > (name, f, first, rest...);
  }
}

}  // namespace detail

inline constexpr detail::OnHost host{}, seq{};
inline constexpr detail::OnDevice device{};
namespace cuda {
inline constexpr detail::OnDevice par{}, par_nosync{};
}

template <class T>
device_ptr<T> device_malloc(std::size_t n) {
  T* at = nullptr;
  cudaMalloc(&at, n * sizeof(T));
  return device_ptr<T>(at);
}
template <class T>
void device_free(device_ptr<T> at) {
  cudaFree(at.get());
}

}  // namespace thrust
