// quick: causal* each_stage_is_used_once* hard_values what_it_does_not_take
//
// v4 of attention, cuda/attention_wgmma.cu: in the kit on a device, and on the CPU, the kernel's
// own source with a model of Hopper's instructions in place of cuda/wgmma.cuh (hopper/). That
// shows that tiles, barriers, masks and layouts fit together as the PTX ISA has them; not that a
// device has them so.
#include "attention_testing.hpp"
#include "hopper_testing.hpp"
#include "mask_tiles.cuh"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

template <class T>
constexpr double tolerance = std::is_same_v<T, float16> ? 2e-3 : 1.5e-2;

template <class T>
void check(Call<T>& call, const std::string& what) {
  at_all_times([&](const std::string& when) {
    call.run(attention_wgmma<T>);
    BOOST_TEST(call.error() < tolerance<T>, call.s << ": " << what << when);
  });
}

/// `m` keys; where it is causal as many queries, the last of which attends to all.
template <class T>
void check_rings(std::int64_t m, bool also_causal = true) {
  for (const std::int64_t d : {64, 128}) {
    Call<T> plain({1, 3, m, d, d});
    check(plain, "plain");
    Call<T> masked({1, 70, m, d, d});
    masked.set_mask([](auto, auto i, auto j) {  // of tiles of 64 x 64 empty, full and mixed ones
      const auto kind = (i / 64 + j / 64) % 3;
      return kind == 1 || (kind == 2 && (i * 5 + j * 3) % 7 < 3);
    });
    check(masked, "masked");
    if (!also_causal) continue;
    Call<T> causal({1, m, m, d, d});
    causal.a.causal = true;
    check(causal, "causal");
  }
}

using Types = std::tuple<float16, bfloat16>;

}  // namespace

BOOST_AUTO_TEST_SUITE(hopper_attention)

