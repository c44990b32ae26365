// Version 4 of attention (attention.cu), for Hopper alone. Equation, shapes and errors:
// reference/attention.hpp.
//
// Checked by a model of Hopper's instructions on the CPU (tests/cuda/hopper) and on devices; v3 is
// launched in its place until cuda/records/kernels.csv says that these sources passed on one.
//
// What v4 changes from v3:
//
//   wgmma         128 queries a block: two consumers, warpgroups of 64 queries each, whose products
//                 the tensor cores compute asynchronously, from shared memory
//   TMA           a producer, one warp, has the copy engine load tiles of 128 keys and values, two
//                 of each ahead. Most of its registers go to the consumers
//   overlap       while a tile's values are summed, the next tile's softmax is computed; and the
//                 consumers take turns: one multiplies while the other computes exponentials
//   work order    long rows first, and as many heads side by side as fit the cache
//   it stays      a block takes item after item of 128 queries, and loads the next one's tiles
//                 while the last one's result is stored. On an H200 that gained less than 1%
//
// It takes float16 and bfloat16 with d_k = d_v = 64 or 128, on compute capability 9.0, where each
// matrix is a range of columns of one tensor (tensor_tiles.cuh) aligned to 16 bytes.
//
// A block's memory: Q, y and two of each of K and V, in panels of 64 columns with the swizzle of
// 128 bytes. The barriers, which complete a phase each time that a tile is loaded or released:
//
//   q_full             Q is loaded: the producer's arrival and the tile's bytes
//   k_full, v_full     the same for each place of K's and V's rings
//   k_empty, v_empty   each warp of the consumers is done with the place: 8 arrivals
//
// Use u = 0, 1, ... of a place: its consumers wait for phase u of `full`, and its producer, before
// it fills the place, for phase u - 1 of `empty`. The parity of a phase is u % 2.
#include "attention_wgmma.cuh"

#include "export.cuh"
#include "launch.cuh"
#include "mma.cuh"
#include "reduce.cuh"
#include "workspace.cuh"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prenorm::cuda {
namespace {

using namespace v4;

// ---- the consumers ------------------------------------------------------------------------------

/// A consumer's thread: wgmma's layout of 64 rows (wgmma.cuh).
struct Lane {
  int consumer, warp, lane;
  __device__ explicit Lane(int thread)
      : consumer(static_cast<int>(threadIdx.y) - 1), warp(thread / 32), lane(thread % 32) {}
  __device__ int row(int r) const { return warp * warp_queries + lane / 4 + 8 * r; }  // r = 0, 1
  __device__ int column(int group) const { return 8 * group + 2 * (lane % 4); }  // and the next
};

/// Starts scores = q kᵀ: 64 queries, 128 keys.
template <class T, int d>
__device__ __forceinline__ void start_scores(float (&scores)[64], const Shared<T, d>& shared,
                                             int consumer, int place) {
  // step: scores
  hold(scores);
  wgmma_fence();
#pragma unroll
  for (int c = 0; c < d; c += 16) {
    const auto bytes = static_cast<std::uint32_t>(2 * (c % panel_columns));
    const std::uint64_t q = along_columns(
        shared_address(shared.q[c / panel_columns][consumer * consumer_queries]) + bytes);
    const std::uint64_t k =
        along_columns(shared_address(shared.k[place][c / panel_columns]) + bytes);
    if (c == 0) {
      wgmma_rows<false, T>(scores, q, k);
    } else {
      wgmma_rows<true, T>(scores, q, k);
    }
  }
  wgmma_commit();
}

/// Starts y += p v, 16 keys at a time.
template <class T, int d>
__device__ __forceinline__ void start_values(float (&y)[d / 2], unsigned (&p)[32],
                                             const Shared<T, d>& shared, int place) {
  // step: values
  hold(y);
  hold(p);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < tile / 16; ++step) {
    wgmma_columns<T>(
        y, p + 4 * step,
        along_rows(shared_address(shared.v[place][0][16 * step]), sizeof(shared.v[place][0])));
  }
  wgmma_commit();
}

