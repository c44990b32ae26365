// Solutions of `centred` (tests/support/centred.py), most of which do not work in float32.
#include <prenorm/prenorm.hpp>

#include <bit>
#include <cstdlib>
#include <type_traits>
#include <unistd.h>

using prenorm::View;

namespace {

/// y = (x - mean(x)) * scale + bias, the mean over the last axis; 16-bit types in float32.
template <class T>
void loop(View<const T> x, View<const T> bias, double scale, View<T> y) {
  using Sum = std::conditional_t<(sizeof(T) > 4), double, float>;
  if (!(scale > 0)) throw std::invalid_argument("centred: scale must be above 0");
  const std::int64_t n = bias.size();
  for (std::int64_t row = 0; n > 0 && row < x.size() / n; ++row) {
    Sum sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<Sum>(x[row * n + i]);
    for (std::int64_t i = 0; i < n; ++i) {
      const Sum deviation = static_cast<Sum>(x[row * n + i]) - sum / static_cast<Sum>(n);
      y[row * n + i] =
          static_cast<T>(deviation * static_cast<Sum>(scale) + static_cast<Sum>(bias[i]));
    }
  }
}

/// As far off as its first value is large.
template <class T>
void coarse(View<const T> x, View<const T> bias, double scale, View<T> y) {
  loop(x, bias, scale, y);
  y[0] = static_cast<T>(static_cast<float>(y[0]) + 0.001F * static_cast<float>(x[0]));
}

}  // namespace

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(centred, loop)
PRENORM_EXPORT(centred__coarse, coarse)

/// The loop as centred__VARIANT, which does something else before where its type is.
#define BUT(variant, where, ...)                                                            \
  template <class T>                                                                        \
  void variant(View<const T> x, View<const T> bias, [[maybe_unused]] double s, View<T> y) { \
    if constexpr (where) {                                                                  \
      __VA_ARGS__;                                                                          \
    }                                                                                       \
    loop(x, bias, s, y);                                                                    \
  }                                                                                         \
  PRENORM_EXPORT(centred__##variant, variant)
#define BUT_IN_FLOAT32(variant, ...) BUT(variant, (std::is_same_v<T, float>), __VA_ARGS__)

BUT_IN_FLOAT32(throws, throw std::runtime_error("no float32 today"))
BUT_IN_FLOAT32(crashes, std::abort())
BUT_IN_FLOAT32(hangs, while (true)::pause())
BUT_IN_FLOAT32(field, return coarse(x, bias, s, y))
BUT_IN_FLOAT32(coarse_where_odd,
               if (std::bit_cast<std::uint32_t>(x[0]) % 2 == 1) return coarse(x, bias, s, y);)
BUT_IN_FLOAT32(wrong_where_negative, if (x[0] < 0) return loop(x, bias, 2 * s, y);)
BUT_IN_FLOAT32(errs, loop(x, bias, s, y); y[1] += 0.001F * x[1]; return;)
BUT_IN_FLOAT32(
    refuses_what_vanishes,
    if (static_cast<float>(s) == 0) { throw std::invalid_argument("scale must be above 0"); })
BUT(
    refuses_long, true, if (bias.size() > 8) { throw std::invalid_argument("more than 8"); })
BUT(
    refuses_all_but_8, true, if (bias.size() != 8) { throw std::invalid_argument("not 8"); })
BUT(
    refuses_negative, true,
    if (x[0] < T(0)) { throw std::invalid_argument("x must not begin with a negative number"); })
