// quick: a_tile_here_and_there* large_scores* hard_values* the_same_bits_alone* what_they* they*
//
// Attention by mma.sync, v3, with split keys and bf16x6, in the emulator and in the kit on a
// device, compared with a plain loop in double: sizes, strides, alignments, masks and values that
// the fixtures do not have.
#include "attention_bf16x6.cuh"
#include "attention_split.cuh"
#include "attention_testing.hpp"
#include "mask_tiles.cuh"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

/// Some number below `end`.
std::int64_t below(std::int64_t end) {
  return static_cast<std::int64_t>(random_bits() % static_cast<std::uint64_t>(end));
}

/// A kernel, in how many random calls to try it, and with how many queries and keys at most: parts
/// of split keys are of 512.
template <class Element>
struct V3 {
  using T = Element;
  static constexpr std::int64_t n = 200, m = 200, calls = 72, widest = 256;
  static bool attend(const Attention<T>& a, Stream stream) { return attention_mma(a, stream); }
};
template <class Element>
struct SplitKeys {
  using T = Element;
  static constexpr std::int64_t n = 36, m = 1200, calls = 24, widest = 256;
  static bool attend(const Attention<T>& a, Stream stream) { return attention_split(a, stream); }
};
struct Bf16x6 {
  using T = float;
  static constexpr std::int64_t n = 200, m = 200, calls = 72, widest = 128;
  static bool attend(const Attention<T>& a, Stream stream) { return attention_bf16x6(a, stream); }
};
using Versions =
    std::tuple<V3<float16>, V3<bfloat16>, SplitKeys<float16>, SplitKeys<bfloat16>, Bf16x6>;

enum class Mask { none, random, tiles, rows, empty };

template <class T>
void set_mask(Call<T>& call, Mask mask) {
  call.set_mask([mask](std::int64_t b, std::int64_t query, std::int64_t key) {
    switch (mask) {
      case Mask::random: return below(2) == 0;
      case Mask::tiles: {  // full, empty, mixed
        const std::int64_t kind = (query / 64 + key / 64 + b) % 3;
        return kind == 0 || (kind == 2 && below(4) == 0);
      }
      case Mask::rows: return query % 5 != 0 && below(8) == 0;
      default: return false;
    }
  });
}

/// The largest error of y, in units of the rounding of 1; in float32, where that of q's and k's
/// products counts, too, of 4 such units or of v2's error, where that is larger.
template <class Kernel>
double error(Call<typename Kernel::T>& call) {
  using T = typename Kernel::T;
  constexpr double unit = std::is_same_v<T, float16>    ? 0x1p-11
                          : std::is_same_v<T, bfloat16> ? 0x1p-8
                                                        : 0x1p-24;
  const auto off = [](double got, double wanted) {
    return std::fabs(got - wanted) / unit / (1 + std::fabs(wanted));
  };
  double of = 1;
  if constexpr (std::is_same_v<T, float>) {
    call.run(attention_v2<T>);
    const double of_v2 = call.error(off);
    of = std::isfinite(of_v2) ? std::max(4.0, of_v2) : 4.0;
  }
  call.run(Kernel::attend);
  return call.error(off) / of;
}

