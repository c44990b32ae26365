#include "centred.hpp"

template <class T>
void reversed_sum(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, Wide<T>, true>(x, b, s, y);
}
PRENORM_EXPORT(centred__reversed, reversed_sum)
