#include "centred.hpp"

template <class T>
void f(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, Wide<T>>(x, b, s, y);
}
PRENORM_EXPORT(centred, f)
