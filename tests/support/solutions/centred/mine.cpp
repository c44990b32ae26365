// Not shipped: named by its path. One element is wrong, and only in float32.
#include "centred.hpp"

template <class T>
void f(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, double>(x, b, s, y);
  if constexpr (sizeof(T) == 4) y[5] += 1;
}
PRENORM_EXPORT(centred, f)
