// The consumers of a block of attention v4 (attention_wgmma.cu): warpgroups of 64 queries each,
// which multiply and compute the softmax.
#pragma once

#include "attention_wgmma.cuh"
#include "mma.cuh"
#include "reduce.cuh"

#include <cmath>

namespace prenorm::cuda::v4 {

/// The descriptor of what is `bytes` further on.
__device__ constexpr std::uint64_t further(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

/// Starts scores = q kᵀ: 64 queries, 128 keys.
template <int d, class T>
__device__ __forceinline__ void start_scores(float (&scores)[64], std::uint64_t q,
                                             std::uint64_t k) {
  // step: scores
  fence_registers(scores);
  wgmma_fence();
#pragma unroll
  for (int c = 0; c < d; c += 16) {
    const auto bytes = static_cast<std::uint32_t>(c / panel_columns * tile * panel_row_bytes +
                                                  2 * (c % panel_columns));
    if (c == 0) {
      wgmma_rows<false, T>(scores, further(q, bytes), further(k, bytes));
    } else {
      wgmma_rows<true, T>(scores, further(q, bytes), further(k, bytes));
    }
  }
  wgmma_commit();
}

/// Starts y += p v, 16 keys at a time.
template <int d, class T>
__device__ __forceinline__ void start_values(float (&y)[d / 2], unsigned (&p)[32],
                                             std::uint64_t v) {
  // step: values
  fence_registers(y);
  fence_registers(p);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < tile / 16; ++step) {
    wgmma_columns<T>(y, p + 4 * step,
                     further(v, static_cast<std::uint32_t>(16 * step * panel_row_bytes)));
  }
  wgmma_commit();
}

/// By how many doublings powers may exceed their headroom (mma.cuh) before all are computed of a
/// larger score: with both, float16's stay below 2^16.
template <class T>
constexpr float slack = std::is_same_v<T, float16> ? 3 : 8;

/// Of a thread's two queries: the score whose power is 1, and its product with the scale; the sum
/// of the powers in the thread's own columns; by what sums so far must be multiplied.
struct Rows {
  float largest[2] = {-INFINITY, -INFINITY}, product[2] = {}, sum[2] = {}, shrink[2] = {};
  bool small = true;  // the products of all of the warp's rows
};

/// Online softmax: scores become 2^((scores - largest) * scale). `largest` is the row's largest so
/// far, less the headroom of powers, `lead`; or less than that by up to `slack`, so that sums are
/// seldom multiplied anew, and lanes seldom ask each other. Returns whether the sums of values must
/// be multiplied by `shrink`, in any row of the warp.
///
/// 2^(scores * scale - largest * scale) is one instruction less for each score. The second product
/// is rounded, alike for all of a row, and so is the `shrink` between two of them; but beyond 2^12
/// that could make powers infinite, or all of them 0. Then the difference comes first.
__device__ __forceinline__ bool online_softmax(float (&scores)[64], float scale, float lead,
                                               float slack, Rows& rows) {
  const auto maximum = [](float x, float y) { return fmaxf(x, y); };  // NaN comes by the scores
  constexpr float most_product = 4096;
  const auto shift = [&](int r) { return rows.largest[r] == -INFINITY ? 0.0f : rows.largest[r]; };
  // Both rows in turn, each in two parts: what depends on each other is four instructions apart.
  const auto over_parts = [&](auto combine, float(&total)[2]) {
    float parts[2][2];
#pragma unroll
    for (int i = 0; i < 64; i += 8) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& part = parts[j % 2][j / 2];
        const float pair = combine(scores[i + 2 * j], scores[i + 2 * j + 1]);
        part = i == 0 ? pair : combine(part, pair);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) total[r] = combine(parts[r][0], parts[r][1]);
  };

