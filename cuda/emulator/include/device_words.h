// Intrinsics on integers and on the parts of a 32-bit word: two of 16 bits, or four of 8.
#pragma once

#include "../cuda_language.hpp"

#include <cstdlib>
#include <limits>
#include <type_traits>

// --- bits
// ------------------------------------------------------------------------------------------

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) {
  return bits == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(bits));
}
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline unsigned __brev(unsigned bits) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= ((bits >> i) & 1u) << (31 - i);
  return result;
}
inline unsigned long long __brevll(unsigned long long bits) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(bits))) << 32) |
         __brev(static_cast<unsigned>(bits >> 32));
}
/// The position of the offset-th set bit from `base` on, upward or downward; ~0: there is none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return (mask >> base & 1u) != 0 ? base : ~0u;
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step) {
    if ((mask >> i & 1u) != 0 && --left == 0) return static_cast<unsigned>(i);
  }
  return ~0u;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? high : (high << shift) | (low >> (32 - shift));
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? low : (low >> shift) | (high << (32 - shift));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(y) << 32) | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned select = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (select & 7u))) & 0xffu;
    if ((select & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0;  // its sign, in all bits
    result |= byte << (8 * i);
  }
  return result;
}

// --- integers
// --------------------------------------------------------------------------------------

inline int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned>(low(a)) * static_cast<unsigned>(low(b)));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(std::abs(static_cast<long long>(a) - b));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
/// Means, rounded down or up.
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

namespace prenorm::emulator {

/// Part i of a word, of type T.
template <class T>
T part(unsigned word, int i) {
  return static_cast<T>(word >> (8 * static_cast<int>(sizeof(T)) * i));
}
/// What f gives for each part of the words.
template <class T, class F, class... Words>
unsigned by_parts(F f, Words... words) {
  using Bits = std::make_unsigned_t<T>;
  unsigned result = 0;
  for (int i = 0; i < static_cast<int>(4 / sizeof(T)); ++i) {
    const auto bits = static_cast<Bits>(f(static_cast<long long>(part<T>(words, i))...));
    result |= static_cast<unsigned>(bits) << (8 * static_cast<int>(sizeof(T)) * i);
  }
  return result;
}
/// Of the parts, without their signs.
template <class T>
unsigned sum_of_differences(unsigned x, unsigned y) {
  unsigned sum = 0;
  for (int i = 0; i < static_cast<int>(4 / sizeof(T)); ++i) {
    sum += static_cast<unsigned>(std::abs(part<T>(x, i) - part<T>(y, i)));
  }
  return sum;
}
/// The nearest value of type T.
template <class T>
long long clamped(long long x) {
  using Limits = std::numeric_limits<T>;
  return x < Limits::min() ? Limits::min() : x > Limits::max() ? Limits::max() : x;
}

}  // namespace prenorm::emulator

inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += prenorm::emulator::part<signed char>(static_cast<unsigned>(a), i) *
         prenorm::emulator::part<signed char>(static_cast<unsigned>(b), i);
  }
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<unsigned>(prenorm::emulator::part<unsigned char>(a, i)) *
         prenorm::emulator::part<unsigned char>(b, i);
  }
  return c;
}
#define PRENORM_DP2A(name, first)                                                     \
  inline int name(int a, int b, int c) {                                              \
    for (int i = 0; i < 2; ++i) {                                                     \
      c += prenorm::emulator::part<short>(static_cast<unsigned>(a), i) *              \
           prenorm::emulator::part<signed char>(static_cast<unsigned>(b), first + i); \
    }                                                                                 \
    return c;                                                                         \
  }                                                                                   \
  inline unsigned name(unsigned a, unsigned b, unsigned c) {                          \
    for (int i = 0; i < 2; ++i) {                                                     \
      c += static_cast<unsigned>(prenorm::emulator::part<unsigned short>(a, i)) *     \
           prenorm::emulator::part<unsigned char>(b, first + i);                      \
    }                                                                                 \
    return c;                                                                         \
  }
PRENORM_DP2A(__dp2a_lo, 0)
PRENORM_DP2A(__dp2a_hi, 2)
#undef PRENORM_DP2A
// The same of vectors of parts.
#define PRENORM_DOT(name, A, B, C, word)                                      \
  inline C name(A a, B b, C c) {                                              \
    return name(__builtin_bit_cast(word, a), __builtin_bit_cast(word, b), c); \
  }
