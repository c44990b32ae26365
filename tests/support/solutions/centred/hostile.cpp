#include "centred.hpp"

template <class T>
void f(View<const T>, View<const T>, double, View<T>) {
  throw std::runtime_error("\x1b[31mred\x07 <b>&\"bold\"</b> ]]> \xff\nsecond line");
}
PRENORM_EXPORT(centred, f)
