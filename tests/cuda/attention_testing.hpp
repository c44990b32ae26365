// What the tests of attention's kernels share: tensors, masks, and the results in double by a plain
// loop.
#pragma once

#include "attention.cuh"
#include "cuda_testing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <type_traits>
#include <vector>

namespace prenorm::cuda {

inline std::mt19937 random_bits{7};

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

/// Sequences of one shape, side by side, with a mask each where there is one.
template <class T>
struct Sequences {
  std::int64_t batch, n, m, d_k, d_v;
  bool causal = false;
  Elements<T> q, k, v;
  std::unique_ptr<bool[]> mask;

  Sequences(std::int64_t b, std::int64_t queries, std::int64_t keys, std::int64_t width,
            std::int64_t width_v)
      : batch(b), n(queries), m(keys), d_k(width), d_v(width_v) {
    q = draw<T>(b * n * d_k);
    k = draw<T>(b * m * d_k);
    v = draw<T>(b * m * d_v);
  }

  /// attends(sequence, query, key)
  template <class Attends>
  void set_mask(Attends attends) {
    mask = make_mask(batch, n, m, attends);
  }

  /// Sequences first ... first + count - 1.
  Attention<T> call(std::int64_t first, std::int64_t count, T* y) const {
    Attention<T> a{.name = "test",
                   .q = q.data() + first * n * d_k,
                   .k = k.data() + first * m * d_k,
                   .v = v.data() + first * m * d_v,
                   .y = y,
                   .n = n,
                   .m = m,
                   .d_k = d_k,
                   .d_v = d_v,
                   .q_stride = d_k,
                   .k_stride = d_k,
                   .v_stride = d_v,
                   .y_stride = d_v,
                   .batch = {}};
    a.batch.append(count, {n * d_k, m * d_k, m * d_v, n * d_v, 1});
    if (mask) {
      a.mask = mask.get() + first * n * m;
      a.masks = count;
    }
    a.causal = causal;
    return a;
  }
};

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

}  // namespace prenorm::cuda