  // step: maximum
  float now[2];
  over_parts(maximum, now);
  // Both differences are rounded up: of large scores, which are up to 2^7 apart where they reach
  // 2^30, the nearest may be so low that a power is infinite in float16.
#pragma unroll
  for (int r = 0; r < 2; ++r) now[r] = __fsub_ru(now[r], lead);
  // A row's four lanes have the same `largest`, so one of them sees it if any score is beyond.
  const bool grows = __any_sync(0xffffffffu, __fsub_ru(now[0], slack) > rows.largest[0] ||
                                                 __fsub_ru(now[1], slack) > rows.largest[1]) != 0;
  if (grows) {
    const float before[] = {rows.largest[0], rows.largest[1]};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows.largest[r] = maximum(before[r], warp_reduce(now[r], maximum, 4));
      rows.product[r] = __fmul_rn(shift(r), scale);  // step: scale
    }
    rows.small = __all_sync(0xffffffffu, fabsf(rows.product[0]) < most_product &&
                                             fabsf(rows.product[1]) < most_product) != 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows.shrink[r] = exp2_fast(rows.small ? __fmul_rn(before[r], scale) - rows.product[r]
                                            : (before[r] - shift(r)) * scale);
      rows.sum[r] *= rows.shrink[r];
    }
  }
  // step: weights
  float sum[2];
  if (rows.small) {
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      scores[i] = exp2_fast(fmaf(scores[i], scale, -rows.product[i / 2 % 2]));
    }
    over_parts(Sum(), sum);  // in both branches: so it goes on while powers are computed
  } else {
#pragma unroll
    for (int i = 0; i < 64; ++i) scores[i] = exp2_fast((scores[i] - shift(i / 2 % 2)) * scale);
    over_parts(Sum(), sum);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) rows.sum[r] += sum[r];
  return grows;
}

/// The probabilities as A of a product: wgmma.cuh says why this is all.
template <class T>
__device__ __forceinline__ void pack_all(unsigned (&p)[32], const float (&scores)[64]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) p[i] = pack<T>(scores[2 * i], scores[2 * i + 1]);  // step: weights
}

/// Rescales the sums after a larger score.
template <int n>
__device__ __forceinline__ void shrink_all(float (&y)[n], const float (&shrink)[2]) {
#pragma unroll
  for (int i = 0; i < n; ++i) y[i] *= shrink[i / 2 % 2];  // step: maximum
}

