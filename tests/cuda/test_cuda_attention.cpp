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
#include <string>
#include <tuple>
#include <utility>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

template <class T>
using Attend = void (*)(const Attention<T>&, Stream);

template <class T>
double tolerance() {
  return std::is_same_v<T, double> ? 1e-14 : std::is_same_v<T, float> ? 1e-5 : 1e-2;
}

template <class T>
void check(const std::string& what, Call<T>& call) {
  for (const Attend<T> attend : {attention_v1<T>, attention_v2<T>, attention_launched<T>}) {
    call.run(attend);
    BOOST_TEST_CONTEXT(what << ", " << call.s) BOOST_TEST(call.error() < tolerance<T>());
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
    Call<T> p({2, n, m, d_k, d_v});
    check("full", p);
    p.set_mask([](auto...) { return random_bits() % 3 != 0; });
    check("random mask", p);
    p.a.mask = nullptr;
    p.a.causal = true;
    check("causal", p);
  }
}

/// Whole tiles that are empty, full and mixed, in an order that leaves out the first and the last;
/// and queries that attend to nothing.
BOOST_AUTO_TEST_CASE_TEMPLATE(tiles_of_each_kind, T, Types) {
  Call<T> p({2, 200, 330, 16, 8});
  p.set_mask([](std::int64_t b, std::int64_t query, std::int64_t key) {
    if (query % 50 == 7) return false;
    const std::int64_t kind = (query / 64 + key / 64 + b) % 4;
    return kind == 1 || (kind == 2 && (query * 7 + key * 3) % 5 == 0);
  });
  check("tiles", p);
  Call<T> blocks({1, 192, 192, 16, 16});
  blocks.set_mask([](auto, std::int64_t query, std::int64_t key) {
    return query / 64 == key / 64;  // no mixed tile at all
  });
  check("blocks", blocks);
}

/// A mask of which not all fits the memory is packed, and its queries attend, some at a time.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_mask_in_parts, T, Types) {
  Call<T> p({2, 300, 200, 16, 8});
  p.set_mask([](auto...) { return random_bits() % 2 == 0; });
  for (const bool causal : {false, true}) {
    p.a.causal = causal;
    const Elements<T> at_once = p.run(attention_launched<T>);
    const std::int64_t usual = std::exchange(most_packed_bytes, 1);
    BOOST_TEST(packed_queries(2, 300, 200) == most_query_tile);
    check("in parts", p);
    BOOST_TEST(same_bits(at_once, p.run(attention_launched<T>)));
    most_packed_bytes = usual;
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_causal_call_equals_a_causal_mask, T, Types) {
  Call<T> p({1, 150, 150, 16, 16});
  p.a.causal = true;
  check("causal", p);
  const Elements<T> causal = p.run(attention_launched<T>);
  p.a.causal = false;
  p.set_mask([](auto, std::int64_t query, std::int64_t key) { return key <= query; });
  BOOST_TEST(same_bits(causal, p.run(attention_launched<T>)));
}

