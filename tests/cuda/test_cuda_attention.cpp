// Attention's kernels, emulated and in the kit on a device: what the fixtures do not see. Masks by
// tiles, memory, and the same bits alone and in a batch.
#include "attention_testing.hpp"
#include "mask_tiles.cuh"
#include "workspace.cuh"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

template <class T>
using Attend = void (*)(const Attention<T>&, Stream);

template <class T>
std::vector<T> run(Attend<T> attend, const Sequences<T>& p, std::int64_t first,
                   std::int64_t count) {
  std::vector<T> y(static_cast<std::size_t>(count * p.n * p.d_v));
  call_kernel(attend, p.call(first, count, y.data()));
  return y;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// The largest error, over all queries.
template <class T>
double error(const Sequences<T>& p, std::vector<T> y) {
  return largest_error(p.call(0, p.batch, y.data()));
}

template <class T>
double tolerance() {
  return std::is_same_v<T, double> ? 1e-14 : std::is_same_v<T, float> ? 1e-5 : 1e-2;
}

template <class T>
void check(const std::string& what, const Sequences<T>& p) {
  for (const Attend<T> attend : {attention_v1<T>, attention_v2<T>, attention_launched<T>}) {
    BOOST_TEST_CONTEXT(what) BOOST_TEST(error(p, run(attend, p, 0, p.batch)) < tolerance<T>());
  }
}

using Types = std::tuple<double, float, float16, bfloat16>;

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_attention)

BOOST_AUTO_TEST_CASE_TEMPLATE(sizes_that_no_tile_divides, T, Types) {
  for (const auto& [n, m, d_k, d_v] : {std::array<std::int64_t, 4>{1, 1, 1, 1},
                                       {1, 130, 8, 8},
                                       {65, 64, 17, 3},
                                       {64, 65, 64, 65},
                                       {129, 191, 24, 129},
                                       {70, 130, 32, 32},
                                       {3, 200, 130, 40},
                                       {on_a_device ? 300 : 5, on_a_device ? 1024 : 70, 64, 64}}) {
    Sequences<T> p(2, n, m, d_k, d_v);
    check("full", p);
    p.set_mask([](auto...) { return random_bits() % 3 != 0; });
    check("random mask", p);
    p.mask.reset();
    p.causal = true;
    check("causal", p);
  }
}

/// Whole tiles that are empty, full and mixed, in an order that leaves out the first and the last;
/// and queries that attend to nothing.
BOOST_AUTO_TEST_CASE_TEMPLATE(tiles_of_each_kind, T, Types) {
  Sequences<T> p(2, 200, 330, 16, 8);
  p.set_mask([](std::int64_t b, std::int64_t query, std::int64_t key) {
    if (query % 50 == 7) return false;
    const std::int64_t kind = (query / 64 + key / 64 + b) % 4;
    return kind == 1 || (kind == 2 && (query * 7 + key * 3) % 5 == 0);
  });
  check("tiles", p);
  Sequences<T> blocks(1, 192, 192, 16, 16);
  blocks.set_mask([](auto, std::int64_t query, std::int64_t key) {
    return query / 64 == key / 64;  // no mixed tile at all
  });
  check("blocks", blocks);
}

/// A mask of which not all fits the memory is packed, and its queries attend, some at a time.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_mask_in_parts, T, Types) {
  Sequences<T> p(2, 300, 200, 16, 8);
  p.set_mask([](auto...) { return random_bits() % 2 == 0; });
  for (const bool causal : {false, true}) {
    p.causal = causal;
    const std::vector<T> at_once = run(attention_launched<T>, p, 0, 2);
    const std::int64_t usual = std::exchange(most_packed_bytes, 1);
    BOOST_TEST(packed_queries(2, 300, 200) == most_query_tile);
    check("in parts", p);
    BOOST_TEST(same_bits(at_once, run(attention_launched<T>, p, 0, 2)));
    most_packed_bytes = usual;
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_causal_call_equals_a_causal_mask, T, Types) {
  Sequences<T> p(1, 150, 150, 16, 16);
  p.causal = true;
  check("causal", p);
  const std::vector<T> causal = run(attention_launched<T>, p, 0, 1);
  p.causal = false;
  p.set_mask([](auto, std::int64_t query, std::int64_t key) { return key <= query; });
  BOOST_TEST(same_bits(causal, run(attention_launched<T>, p, 0, 1)));
}

