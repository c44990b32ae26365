// <thrust/device_vector.h> and <thrust/host_vector.h> of the emulator.
#pragma once

#include "algorithms.h"

#include <initializer_list>
#include <vector>

namespace thrust {

template <class T>
class device_vector;

template <class T>
class host_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  host_vector() = default;
  host_vector(const std::vector<T>& other) : std::vector<T>(other) {}
  template <class U>
  host_vector(const device_vector<U>& other) : std::vector<T>(other.size()) {
    thrust::copy(other.begin(), other.end(), this->begin());
  }
  template <class U>
  host_vector& operator=(const device_vector<U>& other) {
    return *this = host_vector(other);
  }
  template <class U>
  host_vector(device_ptr<U> first, device_ptr<U> last)
      : std::vector<T>(static_cast<std::size_t>(last - first)) {
    thrust::copy(first, last, this->begin());
  }
};

/// Memory of the device that has an owner.
template <class T>
class device_vector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = device_ptr<T>;
  using const_iterator = device_ptr<const T>;
  using reference = device_reference<T>;

  device_vector() = default;
  explicit device_vector(std::size_t n, const T& value = T()) { resize(n, value); }
  device_vector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  device_vector(It first, It last) {
    assign(first, last);
  }
  device_vector(const device_vector& other) { assign(other.begin(), other.end()); }
  device_vector(device_vector&& other) noexcept { swap(other); }
  template <class U>
  device_vector(const device_vector<U>& other) {
    assign(other.begin(), other.end());
  }
  template <class U>
  device_vector(const std::vector<U>& other) {
    assign(other.begin(), other.end());
  }
  device_vector& operator=(device_vector other) {
    swap(other);
    return *this;
  }
  ~device_vector() { cudaFree(values_); }

  template <class It>
  void assign(It first, It last) {
    reserve_anew(static_cast<std::size_t>(last - first));
    thrust::copy(device, first, last, begin());
  }
  void resize(std::size_t n, const T& value = T()) {
    if (n > capacity_) {
      device_vector larger;
      larger.reserve_anew(n);
      thrust::copy(begin(), end(), larger.begin());
      larger.size_ = size_;
      swap(larger);
    }
    if (n > size_)
      thrust::fill(begin() + static_cast<std::ptrdiff_t>(size_),
                   begin() + static_cast<std::ptrdiff_t>(n), value);
    size_ = n;
  }
  void push_back(const T& value) { resize(size_ + 1, value); }
  iterator erase(iterator first, iterator last) {
    thrust::copy(last, end(), first);
    size_ -= static_cast<std::size_t>(last - first);
    return first;
  }
  void clear() { size_ = 0; }
  void shrink_to_fit() {}
  void swap(device_vector& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return iterator(values_); }
  iterator end() { return begin() + static_cast<std::ptrdiff_t>(size_); }
  const_iterator begin() const { return const_iterator(values_); }
  const_iterator end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  iterator data() { return begin(); }
  const_iterator data() const { return begin(); }
  reference operator[](std::size_t i) { return reference(values_ + i); }
  T operator[](std::size_t i) const { return begin()[static_cast<std::ptrdiff_t>(i)]; }
  reference front() { return (*this)[0]; }
  reference back() { return (*this)[size_ - 1]; }

 private:
  void reserve_anew(std::size_t n) {
    cudaFree(values_);
    values_ = nullptr;
    if (n > 0) cudaMalloc(&values_, n * sizeof(T));
    size_ = capacity_ = n;
  }
  T* values_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};
template <class T>
bool operator==(const device_vector<T>& a, const device_vector<T>& b) {
  return a.size() == b.size() && thrust::equal(a.begin(), a.end(), b.begin());
}

}  // namespace thrust