/// One key takes nearly all; what the others add, each less than float16's smallest number, counts.
BOOST_AUTO_TEST_CASE_TEMPLATE(many_small_probabilities, T, Types) {
  Call<T> p({1, 2, 8192, 4, 1});
  for (std::int64_t c = 0; c < 4; ++c) {
    for (std::int64_t i = 0; i < 2; ++i) p.q_at(i, c) = T(1.0f);
    for (std::int64_t j = 0; j < 8192; ++j) p.k_at(j, c) = T(j == 400 ? 0.0f : -8.75f);
  }
  for (std::int64_t j = 0; j < 8192; ++j) p.v_at(j, 0) = T(j == 400 ? 0.0f : 1.0f);
  const double sum = 8191 * std::exp(-17.5);
  for (const Attend<T> attend : {attention_v1<T>, attention_v2<T>, attention_launched<T>}) {
    p.run(attend);
    for (const std::int64_t i : {0, 1}) {
      BOOST_TEST(std::abs(static_cast<double>(p.y_at(i)) - sum / (1 + sum)) < 0.02 * sum);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_same_bits_alone_and_in_a_batch, T, Types) {
  for (const auto& [n, m] : {std::pair{70, 90}, {2, 1100}}) {  // of 16 bits the latter is split
    Call<T> p({3, n, m, 20, 33});
    for (const bool masked : {false, true}) {
      if (masked) p.set_mask([](auto...) { return random_bits() % 2 == 0; });
      for (const Attend<T> attend : {attention_v1<T>, attention_v2<T>, attention_launched<T>}) {
        const Elements<T> together = p.run(attend);
        BOOST_TEST(same_bits(together, p.run(attend)));
        BOOST_TEST(same_bits(together, p.run_one_by_one(attend)));
      }
    }
  }
}

#if !defined(__CUDACC__)  // the host reads what kernels have written, and learns which run
/// What the packed mask says, entry by entry, where it is packed some queries at a time; by vectors
/// where its rows are aligned to them.
BOOST_AUTO_TEST_CASE(a_packed_mask_is_the_mask) {
  const auto check = [](std::int64_t m, std::int64_t offset, const char* kernel) {
    const std::int64_t masks = 2, n = 150;
    const auto entries = make_mask(1, 1, offset + masks * n * m, [&](auto, auto, std::int64_t i) {
      if (i < offset) return false;
      i -= offset;
      const std::int64_t b = i / m / n, query = i / m % n, key = i % m;
      return query < 64 ? b == 0 : key < 64 ? b == 1 : (query + key) % 3 == 0;
    });
    const bool* mask = entries.get() + offset;
    for (const std::int64_t first : {0, 128}) {
      const std::int64_t count = std::min<std::int64_t>(n - first, 128);
      MaskTiles tiles;
      const Kernels kernels =
          launches([&] { tiles = pack_mask(mask, masks, n, m, first, count, {}); });
      BOOST_TEST(kernels == Kernels{kernel}, boost::test_tools::per_element());
      BOOST_TEST(tiles.query_tiles == (count + 63) / 64);
      BOOST_TEST(tiles.key_tiles == 3);
      for (std::int64_t b = 0; b < masks; ++b) {
        for (std::int64_t query = 0; query < tiles.query_tiles * 64; ++query) {
          for (std::int64_t key = 0; key < tiles.key_tiles * 64; ++key) {
            const bool there = query < count && key < m;
            const bool wanted = there && mask[(b * n + first + query) * m + key];
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
  };
  check(170, 0, "pack_mask_tiles");
  check(176, 1, "pack_mask_tiles");
  check(176, 0, "pack_mask_vectors");
  check(192, 16, "pack_mask_vectors");
}

/// Memory beside the inputs and outputs: all scores in v1, none from v2 on, and of a mask no more
/// than 64 MiB, or what 128 queries take.
BOOST_AUTO_TEST_CASE(memory_grows_linearly_from_v2_on) {
  const auto bytes = [](Attend<bfloat16> attend, std::int64_t n, bool masked) {
    Call<bfloat16> p({1, n, n, 8, 8});
    if (masked) {
      p.set_mask([](auto, std::int64_t query, std::int64_t key) { return query / 64 == key / 64; });
    }
    const std::size_t before = Workspace::bytes_given();
    p.run(attend);
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

/// Keys are split by n and m alone: in 16 bits, and where one pass over them is no causal one.
BOOST_AUTO_TEST_CASE_TEMPLATE(many_keys_are_split_for_few_queries, T, Types) {
  const auto launched = [](std::int64_t batch, std::int64_t n, std::int64_t m, bool causal) {
    Call<T> p({batch, n, m, 8, 8});
    p.a.causal = causal;
    return launches([&] { p.run(attention_launched<T>); });
  };
  const Kernels whole{sizeof(T) == 2 ? "attention v3" : "attention v2"};
  const Kernels split =
      sizeof(T) == 2 ? Kernels{"attention of parts", "attention, combined"} : whole;
  const auto same = boost::test_tools::per_element();
  BOOST_TEST(launched(1, 1, 1024, false) == split, same);
  BOOST_TEST(launched(3, 64, 1024, false) == split, same);
  BOOST_TEST(launched(1, 65, 1024, false) == whole, same);
  BOOST_TEST(launched(1, 64, 1023, false) == whole, same);
  BOOST_TEST(launched(1, 1, 1024, true) == whole, same);
}

/// v4's shapes too, as no emulator runs it (tests/cuda/test_attention_launched.cpp).
BOOST_AUTO_TEST_CASE_TEMPLATE(v3_is_launched_for_16_bits_and_v2_for_the_others, T, Types) {
  for (const auto& [d_k, d_v] : {std::pair{64, 64}, {128, 128}, {32, 32}, {64, 8}}) {
    Call<T> p({1, 20, 30, d_k, d_v});
    const Kernels launched = launches([&] { p.run(attention_launched<T>); });
    BOOST_TEST(launched == Kernels{sizeof(T) == 2 ? "attention v3" : "attention v2"},
               boost::test_tools::per_element());
  }
}
#endif

BOOST_AUTO_TEST_CASE(nothing_to_sum_over_is_an_error_unless_nothing_is_wanted) {
  for (const Attend<float> attend :
       {attention_v1<float>, attention_v2<float>, attention_launched<float>}) {
    Call<float> no_keys({1, 3, 0, 4, 4}), no_width({1, 3, 3, 0, 4}), no_queries({1, 0, 3, 4, 4}),
        nothing({0, 3, 0, 4, 4});
    BOOST_CHECK_THROW(no_keys.run(attend), std::invalid_argument);
    BOOST_CHECK_THROW(no_width.run(attend), std::invalid_argument);
    no_queries.run(attend);
    nothing.run(attend);
  }
}

BOOST_AUTO_TEST_SUITE_END()