/// A consumer, which takes item after item. The two take turns: one multiplies while the other
/// computes exponentials. At the end of two items, `s` being the softmax of a tile, `y` the store:
///
///   tensor cores  | QK PV |   of 0    | QK PV |   of 1    | QK PV |   of 0    | ...
///   consumer 0      take  pass  s s s s s s s s   take  pass  s s s s ...        y
///   consumer 1      s s s s s s   take  pass  s s s s s s s s   take  pass ...       y
///   producer        K2 V1  . . . . . K3 V2 . . . .  next item: Q, K0 . . . K1 V0 ...
template <class T, int d>
class Consumer {
 public:
  __device__ Consumer(Shared<T, d>& shared, const Maps& maps, const Call<T>& call)
      : shared_(shared), maps_(maps), call_(call) {
    // The same in all lanes, as the compiler then knows: it keeps these in the warp's registers.
    consumer_ = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.y) - 1, 0);
    q_ = further(along_columns(shared_address(shared.q[0][0])),
                 static_cast<std::uint32_t>(consumer_ * consumer_rows * panel_row_bytes));
    k_ = along_columns(shared_address(shared.k[0][0]));
    v_ = along_rows(shared_address(shared.v[0][0]), sizeof(shared.v[0][0]));
  }

  __device__ __forceinline__ void consume_all() {
    if (consumer_ == 1) pass_turn();  // the other's first
    while (consume() != no_more_items) {
    }
    if (consumer_ == 0) take_turn();  // the last one passed on: none is left half full
    // Shared memory must last until TMA has read it.
    if (first_lane()) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>());
  }

 private:
  // At barrier 1 + c consumer c waits for its turn to start products, which the other one passes
  // on. Both take the same number of turns, as they get the same tiles.
  __device__ __forceinline__ void take_turn() const {
    barrier_wait(1 + consumer_, consumers * warpgroup);
  }
  __device__ __forceinline__ void pass_turn() const {
    barrier_arrive(2 - consumer_, consumers * warpgroup);
  }

  static __device__ __forceinline__ bool first_lane() { return threadIdx.x % 32 == 0; }

  /// Of the warp, in the block's tile.
  __device__ __forceinline__ int first_row(Lane at) const {
    return consumer_ * consumer_rows + at.warp * warp_rows;
  }

  /// Of a stage of a ring, the first of which is at `tiles`.
  __device__ __forceinline__ std::uint64_t tile_at(std::uint64_t tiles, Stage<stages> stage) const {
    return further(tiles, static_cast<std::uint32_t>(stage.index) *
                              static_cast<std::uint32_t>(sizeof(shared_.k[0])));
  }

  __device__ __forceinline__ void release(std::uint64_t& empty) const {
    __syncwarp();
    if (first_lane()) arrive(empty);
  }

  /// What the producer says of the next tile of keys, once it is there. Read by the lane that
  /// releases it, for racecheck does not know that __syncwarp orders the others'.
  __device__ __forceinline__ Message next_message() const {
    wait(shared_.k_full[keys_.index], keys_.parity);
    Message message = 0;
    if (first_lane()) message = shared_.message[keys_.index];
    return __shfl_sync(0xffffffffu, message, 0);
  }

  /// Waits until scores are there; those that are masked become -infinity, where any may be.
  __device__ __forceinline__ void finish_scores(float (&scores)[64], Message message,
                                                const Item& item) {
    fence_registers(scores);
    release(shared_.k_empty[keys_.index]);
    keys_ = keys_.next();
    // step: mask
    const unsigned kinds = kinds_for(consumer_, message);
    if (kinds == both_full) return;
    const Lane at(consumer_, thread_anew());
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto kind = static_cast<Kind>(kinds >> 2 * half & 3);
        const std::uint64_t keys =
            attended(kind, item, first_row(at) + at.row(r), 2 * number_of(message) + half) >>
            at.column(0);
#pragma unroll
        for (int group = 0; group < 8; ++group) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float& score = scores[32 * half + 4 * group + 2 * r + i];
            if ((keys >> (8 * group + i) & 1) == 0) score = -INFINITY;
          }
        }
      }
    }
  }

  /// Which keys of one of the mask's tiles a query of the item attends to.
  __device__ __forceinline__ std::uint64_t attended(Kind kind, const Item& item, int query,
                                                    int key_tile) const {
    std::uint64_t keys = kind == Kind::empty ? 0 : ~std::uint64_t{0};
    query += item.first_query;
    if (kind == Kind::mixed) keys = call_.mask.row(item.mask, query - call_.first, key_tile);
    const int end =
        (call_.a.causal ? min(item.end_key, query + 1) : item.end_key) - key_tile * mask_tile;
    if (end <= 0) return 0;
    return end >= mask_tile ? keys : keys & ((std::uint64_t{1} << end) - 1);
  }

  /// Starts the sum of a tile's values, which are there.
  __device__ __forceinline__ void values(float (&y)[d / 2], unsigned (&p)[32]) {
    wait(shared_.v_full[values_.index], values_.parity);
    start_values<d, T>(y, p, tile_at(v_, values_));  // step: values
  }
  /// Once they are summed.
  __device__ __forceinline__ void finish_values(float (&y)[d / 2], unsigned (&p)[32]) {
    wgmma_wait<0>();
    fence_registers(y);
    fence_registers(p);  // read until here: the next ones are computed into other registers
    release(shared_.v_empty[values_.index]);
    values_ = values_.next();
  }

  /// The work on an item. Returns what the producer says at its end.
  __device__ __forceinline__ Message consume() {
    wait(shared_.q_full[items_.index], items_.parity);
    const Item item = shared_.items[items_.index];
    const std::uint64_t q = tile_at(q_, items_);
    float scores[64], y[d / 2];
#pragma unroll
    for (int i = 0; i < 64; ++i) scores[i] = 0;  // not by = {}, which goes by local memory
#pragma unroll
    for (int i = 0; i < d / 2; ++i) y[i] = 0;
    unsigned p[32];
    Rows rows;
    Message message = next_message();
    if (is_tile(message)) {
      take_turn();
      start_scores<d, T>(scores, q, tile_at(k_, keys_));  // step: scores
      pass_turn();
      wgmma_wait<0>();
      finish_scores(scores, message, item);                                // step: mask
      online_softmax(scores, call_.scale, call_.lead, call_.slack, rows);  // step: maximum, weights
      pack_all<T>(p, scores);                                              // step: weights
      release_last_item();
      message = next_message();
#pragma unroll 1
      while (is_tile(message)) {
        take_turn();
        start_scores<d, T>(scores, q, tile_at(k_, keys_));  // step: scores
        values(y, p);                                       // step: values
        pass_turn();
        wgmma_wait<1>();  // the scores are there, the values are still being summed
        finish_scores(scores, message, item);  // step: mask
        // step: maximum, weights
        const bool grows = online_softmax(scores, call_.scale, call_.lead, call_.slack, rows);
        // Before the wait for the values: ptxas moves that wait up over arithmetic, but not over a
        // branch, and would else put it before the softmax (tests/cuda/test_cuda_resources.py).
        message = next_message();
        finish_values(y, p);
        if (grows) shrink_all(y, rows.shrink);  // step: maximum
        pack_all<T>(p, scores);                 // step: weights
      }
      values(y, p);  // step: values
      finish_values(y, p);
    } else {
      release_last_item();
    }
    release(shared_.k_empty[keys_.index]);
    keys_ = keys_.next();
    store(y, rows.sum, item);
    return message;
  }

  /// The stage of the last item's Q and y. Late, so that TMA has read y.
  __device__ __forceinline__ void release_last_item() {
    if (first_lane()) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>());
    if (has_last_item_) arrive(shared_.q_empty[items_.next().index]);
    has_last_item_ = true;
  }

  /// A warp's 16 queries are written in place of Q, where pairs of elements become rows, and by
  /// TMA, which leaves out rows beyond n.
  __device__ __forceinline__ void store(const float (&y)[d / 2], const float (&sum)[2],
                                        const Item& item) {
    barrier_wait(3 + consumer_, warpgroup);  // Q is read by the products of all four warps
    const Lane at(consumer_, thread_anew());
    auto& to = shared_.q[items_.index];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // step: weights
      const float total = warp_reduce(sum[r], Sum(), 4);
      const float factor = total == 0 ? 0.0f : 1 / total;
      const int row = first_row(at) + at.row(r);
#pragma unroll
      for (int group = 0; group < d / 8; ++group) {
        const int column = at.column(group);
        T* pair = to[column / panel_columns][0] + swizzled(row, column % panel_columns);
        *reinterpret_cast<unsigned*>(pair) =
            pack<T>(y[4 * group + 2 * r] * factor, y[4 * group + 2 * r + 1] * factor);
      }
    }
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);  // so that TMA sees what was stored
    __syncwarp();
    if (first_lane()) {
      const int row = first_row(at);
#pragma unroll
      for (int panel = 0; panel < d / panel_columns; ++panel) {
        const std::int32_t corner[] = {item.y.column + panel * panel_columns,
                                       item.first_query + row, item.y.part};
        ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_global, ::cuda::ptx::space_shared,
                                          &maps_.y, corner, to[panel][row]);
      }
      ::cuda::ptx::cp_async_bulk_commit_group();
    }
    items_ = items_.next();
  }

  Shared<T, d>& shared_;
  const Maps& maps_;
  const Call<T>& call_;
  int consumer_;
  std::uint64_t q_, k_, v_;              // descriptors of the first tiles of the rings
  Stage<stages> items_, keys_, values_;  // the next ones of the rings
  bool has_last_item_ = false;
};

}  // namespace prenorm::cuda::v4
