// What the tests of attention's kernels share: tensors, masks, and the results in double by a plain
// loop.
#pragma once

#include "attention.cuh"
#include "cuda_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <ostream>
#include <random>
#include <type_traits>
#include <vector>

namespace prenorm::cuda {

inline std::mt19937 random_bits{7};
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Gives memory aligned to 256 bytes, as tensors of the interface are.
template <class T>
struct Aligned {
  using value_type = T;
  static constexpr std::align_val_t alignment{256};

  Aligned() = default;
  template <class Other>
  Aligned(const Aligned<Other>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), alignment));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, alignment); }
  bool operator==(const Aligned&) const = default;
};

template <class T>
using Elements = std::vector<T, Aligned<T>>;

template <class T>
Elements<T> draw(std::int64_t count, float spread = 1) {
  std::normal_distribution<float> normal(0, spread);
  Elements<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(normal(random_bits));
  return values;
}

/// A mask [masks, n, m]: attends(mask, query, key), called in the order of its entries.
template <class Attends>
std::unique_ptr<bool[]> make_mask(std::int64_t masks, std::int64_t n, std::int64_t m,
                                  Attends attends) {
  auto mask = std::make_unique<bool[]>(static_cast<std::size_t>(masks * n * m));
  for (std::int64_t i = 0; i < masks * n * m; ++i) {
    mask[static_cast<std::size_t>(i)] = attends(i / m / n, i / m % n, i % m);
  }
  return mask;
}

/// attend(a, the default stream) for tensors in the host's memory; its answer, or true.
template <class T, class Attend>
bool call_kernel(Attend attend, Attention<T> a) {
  const auto extent = [&a](int which, std::int64_t rows, std::int64_t columns,
                           std::int64_t stride) {  // elements to the end of the last row
    std::int64_t end = 0;
    for (std::int64_t b = 0; b < a.batch.size && rows > 0; ++b) {
      end = std::max(end, a.batch.part(which, b) + (rows - 1) * stride + columns);
    }
    return end;
  };
  const Mirror q(a.q, extent(a.of_q, a.n, a.d_k, a.q_stride));
  const Mirror k(a.k, extent(a.of_k, a.m, a.d_k, a.k_stride));
  const Mirror v(a.v, extent(a.of_v, a.m, a.d_v, a.v_stride));
  const Mirror y(a.y, extent(a.of_y, a.n, a.d_v, a.y_stride));
  const Mirror mask(a.mask, a.mask != nullptr ? a.masks * a.n * a.m : 0);
  a.q = q.data();
  a.k = k.data();
  a.v = v.data();
  a.y = y.data();
  if (a.mask != nullptr) a.mask = mask.data();
  bool taken = true;
  if constexpr (std::is_void_v<decltype(attend(a, Stream{}))>) {
    attend(a, Stream{});
  } else {
    taken = attend(a, Stream{});
  }
  y.take_back();
  return taken;
}

