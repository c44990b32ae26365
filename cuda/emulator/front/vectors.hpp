// Vectors of cuBLAS.
#pragma once

#include "bounds.hpp"

#include <cstddef>

/// Every `step`th element; a negative step begins at the last one.
template <class T>
struct Vector {
  Vector(T* values, int n, int step)
      : first(step < 0 ? values - std::ptrdiff_t{n - 1} * step : values), step(step) {}
  T& operator[](int i) const { return first[std::ptrdiff_t{i} * step]; }
  T* first;
  int step;
};

/// What is written there by the routine that has this.
template <class T>
void note_written(const Vector<T>& to, int n) {
  for (int i = 0; i < n; ++i) prenorm::emulator::bounds::wrote(&to[i], sizeof(T));
}