/// Which of 64 keys from first_key on a query attends to.
template <class T>
__device__ __forceinline__ std::uint64_t attended(const Call<T>& call, const Block& block,
                                                  std::int64_t mask, TileKind kind, int query,
                                                  int first_key) {
  // step: mask
  std::uint64_t keys = kind == TileKind::full ? ~std::uint64_t{0} : 0;
  if (kind == TileKind::mixed) {
    keys = call.mask.row(mask, query - call.first, first_key / mask_tile);
  }
  const int end = (call.a.causal ? min(block.end_key, query + 1) : block.end_key) - first_key;
  if (end <= 0) return 0;
  return end >= mask_tile ? keys : keys & ((std::uint64_t{1} << end) - 1);
}

/// Masked scores become -infinity, where any may be.
template <class T>
__device__ __forceinline__ void mask_scores(float (&scores)[64], const Call<T>& call,
                                            const Block& block, std::int64_t mask, Told told,
                                            Lane at) {
  // step: mask
  const int first_key = told.number * tile,
            first_query = block.first_query + at.consumer * consumer_queries;
  const TileKind left = told_kind(told.kinds_or_item, at.consumer, 0),
                 right = told_kind(told.kinds_or_item, at.consumer, 1);
  if (left == TileKind::full && right == TileKind::full && first_key + tile <= block.end_key &&
      (!call.a.causal || first_key + tile <= first_query + 1)) {
    return;
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::uint64_t keys = attended(call, block, mask, half == 0 ? left : right,
                                          first_query + at.row(r), first_key + half * mask_tile) >>
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

/// Online softmax of a thread's two rows: scores become 2^((scores - largest) * scale), `largest`
/// being the row's largest so far, less the headroom, `lead`. Earlier sums of values must be
/// multiplied by `shrink`; `sum`, of this thread's columns, already is.
///
/// 2^(scores * scale - largest * scale) is one instruction less for each score. The second product
/// is rounded, alike for all of a row, and so is the `shrink` between two of them; but beyond 2^12
/// that could make powers infinite, or all of them 0. Then the difference comes first.
__device__ __forceinline__ void soften(float (&scores)[64], float scale, float lead,
                                       float (&largest)[2], float (&sum)[2], float (&shrink)[2]) {
  const auto maximum = [](float x, float y) { return fmaxf(x, y); };  // NaN comes by the scores
  constexpr float most_product = 4096;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    // step: maximum
    float now = -INFINITY;
#pragma unroll
    for (int i = 0; i < 64; i += 4) {
      now = maximum(now, maximum(scores[i + 2 * r], scores[i + 2 * r + 1]));
    }
    // Rounded up: for large scores the nearest may be so low that a power is infinite.
    now = maximum(largest[r], __fsub_ru(warp_reduce(now, maximum, 4), lead));
    const float shift = now == -INFINITY ? 0.0f : now;
    const float product = __fmul_rn(shift, scale);  // step: scale
    const bool small = __all_sync(0xffffffffu, fabsf(product) < most_product) != 0;
    shrink[r] =
        exp2_fast(small ? __fmul_rn(largest[r], scale) - product : (largest[r] - shift) * scale);
    largest[r] = now;
    sum[r] *= shrink[r];
    // step: weights
    if (small) {
#pragma unroll
      for (int i = 2 * r; i < 64; i += 4) {
        scores[i] = exp2_fast(fmaf(scores[i], scale, -product));
        scores[i + 1] = exp2_fast(fmaf(scores[i + 1], scale, -product));
      }
    } else {
#pragma unroll
      for (int i = 2 * r; i < 64; i += 4) {
        scores[i] = exp2_fast((scores[i] - shift) * scale);
        scores[i + 1] = exp2_fast((scores[i + 1] - shift) * scale);
      }
    }
#pragma unroll
    for (int i = 2 * r; i < 64; i += 4) sum[r] += scores[i], sum[r] += scores[i + 1];
  }
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

/// Where a consumer is in the rings: Q's parity, and the places of the tile whose values come next
/// and of the one whose scores do.
struct Turns {
  unsigned q_parity = 0;
  Place values, keys;
};

/// A consumer's work on an item; returns the next item.
template <class T, int d>
__device__ __forceinline__ unsigned consume(Shared<T, d>& shared, const Maps& maps,
                                            const Call<T>& call, unsigned item, Turns& turns) {
  const Attention<T>& a = call.a;
  const Lane at(thread_anew());
  const Block block = block_of(call, item);
  const std::int64_t mask = a.batch.part(a.of_mask, block.batch);
  const auto release = [&](std::uint64_t& empty) {
    __syncwarp();
    if (at.lane == 0) arrive(empty);
  };
  // Read by the lane that releases it, for racecheck does not know that __syncwarp orders the
  // others'.
  const auto next_tile = [&] {
    wait(shared.k_full[turns.keys.index], turns.keys.parity);
    Told told{};
    if (at.lane == 0) told = shared.told[turns.keys.index];
    return Told{__shfl_sync(0xffffffffu, told.number, 0),
                __shfl_sync(0xffffffffu, told.kinds_or_item, 0)};
  };
  // At barrier 1 + c consumer c waits for its turn to start products, which the other one passes
  // on. Both take the same number of turns, as they get the same tiles.
  const auto take_turn = [&] { barrier_wait(1 + at.consumer, consumers * warpgroup); };
  const auto pass_turn = [&] { barrier_arrive(2 - at.consumer, consumers * warpgroup); };

  float scores[64], y[d / 2], largest[2] = {-INFINITY, -INFINITY}, sum[2] = {}, shrink[2];
#pragma unroll
  for (int i = 0; i < 64; ++i) scores[i] = 0;  // not by = {}, which goes by local memory
#pragma unroll
  for (int i = 0; i < d / 2; ++i) y[i] = 0;
  unsigned p[32];
  Told told = next_tile();
  if (told.number != no_more) {
    wait(shared.q_full, turns.q_parity);
    turns.q_parity ^= 1;
    take_turn();
    start_scores(scores, shared, at.consumer, turns.keys.index);  // step: scores
    pass_turn();
    wgmma_wait<0>();
    hold(scores);
    release(shared.k_empty[turns.keys.index]);
    mask_scores(scores, call, block, mask, told, at);             // step: mask
    soften(scores, call.scale, call.lead, largest, sum, shrink);  // step: maximum, weights
    pack_all<T>(p, scores);                                       // step: weights
    turns.keys = turns.keys.next();
    told = next_tile();
#pragma unroll 1
    while (told.number != no_more) {
      take_turn();
      start_scores(scores, shared, at.consumer, turns.keys.index);  // step: scores
      shrink_all(y, shrink);                                        // step: maximum
      wait(shared.v_full[turns.values.index], turns.values.parity);
      start_values<T, d>(y, p, shared, turns.values.index);  // step: values
      pass_turn();
      wgmma_wait<1>();  // the scores are there, the values are still being summed
      hold(scores);
      release(shared.k_empty[turns.keys.index]);
      mask_scores(scores, call, block, mask, told, at);             // step: mask
      soften(scores, call.scale, call.lead, largest, sum, shrink);  // step: maximum, weights
      turns.keys = turns.keys.next();
      // Before the wait for the values: ptxas moves that wait up over arithmetic, but not over a
      // branch, and would else put it before the softmax (tests/cuda/test_cuda_resources.py).
      told = next_tile();
      wgmma_wait<0>();
      hold(y);
      hold(p);  // read until here: the next ones may be computed before, but into other registers
      release(shared.v_empty[turns.values.index]);
      pack_all<T>(p, scores);  // step: weights
      turns.values = turns.values.next();
    }
    shrink_all(y, shrink);  // step: maximum
    wait(shared.v_full[turns.values.index], turns.values.parity);
    start_values<T, d>(y, p, shared, turns.values.index);  // step: values
    wgmma_wait<0>();
    hold(y);
    release(shared.v_empty[turns.values.index]);
    turns.values = turns.values.next();
  }
  release(shared.k_empty[turns.keys.index]);
  turns.keys = turns.keys.next();

  // A warp's 16 queries are written by way of shared memory, where pairs of elements become rows,
  // and TMA, which leaves out rows beyond n. It must have read those of the last item.
  if (at.lane == 0) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>());
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    // step: weights
    const float total = warp_reduce(sum[r], Sum(), 4);
    const float factor = total == 0 ? 0.0f : 1 / total;
    const int row = at.consumer * consumer_queries + at.row(r);
#pragma unroll
    for (int group = 0; group < d / 8; ++group) {
      const int column = at.column(group);
      T* to = shared.y[column / panel_columns][0] + swizzled(row, column % panel_columns);
      *reinterpret_cast<unsigned*>(to) =
          pack<T>(y[4 * group + 2 * r] * factor, y[4 * group + 2 * r + 1] * factor);
    }
  }
  ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);  // so that TMA sees what was stored
  __syncwarp();
  if (at.lane == 0) {
    const auto corner = call.y.corner(a.batch.part(a.of_y, block.batch));
    const int row = at.consumer * consumer_queries + at.warp * warp_queries;
#pragma unroll
    for (int panel = 0; panel < d / panel_columns; ++panel) {
      const std::int32_t to[] = {corner.column + panel * panel_columns, block.first_query + row,
                                 corner.part};
      ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_global, ::cuda::ptx::space_shared,
                                        &maps.y, to, shared.y[panel][row]);
    }
    ::cuda::ptx::cp_async_bulk_commit_group();
  }
  return told.kinds_or_item;
}