/// The same bits, also of what is no number.
template <class T>
bool same_bits(const Elements<T>& a, const Elements<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Row `query` of softmax(q kᵀ / sqrt(d_k)) v in double, for index b of the batch. Zeros where the
/// query attends to no key.
template <class T>
std::vector<double> true_row(const Attention<T>& a, std::int64_t b, std::int64_t query) {
  const T* const q = a.q + a.batch.part(a.of_q, b) + query * a.q_stride;
  const T* const k = a.k + a.batch.part(a.of_k, b);
  const T* const v = a.v + a.batch.part(a.of_v, b);
  std::vector<double> weight(static_cast<std::size_t>(a.m)), row(static_cast<std::size_t>(a.d_v));
  double largest = -INFINITY, sum = 0;
  for (std::int64_t j = 0; j < a.m; ++j) {
    double score = 0;
    for (std::int64_t c = 0; c < a.d_k; ++c) {
      score += static_cast<double>(q[c]) * static_cast<double>(k[j * a.k_stride + c]);
    }
    const bool attends =
        (!a.causal || j <= query) &&
        (a.mask == nullptr || a.mask[(a.batch.part(a.of_mask, b) * a.n + query) * a.m + j]);
    score = attends ? score / std::sqrt(static_cast<double>(a.d_k)) : -INFINITY;
    largest = std::max(largest, score);
    weight[static_cast<std::size_t>(j)] = score;
  }
  if (largest == -INFINITY) return row;
  for (double& w : weight) sum += w = std::exp(w - largest);
  for (std::int64_t j = 0; j < a.m; ++j) {
    const double share = weight[static_cast<std::size_t>(j)] / sum;
    for (std::int64_t c = 0; c < a.d_v && share != 0; ++c) {
      row[static_cast<std::size_t>(c)] += share * static_cast<double>(v[j * a.v_stride + c]);
    }
  }
  return row;
}

/// The largest off(y, wanted) of all elements of y; infinite where one is NaN.
template <class T, class Off>
double largest_error(const Attention<T>& a, Off off) {
  double largest = 0;
  for (std::int64_t b = 0; b < a.batch.size; ++b) {
    for (std::int64_t query = 0; query < a.n; ++query) {
      const std::vector<double> wanted = true_row(a, b, query);
      const T* const y = a.y + a.batch.part(a.of_y, b) + query * a.y_stride;
      for (std::int64_t c = 0; c < a.d_v; ++c) {
        const double here = off(static_cast<double>(y[c]), wanted[static_cast<std::size_t>(c)]);
        largest = std::isnan(here) ? INFINITY : std::max(largest, here);
      }
    }
  }
  return largest;
}

/// The largest difference, in the same way.
template <class T>
double largest_error(const Attention<T>& a) {
  return largest_error(a, [](double y, double wanted) { return std::abs(y - wanted); });
}

/// How the tensors of a call lie in memory.
struct Layout {
  std::int64_t batch, n, m, d_k, d_v;
  std::int64_t heads = 1;    // of each index of the batch, side by side in the columns
  std::int64_t padding = 0;  // elements between the rows
  std::int64_t offset = 0;   // before the first, which is else aligned
  bool fused = false;        // q, k and v are columns of one matrix
  bool shared_keys = false;  // k and v serve all of a batch
};

inline std::ostream& operator<<(std::ostream& out, const Layout& s) {
  for (const std::int64_t x : {s.batch, s.n, s.m, s.d_k, s.d_v, s.heads, s.padding, s.offset}) {
    out << x << ", ";
  }
  return out << (s.fused ? "fused" : s.shared_keys ? "shared keys" : "apart");
}

/// A call and its memory, which holds NaN wherever no element of a tensor is.
template <class T>
struct Call {
  Layout s;
  Elements<T> inputs, y;
  std::unique_ptr<bool[]> mask;
  Attention<T> a;

  explicit Call(const Layout& layout, float spread = 1) : s(layout) {
    const std::int64_t width = s.heads * std::max(s.d_k, s.d_v);
    const auto stride = [&](std::int64_t d) {
      return (s.fused ? 3 * width : s.heads * d) + s.padding;
    };
    const std::int64_t of_k = stride(s.d_k), of_v = stride(s.d_v);  // q and y have these too
    const std::int64_t queries = s.fused ? std::max(s.n, s.m) : s.n, keys = s.fused ? queries : s.m;
    const auto behind = [](std::int64_t end) { return ceil_div(end, 128) * 128; };
    const std::int64_t k = s.fused ? width : behind(s.batch * queries * of_k);
    const std::int64_t v = s.fused ? 2 * width : behind(k + s.batch * keys * of_k);
    const auto size = [&](std::int64_t end) {
      return static_cast<std::size_t>(end + s.offset + 64);
    };
    inputs.assign(size(v + s.batch * keys * of_v), T(not_a_number));
    y.assign(size(s.batch * s.n * of_v), T(not_a_number));
    const T* const first = inputs.data() + s.offset;
    a = {.name = "test",
         .q = first,
         .k = first + k,
         .v = first + v,
         .y = y.data() + s.offset,
         .n = s.n,
         .m = s.m,
         .d_k = s.d_k,
         .d_v = s.d_v,
         .q_stride = of_k,
         .k_stride = of_k,
         .v_stride = of_v,
         .y_stride = of_v,
         .batch = {}};
    const std::int64_t own = s.shared_keys ? 0 : keys;
    a.batch.append(s.batch, {queries * of_k, own * of_k, own * of_v, s.n * of_v, 1});
    a.batch.append(s.heads, {s.d_k, s.d_k, s.d_v, s.d_v, 0});
    fill(a.q, a.of_q, of_k, s.n, s.d_k, spread);
    fill(a.k, a.of_k, of_k, s.m, s.d_k, spread);
    fill(a.v, a.of_v, of_v, s.m, s.d_v, spread);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// attends(index of the batch, query, key)
  template <class Attends>
  void set_mask(Attends attends) {
    mask = make_mask(s.batch, s.n, s.m, attends);
    a.mask = mask.get();
    a.masks = s.batch;
  }

  void fill(const T* tensor, int which, std::int64_t stride, std::int64_t rows,
            std::int64_t columns, float spread) {
    std::normal_distribution<float> normal(0, spread);
    for (std::int64_t b = 0; b < a.batch.size; ++b) {
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const std::int64_t at = a.batch.part(which, b) + i / columns * stride + i % columns;
        const_cast<T&>(tensor[at]) = static_cast<T>(normal(random_bits));
      }
    }
  }

  /// Elements of the first matrices.
  T& q_at(std::int64_t row, std::int64_t column) {
    return const_cast<T&>(a.q[row * a.q_stride + column]);
  }
  T& k_at(std::int64_t row, std::int64_t column) {
    return const_cast<T&>(a.k[row * a.k_stride + column]);
  }
  T& v_at(std::int64_t row, std::int64_t column) {
    return const_cast<T&>(a.v[row * a.v_stride + column]);
  }
  /// Element i of all of y, in the order of its axes.
  const T& y_at(std::int64_t i) const {
    const std::int64_t row = i / s.d_v;
    return a.y[a.batch.part(a.of_y, row / s.n) + row % s.n * a.y_stride + i % s.d_v];
  }

  /// What the kernel, which must take the call, makes of y's memory.
  template <class Attend>
  const Elements<T>& run(Attend attend) {
    std::ranges::fill(y, T(not_a_number));
    BOOST_REQUIRE(call_kernel(attend, a));
    return y;
  }

  /// The same, by a call for each index of the batch.
  template <class Attend>
  const Elements<T>& run_one_by_one(Attend attend) {
    std::ranges::fill(y, T(not_a_number));
    for (std::int64_t i = 0; i < a.batch.size; ++i) {
      Attention<T> one = a;
      one.q += a.batch.part(a.of_q, i);
      one.k += a.batch.part(a.of_k, i);
      one.v += a.batch.part(a.of_v, i);
      one.y += a.batch.part(a.of_y, i);
      if (a.mask != nullptr) one.mask += a.batch.part(a.of_mask, i) * s.n * s.m;
      one.masks = a.mask != nullptr ? 1 : 0;
      one.batch = {};
      BOOST_REQUIRE(call_kernel(attend, one));
    }
    return y;
  }

  /// The largest off(y, wanted), or difference; infinite where one is NaN, and where anything but
  /// y's elements was written.
  template <class... Off>
  double error(Off... off) const {
    Elements<T> others = y;
    for (std::int64_t i = 0; i < a.batch.size * s.n * s.d_v; ++i) {
      others[static_cast<std::size_t>(&y_at(i) - y.data())] = T(not_a_number);
    }
    const bool untouched = std::ranges::all_of(
        others, [](const T& element) { return std::isnan(static_cast<double>(element)); });
    return untouched ? largest_error(a, off...) : INFINITY;
  }
};

}  // namespace prenorm::cuda
