// Attention on tensor cores, in the emulator and in the kit on a device, compared with a plain loop
// in double: sizes, strides, alignments, masks and values that the fixtures do not have.
#include "attention_testing.hpp"
#include "mask_tiles.cuh"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace prenorm;
using namespace prenorm::cuda;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Some number below `end`.
std::int64_t below(std::int64_t end) {
  return static_cast<std::int64_t>(random_bits() % static_cast<std::uint64_t>(end));
}

enum class Mask { none, random, tiles, rows, empty };

/// What a call looks like.
struct Shape {
  std::int64_t batch, n, m, d_k, d_v;
  Mask mask = Mask::none;
  bool causal = false;
  bool fused = false;  // q, k and v are columns of one matrix; else k and v serve all of a batch
  std::int64_t padding = 0;  // elements between the rows
  std::int64_t offset = 0;   // before the first, which is else aligned

  std::string text() const {
    std::string text = "mask " + std::to_string(static_cast<int>(mask));
    for (const std::int64_t x : {batch, n, m, d_k, d_v, padding, offset}) {
      text += ", " + std::to_string(x);
    }
    return text + (causal ? ", causal" : "") + (fused ? ", fused" : "");
  }
};

/// A call and its memory, which holds NaN wherever no element of a tensor is.
template <class T>
struct Call {
  Shape s;
  std::vector<T> inputs, y;
  std::unique_ptr<bool[]> mask;
  Attention<T> a;

  Call(const Shape& shape, float spread = 1) : s(shape) {
    const std::int64_t d = std::max(s.d_k, s.d_v), rows = std::max(s.n, s.m);
    const std::int64_t stride = (s.fused ? 3 * d : d) + s.padding;
    const std::int64_t matrix = rows * stride, kv = s.fused ? matrix : 0;
    // One matrix more than there are, in which nothing is.
    inputs.assign(static_cast<std::size_t>((3 * s.batch + 1) * matrix + s.offset + 64),
                  T(not_a_number));
    y.assign(static_cast<std::size_t>((s.batch + 1) * s.n * stride + s.offset + 64),
             T(not_a_number));
    T* const first = aligned(inputs) + s.offset;
    a = {"test",
         first,
         first + (s.fused ? d : s.batch * matrix),
         first + (s.fused ? 2 * d : (s.batch + 1) * matrix),
         aligned(y) + s.offset,
         s.n,
         s.m,
         s.d_k,
         s.d_v,
         stride,
         stride,
         stride,
         stride,
         {}};
    a.batch.append(s.batch, {matrix, kv, kv, s.n * stride, 1});
    a.causal = s.causal;
    fill(a.q, a.of_q, s.n, s.d_k, spread);
    fill(a.k, a.of_k, s.m, s.d_k, spread);
    fill(a.v, a.of_v, s.m, s.d_v, spread);
    if (s.mask == Mask::none) return;
    mask = make_mask(s.batch, s.n, s.m,
                     [this](auto b, auto query, auto key) { return draw(b, query, key); });
    a.mask = mask.get();
    a.masks = s.batch;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  static T* aligned(std::vector<T>& memory) {
    return memory.data() + (16 - reinterpret_cast<std::uintptr_t>(memory.data()) % 16) % 16 / 2;
  }

  void fill(const T* tensor, int which, std::int64_t rows, std::int64_t columns, float spread) {
    std::normal_distribution<float> normal(0, spread);
    const std::int64_t stride = a.q_stride;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const_cast<T&>(tensor[a.batch.part(which, b) + i / columns * stride + i % columns]) =
            T(normal(random_bits));
      }
    }
  }

  bool draw(std::int64_t b, std::int64_t query, std::int64_t key) const {
    switch (s.mask) {
      case Mask::random: return below(2) == 0;
      case Mask::tiles: {  // full, empty, mixed
        const std::int64_t kind = (query / 64 + key / 64 + b) % 3;
        return kind == 0 || (kind == 2 && below(4) == 0);
      }
      case Mask::rows: return query % 5 != 0 && below(8) == 0;
      default: return false;
    }
  }

  /// Element i of all of y, in the order of its axes.
  const T& element_of_y(std::int64_t i) const {
    const std::int64_t row = i / s.d_v;
    return a.y[a.batch.part(a.of_y, row / s.n) + row % s.n * a.y_stride + i % s.d_v];
  }

  void run() { BOOST_REQUIRE(call_kernel(attention_mma<T>, a)); }

  /// The largest error of y, in units of the rounding of 1; infinite where anything but its
  /// elements was written.
  double error() const {
    const double unit = std::is_same_v<T, float16> ? 0x1p-11 : 0x1p-8;
    std::vector<T> untouched = y;
    for (std::int64_t i = 0; i < s.batch * s.n * s.d_v; ++i) {
      untouched[static_cast<std::size_t>(&element_of_y(i) - y.data())] = T(not_a_number);
    }
    for (const T& element : untouched) {
      if (!std::isnan(static_cast<float>(element))) return INFINITY;
    }
    return largest_error(a, [unit](double got, double wanted) {
      return std::fabs(got - wanted) / unit / (1 + std::fabs(wanted));
    });
  }
};

template <class T>
void check(const Shape& shape) {
  Call<T> call(shape);
  call.run();
  BOOST_TEST_CONTEXT(shape.text()) BOOST_TEST(call.error() < 2.5);
}

using Types = std::tuple<float16, bfloat16>;

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_mma)