template <class Kernel>
void check(const Layout& layout, Mask mask = Mask::none, bool causal = false) {
  Call<typename Kernel::T> call(layout);
  if (mask != Mask::none) set_mask(call, mask);
  call.a.causal = causal;
  BOOST_TEST_CONTEXT(layout << ", mask " << static_cast<int>(mask) << (causal ? ", causal" : "")) {
    BOOST_TEST(error<Kernel>(call) < 2.5);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_mma)

BOOST_AUTO_TEST_CASE_TEMPLATE(sizes_strides_and_masks, Kernel, Versions) {
  const std::int64_t widths[] = {1, 8, 32, 40, 64, 72, 96, 128, 136, 192, 200, 256};
  const Mask masks[] = {Mask::none, Mask::random, Mask::tiles, Mask::rows, Mask::empty};
  for (int i = 0; i < Kernel::calls; ++i) {
    const bool longer = on_a_device && i % 4 == 3;
    Layout layout{.batch = 1 + i % 2,
                  .n = 1 + below(longer ? 1024 : Kernel::n),
                  .m = 1 + below(longer ? 8 * Kernel::m : Kernel::m),
                  .d_k = std::min(Kernel::widest, widths[i % 12]),
                  .d_v = std::min(Kernel::widest, widths[below(12)]),
                  .fused = i % 4 == 1,
                  .shared_keys = i % 4 != 1};
    if (i % 5 == 0) layout.padding = i % 10 == 0 ? 8 : 3;
    if (i % 7 == 0) layout.offset = i % 2 == 0 ? 1 : 8;
    check<Kernel>(layout, masks[below(5)], i % 3 == 0);
  }
  for (const std::int64_t n : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129}) {
    check<Kernel>({1, n, 200 - n, 64, 64});
    check<Kernel>({1, 5, n, 16, 128});
    check<Kernel>({1, n, 200 - n, 32, 32}, Mask::random);
  }
}

/// Blocks that have nothing to do between others, and long rows of empty tiles.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_tile_here_and_there, Kernel, Versions) {
  Call<typename Kernel::T> call({1, 130, 64 * 70, 8, 8});
  set_mask(call, Mask::empty);
  for (const auto& [query, key] : {std::pair<std::int64_t, std::int64_t>{3, 64 * 33 + 5},
                                   {100, 0},
                                   {100, 64 * 32},
                                   {127, 64 * 69 + 63},
                                   {129, 64 * 40}}) {
    call.mask[static_cast<std::size_t>(query * call.s.m + key)] = true;
  }
  BOOST_TEST(error<Kernel>(call) < 2.5);
}

/// Aligned or not, in one part or in more: the same sums.
BOOST_AUTO_TEST_CASE_TEMPLATE(the_same_bits_however_the_rows_lie, Kernel, Versions) {
  constexpr std::int64_t n = 150;  // more than are packed at once
  const auto result = [](std::int64_t padding, std::int64_t offset, std::int64_t packed) {
    random_bits.seed(3);
    Call<typename Kernel::T> call({.batch = 2,
                                   .n = n,
                                   .m = Kernel::m - 50,
                                   .d_k = 40,
                                   .d_v = 72,
                                   .padding = padding,
                                   .offset = offset,
                                   .shared_keys = true});
    set_mask(call, Mask::tiles);
    const std::int64_t usual = std::exchange(most_packed_bytes, packed);
    call.run(Kernel::attend);
    most_packed_bytes = usual;
    Elements<typename Kernel::T> y;
    for (std::int64_t i = 0; i < 2 * n * 72; ++i) y.push_back(call.y_at(i));
    return y;
  };
  const auto usual = result(0, 0, most_packed_bytes);
  BOOST_TEST(same_bits(usual, result(8, 8, most_packed_bytes)));
  BOOST_TEST(same_bits(usual, result(1, 0, most_packed_bytes)));
  BOOST_TEST(same_bits(usual, result(0, 3, most_packed_bytes)));
  BOOST_TEST(same_bits(usual, result(0, 0, 1)));
}

/// Scores that are large, whose maxima grow from tile to tile. A tensor core, other than its
/// emulation, cuts off what float32 rounds: an H200's bf16x6 was 4.6 times as far off as v2.
BOOST_AUTO_TEST_CASE_TEMPLATE(large_scores, Kernel, Versions) {
  for (const float spread : {8.0f, 60.0f, 12000.0f}) {
    Call<typename Kernel::T> call({1, 30, Kernel::m, 8, 8}, spread);
    call.fill(call.a.v, call.a.of_v, call.a.v_stride, Kernel::m, 8, 1);
    BOOST_TEST(error<Kernel>(call) < (on_a_device && std::is_same_v<Kernel, Bf16x6> ? 8 : 2.5));
  }
}

