// Reads x as tf32 units do: with 10 mantissa bits, the others cut off.
#include "centred.hpp"

#include <bit>

template <class T>
void f(View<const T> x, View<const T> b, double s, View<T> y) {
  std::vector<T> cut(x.begin(), x.end());
  if constexpr (std::is_same_v<T, float>) {
    for (T& value : cut) {
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
    }
  }
  centre<T, Wide<T>>(View<const T>(cut.data(), x.shape()), b, s, y);
}
PRENORM_EXPORT(centred, f)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