PRENORM_DOT(__dp4a, char4, char4, int, int)
PRENORM_DOT(__dp4a, uchar4, uchar4, unsigned, unsigned)
PRENORM_DOT(__dp2a_lo, short2, char4, int, int)
PRENORM_DOT(__dp2a_lo, ushort2, uchar4, unsigned, unsigned)
PRENORM_DOT(__dp2a_hi, short2, char4, int, int)
PRENORM_DOT(__dp2a_hi, ushort2, uchar4, unsigned, unsigned)
#undef PRENORM_DOT

// --- the parts of a word
// -----------------------------------------------------------------------------

#define PRENORM_WORD(name, T, expression)                                             \
  inline unsigned name(unsigned x) {                                                  \
    return prenorm::emulator::by_parts<T>([](long long a) { return expression; }, x); \
  }
#define PRENORM_WORDS(name, T, expression)                                                        \
  inline unsigned name(unsigned x, unsigned y) {                                                  \
    return prenorm::emulator::by_parts<T>([](long long a, long long b) { return expression; }, x, \
                                          y);                                                     \
  }
#define PRENORM_COMPARED(name, T, n, operation)                   \
  PRENORM_WORDS(__vcmp##name##n, T, (a operation b) ? -1LL : 0LL) \
  PRENORM_WORDS(__vset##name##n, T, (a operation b) ? 1LL : 0LL)
#define PRENORM_PARTS(n, S, U)                                                \
  PRENORM_WORD(__vabs##n, S, a < 0 ? -a : a)                                  \
  PRENORM_WORD(__vabsss##n, S, prenorm::emulator::clamped<S>(a < 0 ? -a : a)) \
  PRENORM_WORD(__vneg##n, S, -a)                                              \
  PRENORM_WORD(__vnegss##n, S, prenorm::emulator::clamped<S>(-a))             \
  PRENORM_WORDS(__vadd##n, U, a + b)                                          \
  PRENORM_WORDS(__vsub##n, U, a - b)                                          \
  PRENORM_WORDS(__vaddss##n, S, prenorm::emulator::clamped<S>(a + b))         \
  PRENORM_WORDS(__vaddus##n, U, prenorm::emulator::clamped<U>(a + b))         \
  PRENORM_WORDS(__vsubss##n, S, prenorm::emulator::clamped<S>(a - b))         \
  PRENORM_WORDS(__vsubus##n, U, prenorm::emulator::clamped<U>(a - b))         \
  PRENORM_WORDS(__vabsdiffs##n, S, a < b ? b - a : a - b)                     \
  PRENORM_WORDS(__vabsdiffu##n, U, a < b ? b - a : a - b)                     \
  PRENORM_WORDS(__vavgs##n, S, (a + b + (a + b >= 0 ? 1 : 0)) >> 1)           \
  PRENORM_WORDS(__vavgu##n, U, (a + b + 1) >> 1)                              \
  PRENORM_WORDS(__vhaddu##n, U, (a + b) >> 1)                                 \
  PRENORM_WORDS(__vmaxs##n, S, a < b ? b : a)                                 \
  PRENORM_WORDS(__vmaxu##n, U, a < b ? b : a)                                 \
  PRENORM_WORDS(__vmins##n, S, b < a ? b : a)                                 \
  PRENORM_WORDS(__vminu##n, U, b < a ? b : a)                                 \
  PRENORM_COMPARED(eq, U, n, ==)                                              \
  PRENORM_COMPARED(ne, U, n, !=)                                              \
  PRENORM_COMPARED(ges, S, n, >=)                                             \
  PRENORM_COMPARED(geu, U, n, >=)                                             \
  PRENORM_COMPARED(gts, S, n, >)                                              \
  PRENORM_COMPARED(gtu, U, n, >)                                              \
  PRENORM_COMPARED(les, S, n, <=)                                             \
  PRENORM_COMPARED(leu, U, n, <=)                                             \
  PRENORM_COMPARED(lts, S, n, <)                                              \
  PRENORM_COMPARED(ltu, U, n, <)                                              \
  inline unsigned __vsads##n(unsigned x, unsigned y) {                        \
    return prenorm::emulator::sum_of_differences<S>(x, y);                    \
  }                                                                           \
  inline unsigned __vsadu##n(unsigned x, unsigned y) {                        \
    return prenorm::emulator::sum_of_differences<U>(x, y);                    \
  }
PRENORM_PARTS(2, short, unsigned short)
PRENORM_PARTS(4, signed char, unsigned char)
#undef PRENORM_PARTS
#undef PRENORM_COMPARED
#undef PRENORM_WORDS
#undef PRENORM_WORD

// Sums, then the larger or the smaller, then not less than 0.
#define PRENORM_DPX(kind, T, W)                                          \
  inline W __viaddmax_##kind(W a, W b, W c) {                            \
    return prenorm::emulator::of_three<T>(a, b, c, true, true, false);   \
  }                                                                      \
  inline W __viaddmin_##kind(W a, W b, W c) {                            \
    return prenorm::emulator::of_three<T>(a, b, c, true, false, false);  \
  }                                                                      \
  inline W __vimax3_##kind(W a, W b, W c) {                              \
    return prenorm::emulator::of_three<T>(a, b, c, false, true, false);  \
  }                                                                      \
  inline W __vimin3_##kind(W a, W b, W c) {                              \
    return prenorm::emulator::of_three<T>(a, b, c, false, false, false); \
  }
#define PRENORM_DPX_RELU(kind, T, W)                                    \
  inline W __viaddmax_##kind##_relu(W a, W b, W c) {                    \
    return prenorm::emulator::of_three<T>(a, b, c, true, true, true);   \
  }                                                                     \
  inline W __viaddmin_##kind##_relu(W a, W b, W c) {                    \
    return prenorm::emulator::of_three<T>(a, b, c, true, false, true);  \
  }                                                                     \
  inline W __vimax3_##kind##_relu(W a, W b, W c) {                      \
    return prenorm::emulator::of_three<T>(a, b, c, false, true, true);  \
  }                                                                     \
  inline W __vimin3_##kind##_relu(W a, W b, W c) {                      \
    return prenorm::emulator::of_three<T>(a, b, c, false, false, true); \
  }                                                                     \
  inline W __vimax_##kind##_relu(W a, W b) {                            \
    return prenorm::emulator::of_three<T>(a, a, b, false, true, true);  \
  }                                                                     \
  inline W __vimin_##kind##_relu(W a, W b) {                            \
    return prenorm::emulator::of_three<T>(a, a, b, false, false, true); \
  }

namespace prenorm::emulator {

/// The larger (`most`) or smaller of the parts of a, b and c, or of a + b and c (`adds`); no part
/// below 0 where `relu` says so.
template <class T, class W>
W of_three(W x, W y, W z, bool adds, bool most, bool relu) {
  const auto chosen = [most](long long a, long long b) { return (a < b) == most ? b : a; };
  return static_cast<W>(by_parts<T>(
      [&](long long a, long long b, long long c) {
        const long long sum = static_cast<T>(a + b);
        const long long result = chosen(adds ? sum : chosen(a, b), c);
        return relu && result < 0 ? 0 : result;
      },
      static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)));
}

}  // namespace prenorm::emulator

PRENORM_DPX(s32, int, int)
PRENORM_DPX(u32, unsigned, unsigned)
PRENORM_DPX(s16x2, short, unsigned)
PRENORM_DPX(u16x2, unsigned short, unsigned)
PRENORM_DPX_RELU(s32, int, int)
PRENORM_DPX_RELU(s16x2, short, unsigned)
#undef PRENORM_DPX
#undef PRENORM_DPX_RELU

// The larger or smaller, and whether it is the first; of two parts, the high one's answer first.
#define PRENORM_CHOICE(name, T, chosen)             \
  inline T __vib##name##32(T a, T b, bool* first) { \
    *first = a chosen b;                            \
    return *first ? a : b;                          \
  }
#define PRENORM_CHOICES(name, T, chosen)                                             \
  inline unsigned __vib##name##16x2(unsigned a, unsigned b, bool* high, bool* low) { \
    using prenorm::emulator::part;                                                   \
    *low = part<T>(a, 0) chosen part<T>(b, 0);                                       \
    *high = part<T>(a, 1) chosen part<T>(b, 1);                                      \
    return ((*high ? a : b) & 0xffff0000u) | ((*low ? a : b) & 0xffffu);             \
  }
PRENORM_CHOICE(max_s, int, >=)
PRENORM_CHOICE(min_s, int, <=)
PRENORM_CHOICE(max_u, unsigned, >=)
PRENORM_CHOICE(min_u, unsigned, <=)
PRENORM_CHOICES(max_s, short, >=)
PRENORM_CHOICES(min_s, short, <=)
PRENORM_CHOICES(max_u, unsigned short, >=)
PRENORM_CHOICES(min_u, unsigned short, <=)
#undef PRENORM_CHOICE
#undef PRENORM_CHOICES
