// <thrust/iterator/counting_iterator.h> of the emulator, and a constant one.
#pragma once

#include "../device_ptr.h"

namespace thrust {

/// Of values that a position determines.
template <class T, class At>
class computed_iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = T;

  explicit computed_iterator(const T& first) : at_{first}, position_(0) {}
  computed_iterator(At at, difference_type position) : at_(at), position_(position) {}
  T operator*() const { return at_(position_); }
  T operator[](difference_type i) const { return at_(position_ + i); }
  computed_iterator& operator+=(difference_type n) {
    position_ += n;
    return *this;
  }
  computed_iterator& operator++() { return *this += 1; }
  computed_iterator operator++(int) { return computed_iterator(at_, position_++); }
  friend computed_iterator operator+(computed_iterator a, difference_type n) { return a += n; }
  friend computed_iterator operator-(computed_iterator a, difference_type n) { return a += -n; }
  friend difference_type operator-(const computed_iterator& a, const computed_iterator& b) {
    return a.at_.from(a.position_) - b.at_.from(b.position_);
  }
  friend bool operator==(const computed_iterator& a, const computed_iterator& b) {
    return a - b == 0;
  }
  friend bool operator!=(const computed_iterator& a, const computed_iterator& b) {
    return a - b != 0;
  }
  At at_;
  difference_type position_;
};

namespace detail {

template <class T>
struct Counted {
  T begin;
  T operator()(std::ptrdiff_t i) const { return static_cast<T>(begin + static_cast<T>(i)); }
  std::ptrdiff_t from(std::ptrdiff_t i) const { return static_cast<std::ptrdiff_t>(begin) + i; }
};
template <class T>
struct Constant {
  T value;
  T operator()(std::ptrdiff_t) const { return value; }
  std::ptrdiff_t from(std::ptrdiff_t i) const { return i; }
};

}  // namespace detail

template <class T>
using counting_iterator = computed_iterator<T, detail::Counted<T>>;
template <class T>
using constant_iterator = computed_iterator<T, detail::Constant<T>>;
template <class T>
counting_iterator<T> make_counting_iterator(T begin) {
  return counting_iterator<T>(begin);
}
template <class T>
constant_iterator<T> make_constant_iterator(T value) {
  return constant_iterator<T>(value);
}

}  // namespace thrust
