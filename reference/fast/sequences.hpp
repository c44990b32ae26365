// How attention is shared out: sequences as views of tensors, their queries in blocks, on all
// cores. The formula is in attention.hpp.
#pragma once

#include "sums.hpp"

namespace prenorm::fast {

/// The queries, keys and values of one sequence, and where its result goes. Rows may have any
/// stride, so that a head is a range of columns and not a copy.
template <class C>
struct Sequence {
  Matrix<const C> q, k, v;      // [n, d_k], [m, d_k], [m, d_v]
  Matrix<C> y;                  // [n, d_v]
  Matrix<const bool> mask{};    // [n, m]; no data: every query attends to every key
  bool causal = false;          // query i attends to keys j <= i only
  std::size_t first_query = 0;  // the index of query 0, if this is a part

  /// Its queries first ... first + count - 1, and the keys up to the last that one of them sees.
  Sequence part(std::size_t first, std::size_t count) const {
    std::size_t keys = causal ? std::min(first + count, k.rows) : k.rows;
    Sequence part = *this;
    part.q = q.part(first, count);
    part.y = y.part(first, count);
    part.first_query += first;
    if (mask.data != nullptr) {
      part.mask = mask.part(first, count);
      keys = std::min(keys, part.seen_keys());
    }
    part.k = k.part(0, keys);
    part.v = v.part(0, keys);
    return part;
  }

  /// Replaces the scores of the keys that query i does not attend to.
  void hide(std::size_t i, C* score) const {
    constexpr C infinity = std::numeric_limits<C>::infinity();
    const std::size_t keys = k.rows;
    if (mask.data != nullptr) {
      const auto* row = attends(i);
#pragma omp simd
      for (std::size_t j = 0; j < keys; ++j) {
        const C visible = score[j];
        score[j] = row[j] != 0 ? visible : -infinity;
      }
    }
    if (causal) std::fill(score + std::min(first_query + i + 1, keys), score + keys, -infinity);
  }

 private:
  // The rows of the mask as bytes: for bool, GCC makes one branch per element, half of which are
  // mispredicted if the mask is random.
  const unsigned char* attends(std::size_t i) const {
    return reinterpret_cast<const unsigned char*>(mask.row(i));
  }

  /// The number of keys up to the last that a row of the mask attends to.
  std::size_t seen_keys() const {
    std::size_t seen = 0;
    for (std::size_t i = mask.rows; i-- > 0;) {  // the last row of a causal mask sees the most
      const auto* row = attends(i);
      unsigned char more = 0;
#pragma omp simd reduction(| : more)
      for (std::size_t j = seen; j < mask.columns; ++j) more |= row[j];
      if (more == 0) continue;
      seen = mask.columns;
      while (row[seen - 1] == 0) --seen;
    }
    return seen;
  }
};

/// attend(part) for all queries of the sequences sequence(0), sequence(1), ..., each of n queries,
/// some of them at a time: so the memory for scores grows with m, and not with n m.
template <class Describe, class Attend>
void share_out(std::size_t sequences, std::size_t n, Describe sequence, Attend attend) {
  constexpr std::size_t block = 64;
  const std::size_t blocks = (n + block - 1) / block;
  [[maybe_unused]] const ProductsOnOneThread guard;
  const std::size_t scores = sequences * n * sequence(0).k.rows;
  parallel_for(sequences * blocks, scores, [&](std::size_t job) {
    const std::size_t first = job % blocks * block;
    attend(sequence(job / blocks).part(first, std::min(block, n - first)));
  });
}

}  // namespace prenorm::fast
