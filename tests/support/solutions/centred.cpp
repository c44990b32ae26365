// Solutions of `centred`, a problem that the harness has never heard of (tests/support/centred.py):
// a library for each part.
#include <prenorm/prenorm.hpp>

#include <bit>
#include <type_traits>
#include <vector>

using prenorm::View;

/// y = (x - mean(x)) * scale + bias, the mean over the last axis, summed in Sum.
template <class T, class Sum, bool reversed = false>
void centre(View<const T> x, View<const T> bias, double scale, View<T> y, Sum divide_by = 0) {
  if (!(scale > 0)) throw std::invalid_argument("centred: scale must be above 0");
  const std::int64_t n = bias.size();
  for (std::int64_t row = 0; n > 0 && row < x.size() / n; ++row) {
    Sum sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<Sum>(x[row * n + (reversed ? n - 1 - i : i)]);
    }
    const Sum mean = sum / (divide_by > 0 ? divide_by : static_cast<Sum>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      y[row * n + i] =
          static_cast<T>((static_cast<Sum>(x[row * n + i]) - mean) * static_cast<Sum>(scale) +
                         static_cast<Sum>(bias[i]));
    }
  }
}

template <class T>
using Wide = std::conditional_t<(sizeof(T) > 4), double, float>;

PRENORM_SOLUTION(kDLCPU)

#if defined(PART_honest)
template <class T>
void reversed_sum(View<const T> x, View<const T> b, double s, View<T> y) {
  centre<T, Wide<T>, true>(x, b, s, y);
}
PRENORM_EXPORT(centred__reversed, reversed_sum)
#elif defined(PART_mistakes)
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
#else
template <class T>
void f([[maybe_unused]] View<const T> x, [[maybe_unused]] View<const T> b,
       [[maybe_unused]] double s, [[maybe_unused]] View<T> y) {
#if defined(PART_reference)
  centre<T, double>(x, b, s, y);
#elif defined(PART_plain)
  centre<T, Wide<T>>(x, b, s, y);
#elif defined(PART_mine)  // not shipped: named by its path
  centre<T, double>(x, b, s, y);
  if constexpr (sizeof(T) == 4) y[5] += 1;  // one element is wrong, and only in float32
#elif defined(PART_off)
  centre<T, double>(x, b, s * 1.001, y);
#elif defined(PART_slow)
  for (;;) {
  }
#elif defined(PART_hostile)
  throw std::runtime_error("\x1b[31mred\x07 <b>&\"bold\"</b> ]]> \xff\nsecond line");
#elif defined(PART_tf32)
  // Reads x as tf32 units do: with 10 mantissa bits, the others cut off.
  std::vector<T> cut(x.begin(), x.end());
  if constexpr (std::is_same_v<T, float>) {
    for (T& value : cut) {
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000u);
    }
  }
  centre<T, Wide<T>>(View<const T>(cut.data(), x.shape()), b, s, y);
#endif
}
PRENORM_EXPORT(centred, f)
#if defined(PART_tf32)
extern "C" PRENORM_API const char* prenorm_mode() { return "tf32"; }
#endif
#endif