BOOST_AUTO_TEST_CASE_TEMPLATE(sizes_that_tiles_do_not_divide, T, Types) {
  // batch, queries, keys, d, d, heads, padding
  for (const Layout& layout : {Layout{1, 1, 1, 64, 64},
                               {1, 1, 129, 128, 128},
                               {2, 65, 64, 64, 64, 2, 8},
                               {1, 127, 128, 128, 128, 2, 64},
                               {2, 129, 129, 64, 64, 2, 0, 0, true},
                               {1, 129, 300, 64, 64, 1, 24},
                               {1, 64, 700, 128, 128},
                               {1, on_a_device ? 1000 : 3, 1024, 128, 128, 2}}) {
    Call<T> call(layout);
    check(call, "plain");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(causal, T, Types) {
  for (const auto& [n, m] : {std::pair(1, 1), {200, 200}, {130, 300}, {300, 130}, {64, 64}}) {
    Call<T> call({1, n, m, 64, 64, 2, 8});
    call.a.causal = true;
    check(call, "causal");
  }
}

BOOST_AUTO_TEST_CASE(masks) {
  const auto masked = [](const char* what, std::int64_t n, std::int64_t m, auto attends) {
    Call<float16> call({2, n, m, 64, 64, 1, 8});
    call.set_mask(attends);
    check(call, what);
    call.a.causal = true;
    check(call, std::string(what) + ", causal");
  };
  masked("some", 150, 200, [](auto s, auto i, auto j) { return (i * 7 + j * 3 + s) % 5 < 2; });
  masked("none", 100, 200, [](auto, auto, auto) { return false; });
  masked("all", 100, 200, [](auto, auto, auto) { return true; });
  masked("empty rows", 70, 140, [](auto, auto i, auto) { return i % 3 != 0; });
  masked("a band", 200, 520, [](auto, auto i, auto j) { return j > i - 40 && j < i + 30; });
  masked("far tiles", 140, 900, [](auto s, auto i, auto j) { return j > 700 + s && i > 64; });
  masked("more tiles than lanes", 5, 4300,
         [](auto s, auto i, auto j) { return j == i + s || j % 1033 == 1000 + i; });
  masked("a key a query", 140, 400, [](auto, auto i, auto j) { return j == (i * 37) % 400; });
}

/// One tile of keys, and the word that there are no more, have a stage each in the ring. The third
/// tile, from 257 keys on, gets the first one's stage, and the fifth gets it with the parity of the
/// first. Plain, causal, and masked so that no tile is skipped; d 64 and 128.
/// tests/cuda/test_kernel_mistakes.py says which mistakes only the second test sees.
BOOST_AUTO_TEST_CASE_TEMPLATE(each_stage_is_used_once, T, Types) { check_rings<T>(128); }
BOOST_AUTO_TEST_CASE_TEMPLATE(stages_are_used_again, T, Types) {
  check_rings<T>(257);
  check_rings<T>(520, false);
}

/// The model's first block takes all items but one, some of which have no tile.
BOOST_AUTO_TEST_CASE_TEMPLATE(items_follow_each_other, T, Types) {
  Call<T> call({5, 300, 300, 64, 64, 1, 8});
  call.set_mask([](auto s, auto i, auto j) { return s != 2 && i / 128 != 1 && (i + j) % 5 != 0; });
  check(call, "items");
  call.a.causal = true;
  check(call, "items, causal");
}

BOOST_AUTO_TEST_CASE(masks_that_are_packed_in_parts) {
  const std::int64_t before = std::exchange(most_packed_bytes, 1);  // 128 queries at a time
  Call<float16> call({2, 300, 150, 64, 64, 2, 8});
  call.set_mask([](auto s, auto i, auto j) { return (i + 2 * j + s) % 3 != 0; });
  check(call, "parts");
  most_packed_bytes = before;
}

/// Less from a tile to the next than powers may exceed their headroom, and more in all.
BOOST_AUTO_TEST_CASE_TEMPLATE(scores_grow_slowly, T, Types) {
  Call<T> call({1, 40, 1030, 64, 64});
  for (std::int64_t j = 0; j < 1030; ++j) {
    call.k_at(j, 0) = static_cast<T>(static_cast<float>(j / 128) * 1.25f);
  }
  for (std::int64_t i = 0; i < 40; ++i) call.q_at(i, 0) = static_cast<T>(i % 2 == 0 ? 8.0f : -8.0f);
  check(call, "grows slowly");
}

/// Scores of 2^20, 2^28 and 2^30 where floats are 1/8, 32 and 128 apart; from tile to tile they
/// grow by one such step. Rounded to the nearest, a score may then seem to be within the slack
/// (online_softmax) whose power is infinite in float16.
BOOST_AUTO_TEST_CASE_TEMPLATE(large_scores, T, Types) {
  for (const auto& [exponent, step] : {std::pair(20, 0.125f), {28, 32.0f}, {30, 128.0f}}) {
    Call<T> call({1, 40, 520, 64, 64});
    const float half = std::ldexp(1.0f, exponent / 2);
    for (std::int64_t i = 0; i < 40; ++i) {
      for (int c = 0; c < 64; ++c) call.q_at(i, c) = static_cast<T>(0.0f);
      call.q_at(i, 0) = call.q_at(i, 1) = static_cast<T>(half);
      call.q_at(i, 2) = static_cast<T>(i % 2 == 0 ? step : -step);
    }
    for (std::int64_t j = 0; j < 520; ++j) {
      call.k_at(j, 0) = static_cast<T>(half);
      call.k_at(j, 1) = static_cast<T>(half / 256);  // the sum is no power of two
      call.k_at(j, 2) = static_cast<T>(static_cast<float>(j / 128));
    }
    check(call, "large");
  }
}

/// Scores that grow from tile to tile, some -infinity, one NaN.
BOOST_AUTO_TEST_CASE(hard_values) {
  Call<bfloat16> call({1, 40, 500, 64, 64});
  for (std::int64_t j = 0; j < 500; ++j) {
    call.k_at(j, 0) = static_cast<bfloat16>(static_cast<float>(j));
  }
  for (std::int64_t i = 0; i < 40; ++i) {
    call.q_at(i, 0) = static_cast<bfloat16>(i % 2 == 0 ? 8.0f : -8.0f);
  }
  check(call, "grows");
  for (std::int64_t j = 0; j < 500; ++j) {
    call.k_at(j, 0) = static_cast<bfloat16>(j < 490 ? -INFINITY : 1.0f);
  }
  for (std::int64_t i = 0; i < 40; ++i) call.q_at(i, 0) = static_cast<bfloat16>(1.0f);
  check(call, "-infinity");
  call.q_at(3, 5) = static_cast<bfloat16>(NAN);
  call.run(attention_wgmma<bfloat16>);
  for (std::int64_t i = 0; i < 40; ++i) {
    BOOST_TEST(std::isnan(static_cast<float>(call.y_at(i * 64 + 63))) == (i == 3));
  }
}

BOOST_AUTO_TEST_CASE(the_same_bits_alone_and_in_a_batch) {
  Call<float16> call({3, 140, 260, 64, 64, 2, 8});
  call.a.causal = true;
  const Elements<float16> together = call.run(attention_wgmma<float16>);
  BOOST_TEST(same_bits(together, call.run_one_by_one(attention_wgmma<float16>)));
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take) {
  const Call<float16> call({1, 4, 4, 64, 64});
  const auto taken = [&](auto change) {
    Attention<float16> a = call.a;
    change(a);
    return attention_wgmma(a, Stream{});
  };
  BOOST_TEST(!taken([](auto& a) { a.d_k = a.d_v = 32; }));
  BOOST_TEST(!taken([](auto& a) { a.d_v = 128; }));
  BOOST_TEST(!taken([](auto& a) { a.q += 1; }));
  BOOST_TEST(!taken([](auto& a) { a.k_stride = 65; }));
  BOOST_TEST(!taken([](auto& a) { a.y_stride = 68; }));
  BOOST_TEST(!attention_wgmma(Attention<float>{}, Stream{}));
}

BOOST_AUTO_TEST_SUITE_END()