/// All the work of a consumer.
template <class T, int d>
__device__ __forceinline__ void consume_all(Shared<T, d>& shared, const Maps& maps,
                                            const Call<T>& call) {
  const Lane at(static_cast<int>(threadIdx.x));
  if (at.consumer == 1) barrier_arrive(1, consumers * warpgroup);  // the other's first turn
  Turns turns;
  for (unsigned item = blockIdx.x; item < call.items;) {
    item = consume(shared, maps, call, item, turns);
  }
  if (at.consumer == 0) {
    barrier_wait(1, consumers * warpgroup);  // the last one passed on: none is left half full
  }
  // Shared memory must last until TMA has read it.
  if (at.lane == 0) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>());
}

// ---- the kernel and its launch ------------------------------------------------------------------

/// Warpgroup 0 is the producer, the others are consumers: threadIdx.y.
template <class T, int d>
__global__ void __launch_bounds__((1 + consumers) * warpgroup, 1)
    attend_v4(const __grid_constant__ Maps maps, const __grid_constant__ Call<T> call) {
  auto* memory = dynamic_shared<unsigned char>();
  memory += -shared_address(memory) % alignof(Shared<T, d>);  // up to a multiple of 1024
  Shared<T, d>& shared = *reinterpret_cast<Shared<T, d>*>(memory);
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    constexpr unsigned consumer_warps = consumers * warpgroup / 32;
    ::cuda::ptx::mbarrier_init(&shared.q_full, 1);
    for (int i = 0; i < places; ++i) {
      ::cuda::ptx::mbarrier_init(&shared.k_full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.v_full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.k_empty[i], consumer_warps);
      ::cuda::ptx::mbarrier_init(&shared.v_empty[i], consumer_warps);
    }
    // So that TMA sees them as well.
    ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.y == 0) {
    fewer_registers<producer_registers>();
    if (threadIdx.x >= 32) return;
    Producer<T, d> producer(shared, maps, call);
    for (unsigned item = blockIdx.x; item < call.items;) item = producer.produce(item);
  } else {
    more_registers<consumer_registers>();
    consume_all(shared, maps, call);
  }
}