/// One key takes nearly all; what the others add, each less than float16's smallest number, counts.
BOOST_AUTO_TEST_CASE_TEMPLATE(many_small_probabilities, T, Types) {
  Sequences<T> p(1, 2, 8192, 4, 1);
  std::fill(p.q.begin(), p.q.end(), T(1.0f));
  std::fill(p.k.begin(), p.k.end(), T(-8.75f));  // a score of -17.5
  std::fill(p.v.begin(), p.v.end(), T(1.0f));
  std::fill_n(p.k.begin() + 400 * p.d_k, p.d_k, T(0.0f));
  p.v[400] = T(0.0f);
  const double sum = 8191 * std::exp(-17.5);
  for (const Attend<T> attend : {attention_v1<T>, attention_v2<T>, attention_launched<T>}) {
    for (const T y : run(attend, p, 0, 1)) {
      BOOST_TEST(std::abs(static_cast<double>(y) - sum / (1 + sum)) < 0.02 * sum);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_same_bits_alone_and_in_a_batch, T, Types) {
  Sequences<T> p(3, 70, 90, 20, 33);
  for (const bool masked : {false, true}) {
    if (masked) p.set_mask([](auto...) { return random_bits() % 2 == 0; });
    for (const Attend<T> attend : {attention_v1<T>, attention_v2<T>, attention_launched<T>}) {
      const std::vector<T> together = run(attend, p, 0, 3);
      BOOST_TEST(same_bits(together, run(attend, p, 0, 3)));
      std::vector<T> alone;
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::vector<T> one = run(attend, p, b, 1);
        alone.insert(alone.end(), one.begin(), one.end());
      }
      BOOST_TEST(same_bits(together, alone));
    }
  }
}

#if !defined(__CUDACC__)  // the host reads what kernels have written, and learns which run
/// What the packed mask says, entry by entry, also where it is packed some queries at a time.
BOOST_AUTO_TEST_CASE(a_packed_mask_is_the_mask) {
  const std::int64_t masks = 2, n = 150, m = 170;
  Sequences<float> p(masks, n, m, 1, 1);
  p.set_mask([](std::int64_t b, std::int64_t query, std::int64_t key) {
    return query < 64 ? b == 0 : key < 64 ? b == 1 : (query + key) % 3 == 0;
  });
  for (const std::int64_t first : {0, 128}) {
    const std::int64_t count = std::min<std::int64_t>(n - first, 128);
    const MaskTiles tiles = pack_mask(p.mask.get(), masks, n, m, first, count, {});
    BOOST_TEST(tiles.query_tiles == (count + 63) / 64);
    BOOST_TEST(tiles.key_tiles == 3);
    for (std::int64_t b = 0; b < masks; ++b) {
      for (std::int64_t query = 0; query < tiles.query_tiles * 64; ++query) {
        for (std::int64_t key = 0; key < tiles.key_tiles * 64; ++key) {
          const bool there = query < count && key < m;
          const bool wanted =
              there && p.mask[static_cast<std::size_t>((b * n + first + query) * m + key)];
          const bool said = (tiles.row(b, query, key / 64) >> (key % 64) & 1) != 0;
          BOOST_REQUIRE(said == wanted);
          const TileKind kind = tiles.kind(b, query / 64, key / 64);
          if (there) BOOST_REQUIRE((wanted ? kind != TileKind::empty : kind != TileKind::full));
        }
      }
    }
    if (first == 0) {
      BOOST_TEST((tiles.kind(0, 0, 2) == TileKind::full));  // to the edge of the mask
      BOOST_TEST((tiles.kind(1, 0, 0) == TileKind::empty));
      BOOST_TEST((tiles.kind(0, 1, 1) == TileKind::mixed));
      BOOST_TEST((tiles.kind(0, tiles.query_tiles, 0) == TileKind::empty));
    }
  }
}

/// Memory beside the inputs and outputs: all scores in v1, none from v2 on, and of a mask no more
/// than 64 MiB, or what 128 queries take.
BOOST_AUTO_TEST_CASE(memory_grows_linearly_from_v2_on) {
  const auto bytes = [](Attend<bfloat16> attend, std::int64_t n, bool masked) {
    Sequences<bfloat16> p(1, n, n, 8, 8);
    if (masked) {
      p.set_mask([](auto, std::int64_t query, std::int64_t key) { return query / 64 == key / 64; });
    }
    const std::size_t before = Workspace::bytes_given();
    run(attend, p, 0, 1);
    return static_cast<std::int64_t>(Workspace::bytes_given() - before);
  };
  BOOST_TEST(bytes(attention_v1<bfloat16>, 512, false) == 512 * 512 * 4);
  BOOST_TEST(bytes(attention_v1<bfloat16>, 1024, false) == 1024 * 1024 * 4);
  for (const Attend<bfloat16> attend : {attention_v2<bfloat16>, attention_launched<bfloat16>}) {
    BOOST_TEST(bytes(attend, 512, false) == 0);
    BOOST_TEST(bytes(attend, 1024, false) == 0);
    for (const std::int64_t n : {512, 1000}) {
      BOOST_TEST(bytes(attend, n, true) == packed_mask_bytes(1, n, n));
    }
  }
  const std::int64_t k16 = 16 << 10, at_16k = packed_mask_bytes(1, k16, k16);
  BOOST_TEST_MESSAGE("attention at " << k16 << " x " << k16 << ": no workspace without a mask, "
                                     << at_16k << " bytes with one, where scores in float32 take "
                                     << k16 * k16 * 4);
  BOOST_TEST(at_16k == k16 * k16 / 8 + k16 / 64 * (k16 / 64));
  // Then it stays, and at last grows with the number of keys.
  const std::int64_t most = 65 << 20;
  for (const std::int64_t n : {k16, 2 * k16, 8 * k16, 16 * k16}) {
    BOOST_TEST(packed_mask_bytes(1, n, n) < most);
    BOOST_TEST(packed_queries(1, n, n) % most_query_tile == 0);
    BOOST_TEST(packed_queries(1, n, n) <= n);
  }
  const std::int64_t few = packed_mask_bytes(4096, k16, 64 * k16);  // 128 queries of many masks
  BOOST_TEST(packed_queries(4096, k16, 64 * k16) == most_query_tile);
  BOOST_TEST(packed_mask_bytes(4096, k16, 128 * k16) == 2 * few);
}

/// v4's shapes too, as no emulator runs it (tests/cuda/test_attention_launched.cpp).
BOOST_AUTO_TEST_CASE_TEMPLATE(v3_is_launched_for_16_bits_and_v2_for_the_others, T, Types) {
  for (const auto& [d_k, d_v] : {std::pair{64, 64}, {128, 128}, {32, 32}, {64, 8}}) {
    const Sequences<T> p(1, 20, 30, d_k, d_v);
    const Kernels launched = launches([&] { run(attention_launched<T>, p, 0, 1); });
    BOOST_TEST(launched == Kernels{sizeof(T) == 2 ? "attention v3" : "attention v2"},
               boost::test_tools::per_element());
  }
}
#endif

BOOST_AUTO_TEST_CASE(nothing_to_sum_over_is_an_error_unless_nothing_is_wanted) {
  for (const Attend<float> attend :
       {attention_v1<float>, attention_v2<float>, attention_launched<float>}) {
    const Sequences<float> no_keys(1, 3, 0, 4, 4), no_width(1, 3, 3, 0, 4),
        no_queries(1, 0, 3, 4, 4);
    BOOST_CHECK_THROW(run(attend, no_keys, 0, 1), std::invalid_argument);
    BOOST_CHECK_THROW(run(attend, no_width, 0, 1), std::invalid_argument);
    run(attend, no_queries, 0, 1);
    run(attend, no_keys, 0, 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
