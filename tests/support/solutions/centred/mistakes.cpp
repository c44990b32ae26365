#include "centred.hpp"

template <class T>
void no_bias(View<const T> x, View<const T> b, double s, View<T> y) {
  std::vector<T> none(static_cast<std::size_t>(b.size()), T(0));
  centre<T, double>(x, View<const T>(none.data(), b.shape()), s, y);
}
template <class T>
void no_scale(View<const T> x, View<const T> b, double, View<T> y) {
  centre<T, double>(x, b, 1.0, y);
}
template <class T>
void sum_for_mean(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, double>(x, b, s, y, 1.0);
}
PRENORM_EXPORT(centred__no_bias, no_bias)
PRENORM_EXPORT(centred__no_scale, no_scale)
PRENORM_EXPORT_FOR(centred__sum_for_mean, sum_for_mean, float, double)
