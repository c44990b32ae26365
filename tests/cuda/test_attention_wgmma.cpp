// v4 of attention, cuda/attention_wgmma.cu: in the kit on a device, and on the CPU, the kernel's
// own source with a model of Hopper's instructions in place of cuda/wgmma.cuh (hopper/). That
// shows that tiles, barriers, masks and layouts fit together as the PTX ISA has them; not that a
// device has them so.
#include "attention_testing.hpp"
#include "mask_tiles.cuh"
#if !defined(__CUDACC__)
#include "model.hpp"
#endif

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

/// Heads of sequences as columns: [sequences, rows, heads * d + gap], NaN in the gap.
template <class T>
struct Heads {
  std::int64_t sequences, rows, heads, d, stride;
  std::vector<T> values;
  Heads(std::int64_t s, std::int64_t r, std::int64_t h, std::int64_t width, std::int64_t gap)
      : sequences(s), rows(r), heads(h), d(width), stride(h * width + gap) {
    std::normal_distribution<float> normal;
    values.resize(static_cast<std::size_t>(s * r * stride));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool in_gap = static_cast<std::int64_t>(i) % stride >= h * width;
      values[i] =
          static_cast<T>(in_gap ? std::numeric_limits<float>::quiet_NaN() : normal(random_bits));
    }
  }
  T& at(std::int64_t sequence, std::int64_t head, std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>((sequence * rows + row) * stride + head * d + column)];
  }
};

/// A call of two batch axes, and what must come of it.
template <class T>
struct Problem {
  std::int64_t sequences, heads, n, m, d;
  bool causal = false;
  Heads<T> q, k, v, y;
  std::unique_ptr<bool[]> mask;  // [sequences, n, m]

  Problem(std::int64_t s, std::int64_t h, std::int64_t queries, std::int64_t keys,
          std::int64_t width)
      : sequences(s),
        heads(h),
        n(queries),
        m(keys),
        d(width),
        q(s, n, h, d, 8),
        k(s, m, h, d, 0),
        v(s, m, h, d, 64),
        y(s, n, h, d, 24) {
    for (T& value : y.values) value = static_cast<T>(777.0f);
  }

  template <class Attends>
  void set_mask(Attends attends) {
    mask = make_mask(sequences, n, m, attends);
  }

  Attention<T> call() {
    Attention<T> a{
        "test", q.values.data(), k.values.data(), v.values.data(), y.values.data(), n, m, d,
        d,      q.stride,        k.stride,        v.stride,        y.stride,        {}};
    a.batch.append(sequences,
                   {n * q.stride, m * k.stride, m * v.stride, n * y.stride, mask ? 1 : 0});
    a.batch.append(heads, {d, d, d, d, 0});
    a.causal = causal;
    if (mask) {
      a.mask = mask.get();
      a.masks = sequences;
    }
    return a;
  }

  /// The largest error of y; infinity where that is NaN, or was written beside its heads.
  double error() {
    double largest = largest_error(call());
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const bool beside = static_cast<std::int64_t>(i) % y.stride >= heads * d;
      if (beside && y.values[i].bits != static_cast<T>(777.0f).bits) largest = INFINITY;
    }
    return largest;
  }
};

template <class T>
constexpr double tolerance = std::is_same_v<T, float16> ? 2e-3 : 1.5e-2;

/// Calls work(what): once on a device; by the model with copies and products as early and as late
/// as they may be.
template <class Work>
void at_all_times(Work work) {
#if defined(__CUDACC__)
  work("");
#else
  using hopper::When;
  for (const auto& [copies, products] :
       {std::pair{When::early, When::early}, {When::early, When::late}, {When::late, When::late}}) {
    hopper::copies = copies;
    hopper::products = products;
    work(std::string(copies == When::late ? ", late copies" : "") +
         (products == When::late ? ", late products" : ""));
  }
#endif
}

template <class T>
void check(Problem<T>& problem, const std::string& what) {
  at_all_times([&](const std::string& when) {
    for (T& value : problem.y.values) value = static_cast<T>(777.0f);
    BOOST_TEST(call_kernel(attention_wgmma<T>, problem.call()));
    BOOST_TEST(problem.error() < tolerance<T>, what << when);
  });
}

/// `m` keys; where it is causal as many queries, the last of which attends to all.
template <class T>
void check_rings(std::int64_t m, bool also_causal = true) {
  for (const std::int64_t d : {64, 128}) {
    const std::string what = std::to_string(m) + " keys, d " + std::to_string(d);
    Problem<T> plain(1, 1, 3, m, d);
    check(plain, what);
    Problem<T> masked(1, 1, 70, m, d);
    masked.set_mask([](auto, auto i, auto j) {  // of tiles of 64 x 64 empty, full and mixed ones
      const auto kind = (i / 64 + j / 64) % 3;
      return kind == 1 || (kind == 2 && (i * 5 + j * 3) % 7 < 3);
    });
    check(masked, what + ", masked");
    if (!also_causal) continue;
    Problem<T> causal(1, 1, m, m, d);
    causal.causal = true;
    check(causal, what + ", causal");
  }
}