/// The driver's function that encodes tensor maps, or null. Found by the runtime, so that nothing
/// is linked with the driver.
decltype(&cuTensorMapEncodeTiled) encoder(const char* what) {
  static const auto found = [what] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &result),
          what);
    return result == cudaDriverEntryPointSuccess ? function : nullptr;
  }();
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
}

/// Describes a tensor to TMA, in boxes of `box_rows` rows and 64 columns. False where the encoder
/// refuses it.
template <class T>
bool make_map(CUtensorMap& map, const T* data, const TensorRows& rows, int box_rows,
              const char* what) {
  const auto encode = encoder(what);
  if (encode == nullptr || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  const auto unsign = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  const cuuint64_t extents[] = {unsign(rows.columns), unsign(rows.rows), unsign(rows.parts)};
  const cuuint64_t strides[] = {unsign(rows.stride) * sizeof(T),  // of rows and of parts, in bytes
                                unsign(rows.rows * rows.stride) * sizeof(T)};
  const cuuint32_t box[] = {panel_columns, static_cast<cuuint32_t>(box_rows), 1},
                   ones[] = {1, 1, 1};
  return encode(&map,
                std::is_same_v<T, float16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                           : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                3, const_cast<T*>(data), extents, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/// Whether the current device runs code for sm_90a.
bool on_hopper(const char* what) {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), what);
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), what);
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), what);
  return major == 9 && minor == 0;
}

