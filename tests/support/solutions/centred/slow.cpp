#include "centred.hpp"

template <class T>
void f(View<const T>, View<const T>, double, View<T>) {
  for (;;) {
  }
}
PRENORM_EXPORT(centred, f)