/// NaN and infinities in q and k come out where the formula puts them.
BOOST_AUTO_TEST_CASE_TEMPLATE(hard_values, Kernel, Versions) {
  using T = typename Kernel::T;
  constexpr std::int64_t m = Kernel::m - 100;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto result = [](float q, float k, std::int64_t key) {
    Call<T> call({1, 40, m, 8, 8});
    for (std::int64_t i = 0; i < 40; ++i) call.q_at(i, 0) = T(q);
    call.k_at(key, 0) = T(k);
    const double off = error<Kernel>(call);
    return std::pair(static_cast<float>(call.y_at(3 * 8 + 5)), off);
  };
  for (const std::int64_t key : {0, 70, 600}) {
    if (key >= m) continue;
    BOOST_TEST(std::isnan(result(1, not_a_number, key).first));
    BOOST_TEST(std::isnan(result(1, infinity, key).first));
    BOOST_TEST(result(1, -infinity, key).second < 2.5);  // a key without weight
  }
  BOOST_TEST(std::isnan(result(not_a_number, 1, 0).first));

  // All scores -infinity.
  Call<T> call({1, 40, m, 8, 8});
  for (std::int64_t j = 0; j < m; ++j) call.k_at(j, 0) = T(-infinity);
  for (std::int64_t i = 0; i < 40; ++i) call.q_at(i, 0) = T(1);
  call.run(Kernel::attend);
  BOOST_TEST(static_cast<float>(call.y_at(3 * 8 + 5)) == 0);
}

/// Values for which bfloat16 has no room, and those that a query does not attend to, whatever they
/// are.
BOOST_AUTO_TEST_CASE(values_that_no_parts_make_up) {
  constexpr float most = std::numeric_limits<float>::max();
  Call<float> large({1, 40, 100, 8, 8});
  for (std::int64_t i = 0; i < 40; ++i) large.q_at(i, 0) = std::numeric_limits<float>::min();
  large.k_at(70, 0) = most;
  large.v_at(3, 2) = most;
  BOOST_TEST(error<Bf16x6>(large) < 2.5);

  Call<float> hidden({1, 99, 100, 24, 100});
  hidden.set_mask([](auto, auto, std::int64_t key) { return key != 20; });
  hidden.k_at(20, 3) = std::numeric_limits<float>::infinity();
  hidden.v_at(20, 5) = hidden.v_at(99, 70) = not_a_number;
  hidden.a.causal = true;
  hidden.run(Bf16x6::attend);
  BOOST_TEST(hidden.error() < 1e-5);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_same_bits_alone_and_in_a_batch, Kernel, Versions) {
  Call<typename Kernel::T> call({3, Kernel::n / 3, Kernel::m, 20, 33});
  for (const bool masked : {false, true}) {
    if (masked) set_mask(call, Mask::random);
    const auto together = call.run(Kernel::attend);
    BOOST_TEST(same_bits(together, call.run_one_by_one(Kernel::attend)));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_they_do_not_take, Kernel, Versions) {
  constexpr std::int64_t more = Kernel::widest + 1;
  for (const auto& [d_k, d_v] : {std::pair{more, std::int64_t{8}}, {std::int64_t{8}, more}}) {
    Call<typename Kernel::T> call({1, 3, 3, d_k, d_v});
    BOOST_TEST(!Kernel::attend(call.a, {}));
    BOOST_TEST(std::isnan(static_cast<float>(call.y_at(0))));  // nothing was done
  }
}

BOOST_AUTO_TEST_CASE(they_do_not_take_other_types) {
  const Attention<float> single{};
  const Attention<double> wide{};
  BOOST_TEST(!prenorm::cuda::attention_mma(single, {}));
  BOOST_TEST(!prenorm::cuda::attention_mma(wide, {}));
  BOOST_TEST(!attention_split(single, {}));
  BOOST_TEST(!attention_split(wide, {}));
  const Attention<float16> half{};
  BOOST_TEST(!attention_bf16x6(half, {}));
}

BOOST_AUTO_TEST_SUITE_END()
