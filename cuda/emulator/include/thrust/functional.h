// <thrust/functional.h> of the emulator.
#pragma once

#include <functional>

namespace thrust {

#define PRENORM_OPERATION(name, expression)                           \
  template <class T = void>                                           \
  struct name {                                                       \
    T operator()(const T& a, const T& b) const { return expression; } \
  };                                                                  \
  template <>                                                         \
  struct name<void> {                                                 \
    template <class T>                                                \
    T operator()(const T& a, const T& b) const {                      \
      return expression;                                              \
    }                                                                 \
  };
PRENORM_OPERATION(maximum, a < b ? b : a)
PRENORM_OPERATION(minimum, b < a ? b : a)
#undef PRENORM_OPERATION
template <class T = void>
struct identity {
  const T& operator()(const T& a) const { return a; }
};
template <>
struct identity<void> {
  template <class T>
  const T& operator()(const T& a) const {
    return a;
  }
};
template <class T>
struct square {
  T operator()(const T& a) const { return a * a; }
};
using std::bit_and;
using std::bit_or;
using std::bit_xor;
using std::divides;
using std::equal_to;
using std::greater;
using std::greater_equal;
using std::less;
using std::less_equal;
using std::logical_and;
using std::logical_not;
using std::logical_or;
using std::minus;
using std::modulus;
using std::multiplies;
using std::negate;
using std::not_equal_to;
using std::plus;

}  // namespace thrust
