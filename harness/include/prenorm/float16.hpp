// The two 16-bit floating types, as storage: two bytes and the roundings to and from them.
//
// Arithmetic happens in float (or double); a value is rounded once, to nearest, ties to even, when
// it is stored (explicitly: T(value)); reading widens to float, exactly. A double is rounded
// directly, never by way of float, so that it is not rounded twice.
//
// So `sum += x[i]` and `y[i] = 2 * x[i]` do not compile where sum and y[i] have 16 bits: sum in
// float, and write y[i] = T(2 * x[i]).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace prenorm {

namespace detail {

/// The same bits as another type: std::bit_cast, which CUDA programs of C++17 lack.
template <class To, class From>
constexpr To bits_as(const From& from) {
  return __builtin_bit_cast(To, from);
}

/// Rounds a double to a binary format of 16 bits, to nearest even.
///
/// exponent_bits + mantissa_bits == 15. A magnitude beyond the largest finite value becomes an
/// infinity where rounding says so; NaN stays NaN (quiet, sign kept).
template <int exponent_bits, int mantissa_bits>
inline std::uint16_t round_to_16_bits(double value) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr int smallest_normal = 1 - bias;  // exponent of the smallest normal number
  constexpr int dropped = 52 - mantissa_bits;
  constexpr std::uint16_t infinity = ((1u << exponent_bits) - 1u) << mantissa_bits;

  std::uint64_t bits = detail::bits_as<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000u);
  bits &= 0x7fffffffffffffffu;
  const double magnitude = detail::bits_as<double>(bits);

  if (magnitude != magnitude) {
    return static_cast<std::uint16_t>(sign | infinity | (1u << (mantissa_bits - 1)));
  }
  constexpr auto power = [](int exponent) {
    return detail::bits_as<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  };
  if (magnitude < power(smallest_normal)) {  // subnormal: a whole number of smallest spacings
    const double spacings = std::nearbyint(magnitude * power(mantissa_bits - smallest_normal));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(spacings));
  }
  bits += (std::uint64_t{1} << (dropped - 1)) - 1u + ((bits >> dropped) & 1u);
  const std::int64_t exponent = static_cast<std::int64_t>(bits >> 52) - 1023 + bias;
  if (exponent >= (1 << exponent_bits) - 1) return static_cast<std::uint16_t>(sign | infinity);
  const auto mantissa = (bits >> dropped) & ((std::uint64_t{1} << mantissa_bits) - 1u);
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint64_t>(exponent) << mantissa_bits) |
                                    mantissa);
}

/// Makes unrounded results and sums in 16 bits a sentence of the compiler's rather than a list of
/// the candidates that do not fit. Overloads of your own are preferred.
struct StorageOnly {
  struct Number {
    template <class N, class = std::enable_if_t<std::is_arithmetic_v<N> ||
                                                std::is_base_of_v<StorageOnly, N>>>
    Number(const N&) {
      static_assert(sizeof(N) == 0,
                    "16-bit types only store: compute in float, then write T(value)");
    }
  };
  void operator+=(Number) {}
  void operator-=(Number) {}
  void operator*=(Number) {}
  void operator/=(Number) {}
};

}  // namespace detail

/// IEEE 754 binary16: 5 exponent bits, 10 mantissa bits; largest finite value 65504.
struct float16 : detail::StorageOnly {
  std::uint16_t bits = 0;

  float16() = default;
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  explicit float16(I value) : float16(static_cast<double>(value)) {}
  explicit float16(double value) : bits(detail::round_to_16_bits<5, 10>(value)) {}
#if defined(__F16C__)
  explicit float16(float value)
      : bits(static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT))) {}
#else
  explicit float16(float value) : float16(static_cast<double>(value)) {}
#endif

  operator float() const {
#if defined(__F16C__)
    return _cvtsh_ss(bits);
#else
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1f) return detail::bits_as<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) {  // subnormal: mantissa times 2^-24
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    return detail::bits_as<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
#endif
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  void operator=(Number) {}
};

/// bfloat16: the upper half of a float32; 8 exponent bits, 7 mantissa bits.
struct bfloat16 : detail::StorageOnly {
  std::uint16_t bits = 0;

  bfloat16() = default;
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  explicit bfloat16(I value) : bfloat16(static_cast<double>(value)) {}
  explicit bfloat16(double value) : bits(detail::round_to_16_bits<8, 7>(value)) {}
  explicit bfloat16(float value) {
    const auto wide = detail::bits_as<std::uint32_t>(value);
    if (value != value) {
      bits = static_cast<std::uint16_t>((wide >> 16) | 0x40u);
    } else {
      bits = static_cast<std::uint16_t>((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
    }
  }

  operator float() const { return detail::bits_as<float>(static_cast<std::uint32_t>(bits) << 16); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  void operator=(Number) {}
};

static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

}  // namespace prenorm