using Types = std::tuple<float16, bfloat16>;

}  // namespace

BOOST_AUTO_TEST_SUITE(hopper_attention)

BOOST_AUTO_TEST_CASE_TEMPLATE(sizes_that_tiles_do_not_divide, T, Types) {
  struct Sizes {
    std::int64_t sequences, heads, n, m, d;
  };
  for (const Sizes s : {Sizes{1, 1, 1, 1, 64},
                        {1, 1, 1, 129, 128},
                        {2, 2, 65, 64, 64},
                        {1, 2, 127, 128, 128},
                        {1, 1, 129, 300, 64},
                        {1, 1, 64, 700, 128},
                        {1, 2, on_a_device ? 1000 : 3, 1024, 128}}) {
    Problem<T> problem(s.sequences, s.heads, s.n, s.m, s.d);
    check(problem, std::to_string(s.n) + " queries, " + std::to_string(s.m) + " keys");
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(causal, T, Types) {
  for (const auto& [n, m] : {std::pair(1, 1), {200, 200}, {130, 300}, {300, 130}, {64, 64}}) {
    Problem<T> problem(1, 2, n, m, 64);
    problem.causal = true;
    check(problem, std::to_string(n) + " queries, " + std::to_string(m) + " keys");
  }
}

BOOST_AUTO_TEST_CASE(masks) {
  const auto masked = [](const char* what, std::int64_t n, std::int64_t m, auto attends) {
    Problem<float16> problem(2, 1, n, m, 64);
    problem.set_mask(attends);
    check(problem, what);
    problem.causal = true;
    check(problem, std::string(what) + ", causal");
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

/// One tile of keys, and the word that there are no more, have a place each in the ring. The third
/// tile, from 257 keys on, gets the first one's place, and the fifth gets it with the parity of the
/// first. Plain, causal, and masked so that no tile is skipped; d 64 and 128.
/// tests/cuda/test_kernel_mistakes.py says which mistakes only the second test sees.
BOOST_AUTO_TEST_CASE_TEMPLATE(each_place_is_used_once, T, Types) { check_rings<T>(128); }
BOOST_AUTO_TEST_CASE_TEMPLATE(places_are_used_again, T, Types) {
  check_rings<T>(257);
  check_rings<T>(520, false);
}

BOOST_AUTO_TEST_CASE(masks_that_are_packed_in_parts) {
  const std::int64_t before = std::exchange(most_packed_bytes, 1);  // 128 queries at a time
  Problem<float16> problem(2, 2, 300, 150, 64);
  problem.set_mask([](auto s, auto i, auto j) { return (i + 2 * j + s) % 3 != 0; });
  check(problem, "parts");
  most_packed_bytes = before;
}

/// Scores that grow from tile to tile, some -infinity, one NaN.
BOOST_AUTO_TEST_CASE(hard_values) {
  Problem<bfloat16> problem(1, 1, 40, 500, 64);
  for (std::int64_t j = 0; j < 500; ++j) {
    problem.k.at(0, 0, j, 0) = static_cast<bfloat16>(static_cast<float>(j));
  }
  for (std::int64_t i = 0; i < 40; ++i) {
    problem.q.at(0, 0, i, 0) = static_cast<bfloat16>(i % 2 == 0 ? 8.0f : -8.0f);
  }
  check(problem, "grows");
  for (std::int64_t j = 0; j < 500; ++j) {
    problem.k.at(0, 0, j, 0) = static_cast<bfloat16>(j < 490 ? -INFINITY : 1.0f);
  }
  for (std::int64_t i = 0; i < 40; ++i) problem.q.at(0, 0, i, 0) = static_cast<bfloat16>(1.0f);
  check(problem, "-infinity");
  problem.q.at(0, 0, 3, 5) = static_cast<bfloat16>(NAN);
  call_kernel(attention_wgmma<bfloat16>, problem.call());
  for (std::int64_t i = 0; i < 40; ++i) {
    BOOST_TEST(std::isnan(static_cast<float>(problem.y.at(0, 0, i, 63))) == (i == 3));
  }
}

BOOST_AUTO_TEST_CASE(the_same_bits_alone_and_in_a_batch) {
  Problem<float16> problem(3, 2, 140, 260, 64);
  problem.causal = true;
  Attention<float16> a = problem.call();
  call_kernel(attention_wgmma<float16>, a);
  const std::vector<float16> together = problem.y.values;
  for (float16& value : problem.y.values) value = static_cast<float16>(777.0f);
  for (std::int64_t i = 0; i < a.batch.size; ++i) {
    Attention<float16> one = a;
    one.q += a.batch.part(a.of_q, i);
    one.k += a.batch.part(a.of_k, i);
    one.v += a.batch.part(a.of_v, i);
    one.y += a.batch.part(a.of_y, i);
    one.batch = {};
    BOOST_TEST(call_kernel(attention_wgmma<float16>, one));
  }
  BOOST_TEST(std::ranges::equal(together, problem.y.values, {}, &float16::bits, &float16::bits));
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take) {
  Problem<float16> problem(1, 1, 4, 4, 64);
  const auto taken = [&](auto change) {
    Attention<float16> a = problem.call();
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