template <class T, int d>
bool launch_attend_v4(const Attention<T>& a, Stream stream) {
  const auto q = tensor_rows(a.batch, a.of_q, a.n, d, a.q_stride),
             k = tensor_rows(a.batch, a.of_k, a.m, d, a.k_stride),
             v = tensor_rows(a.batch, a.of_v, a.m, d, a.v_stride),
             y = tensor_rows(a.batch, a.of_y, a.n, d, a.y_stride);
  if (!q || !k || !v || !y) return false;
  Maps maps;
  if (!make_map(maps.q, a.q, *q, tile, a.name) || !make_map(maps.k, a.k, *k, tile, a.name) ||
      !make_map(maps.v, a.v, *v, tile, a.name) ||
      !make_map<T>(maps.y, a.y, *y, warp_queries, a.name)) {
    return false;
  }
  // K and V of these stay in the second-level cache, of 50 MB in two halves, while the queries of
  // all of them go over them.
  constexpr std::int64_t cached_bytes = 24 << 20;
  const auto head_bytes = 2 * a.m * d * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t together =
      std::clamp<std::int64_t>(cached_bytes / head_bytes, 1, a.batch.size);
  // step: scale
  const auto scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(d)));

  static Workspace workspace("attention v4: its counter");
  auto* const asked = workspace.get_zeroed<unsigned>(1, stream);
  const auto unsign = [](std::int64_t x) { return static_cast<unsigned>(x); };
  for_query_ranges(
      a.mask, a.masks, a.n, a.m, stream,
      [&](std::int64_t first, std::int64_t count, const MaskTiles& mask) {
        const std::int64_t query_tiles = ceil_div(count, tile), items = a.batch.size * query_tiles;
        if (items > most_items) throw std::runtime_error("attention v4: more than 2^30 items");
        launch(
            {"attention v4", std::min<std::int64_t>(items, multiprocessors()),
             dim3(warpgroup, 1 + consumers), stream, sizeof(Shared<T, d>) + alignof(Shared<T, d>)},
            attend_v4<T, d>, maps,
            Call<T>{a, *q, *k, *v, *y, first, mask, unsign(items), unsign(query_tiles),
                    unsign(together), asked, scale, headroom<T> / scale});
      });
  return true;
}

}  // namespace

template <class T>
bool attention_wgmma(const Attention<T>& a, Stream stream) {
  if constexpr (sizeof(T) == 2) {
    if (a.d_k == a.d_v && (a.d_k == 64 || a.d_k == 128) && on_hopper(a.name)) {
      return a.d_k == 64 ? launch_attend_v4<T, 64>(a, stream) : launch_attend_v4<T, 128>(a, stream);
    }
  }
  return false;
}

template bool attention_wgmma<double>(const Attention<double>&, Stream);
template bool attention_wgmma<float>(const Attention<float>&, Stream);
template bool attention_wgmma<float16>(const Attention<float16>&, Stream);
template bool attention_wgmma<bfloat16>(const Attention<bfloat16>&, Stream);

namespace {

template <class T>
void launch_attention_v4(View<const T> q, View<const T> k, View<const T> v,
                         std::optional<View<const bool>> mask, Stream stream, View<T> y) {
  const Attention<T> a = attention_of(q, k, v, mask, y);
  if (has_outputs(a) && !attention_wgmma(a, stream)) {
    throw not_implemented(
        "attention v4 takes float16 and bfloat16 with d_k = d_v = 64 or 128, in tensors aligned to "
        "16 bytes, on devices of compute capability 9.0");
  }
}

}  // namespace

PRENORM_CUDA_FUNCTION(scaled_dot_product_attention__v4, launch_attention_v4)

}  // namespace prenorm::cuda