BOOST_AUTO_TEST_CASE_TEMPLATE(sizes_strides_and_masks, T, Types) {
  const std::int64_t widths[] = {1, 8, 32, 40, 64, 72, 128, 136, 256};
  const Mask masks[] = {Mask::none, Mask::random, Mask::tiles, Mask::rows, Mask::empty};
  for (int i = 0; i < 90; ++i) {
    const std::int64_t longest = on_a_device && i % 4 == 3 ? 1024 : 200;
    Shape shape{.batch = 1 + i % 2,
                .n = 1 + below(longest),
                .m = 1 + below(longest),
                .d_k = widths[i % 9],
                .d_v = widths[below(9)],
                .mask = masks[below(5)],
                .causal = i % 3 == 0,
                .fused = i % 4 == 1};
    if (i % 5 == 0) shape.padding = i % 10 == 0 ? 8 : 3;
    if (i % 7 == 0) shape.offset = i % 2 == 0 ? 1 : 8;
    check<T>(shape);
  }
  for (const std::int64_t n : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129}) {
    check<T>({1, n, 200 - n, 64, 64});
    check<T>({1, 5, n, 16, 128});
    check<T>({1, n, 200 - n, 32, 32, Mask::random});
  }
}

/// Blocks that have nothing to do between others, and long rows of empty tiles.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_tile_here_and_there, T, Types) {
  Call<T> call({1, 130, 64 * 70, 8, 8, Mask::empty});
  for (const auto& [query, key] : {std::pair<std::int64_t, std::int64_t>{3, 64 * 33 + 5},
                                   {100, 0},
                                   {100, 64 * 32},
                                   {127, 64 * 69 + 63},
                                   {129, 64 * 40}}) {
    call.mask[static_cast<std::size_t>(query * call.s.m + key)] = true;
  }
  call.run();
  BOOST_TEST(call.error() < 2.5);
}

/// Aligned or not, in one part or in more: the same sums.
BOOST_AUTO_TEST_CASE_TEMPLATE(the_same_bits_however_the_rows_lie, T, Types) {
  const auto bits = [](std::int64_t padding, std::int64_t offset, std::int64_t packed) {
    random_bits.seed(3);
    Call<T> call({.batch = 2,
                  .n = 300,
                  .m = 150,
                  .d_k = 40,
                  .d_v = 72,
                  .mask = Mask::tiles,
                  .padding = padding,
                  .offset = offset});
    const std::int64_t usual = std::exchange(most_packed_bytes, packed);
    call.run();
    most_packed_bytes = usual;
    std::vector<std::uint16_t> bits;
    for (std::int64_t i = 0; i < 2 * 300 * 72; ++i) bits.push_back(call.element_of_y(i).bits);
    return bits;
  };
  const auto usual = bits(0, 0, most_packed_bytes);
  BOOST_TEST((usual == bits(8, 8, most_packed_bytes)));
  BOOST_TEST((usual == bits(1, 0, most_packed_bytes)));
  BOOST_TEST((usual == bits(0, 3, most_packed_bytes)));
  BOOST_TEST((usual == bits(0, 0, 1)));
}

/// Scores that are large, whose maxima grow from tile to tile.
BOOST_AUTO_TEST_CASE_TEMPLATE(large_scores, T, Types) {
  for (const float spread : {8.0f, 60.0f, 15000.0f}) {
    Call<T> call({1, 70, 200, 8, 8}, spread);
    call.fill(call.a.v, call.a.of_v, 200, 8, 1);
    call.run();
    BOOST_TEST(call.error() < 2.5);
  }
}

/// NaN and infinities in q and k come out where the formula puts them.
BOOST_AUTO_TEST_CASE_TEMPLATE(hard_values, T, Types) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto result = [](float q, float k, std::int64_t key) {
    Call<T> call({1, 40, 100, 8, 8});
    for (std::int64_t i = 0; i < 40; ++i) const_cast<T&>(call.a.q[i * call.a.q_stride]) = T(q);
    const_cast<T&>(call.a.k[key * call.a.k_stride]) = T(k);
    call.run();
    return std::pair(static_cast<float>(call.a.y[3 * call.a.y_stride + 5]), call.error());
  };
  for (const std::int64_t key : {0, 70}) {
    BOOST_TEST(std::isnan(result(1, not_a_number, key).first));
    BOOST_TEST(std::isnan(result(1, infinity, key).first));
    BOOST_TEST(result(1, -infinity, key).second < 2.5);  // a key without weight
  }
  BOOST_TEST(std::isnan(result(not_a_number, 1, 0).first));

  // All scores -infinity.
  Call<T> call({1, 40, 100, 8, 8});
  for (std::int64_t j = 0; j < 100; ++j) {
    const_cast<T&>(call.a.k[j * call.a.k_stride]) = T(-infinity);
  }
  for (std::int64_t i = 0; i < 40; ++i) const_cast<T&>(call.a.q[i * call.a.q_stride]) = T(1);
  call.run();
  BOOST_TEST(static_cast<float>(call.a.y[3 * call.a.y_stride + 5]) == 0);
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take) {
  for (const auto& [d_k, d_v] : {std::pair{257, 8}, {8, 257}}) {
    Call<float16> call({1, 3, 3, d_k, d_v});
    BOOST_TEST(!prenorm::cuda::attention_mma(call.a, {}));
    BOOST_TEST(std::isnan(static_cast<float>(call.a.y[0])));  // nothing was done
  }
  const Attention<float> single{};
  const Attention<double> wide{};
  BOOST_TEST(!prenorm::cuda::attention_mma(single, {}));
  BOOST_TEST(!prenorm::cuda::attention_mma(wide, {}));
}

BOOST_AUTO_TEST_SUITE_END()
