// Version 4 of attention (attention.cu), for Hopper alone. Equation, shapes and errors:
// reference/attention.hpp.
//
// Checked by a model of Hopper's instructions on the CPU (tests/cuda/hopper) and on devices; v3 is
// launched in its place until cuda/records/kernels.csv says that these sources passed on one. New:
//
//   wgmma         128 queries a block, 64 for each consumer, multiplied asynchronously
//   TMA           a producer has the copy engine load tiles of 128 keys and values, two ahead
//   overlap       the next tile's softmax is computed while a tile's values are summed
//   fewer maxima  powers may exceed those of the row's largest score 2^8 times (float16: 2^3)
//   it stays      a block takes item after item of 128 queries, long rows first
//
// For float16 and bfloat16, d_k = d_v = 64 or 128, on compute capability 9.0, where each matrix is
// a range of columns of one tensor (tensor_tiles.cuh) aligned to 16 bytes.
#include "attention_wgmma_consumer.cuh"
#include "attention_wgmma_producer.cuh"
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "tensor_map.cuh"
#include "workspace.cuh"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prenorm::cuda {
namespace {

using namespace v4;

// ---- the kernel and its launch ------------------------------------------------------------------

/// Warpgroup 0 is the producer, the others are consumers: threadIdx.y.
template <class T, int d>
__global__ void __launch_bounds__((1 + consumers) * warpgroup, 1)
    attend_v4(const __grid_constant__ Maps maps, const __grid_constant__ Call<T> call) {
  auto& shared = aligned_shared<Shared<T, d>>();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    for (int i = 0; i < stages; ++i) {
      ::cuda::ptx::mbarrier_init(&shared.q_full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.q_empty[i], consumers * warpgroup);
      ::cuda::ptx::mbarrier_init(&shared.k_full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.v_full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.k_empty[i], consumer_warps);
      ::cuda::ptx::mbarrier_init(&shared.v_empty[i], consumer_warps);
    }
    // So that TMA sees them as well.
    ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
  }
  wait_for_the_kernel_before();
  let_the_next_begin();
  __syncthreads();
  if (threadIdx.y == 0) {
    fewer_registers<producer_registers>();
    if (threadIdx.x >= 32) return;
    Producer<T, d>(shared, maps, call).produce_all();
  } else {
    more_registers<consumer_registers>();
    Consumer<T, d>(shared, maps, call).consume_all();
  }
}

/// How many batch indices are worked on side by side: as many as have their K and V in half of the
/// second-level cache of 50 MB, while the queries of all of them go over them. And not so few in
/// the last round that a device is not filled: of the numbers down to half of that, the one that
/// leaves the fullest last round.
std::int64_t side_by_side(std::int64_t count, std::int64_t bytes_each) {
  constexpr std::int64_t cached_bytes = 24 << 20;
  const std::int64_t most = std::clamp<std::int64_t>(cached_bytes / bytes_each, 1, count);
  std::int64_t best = most;
  const auto last_round = [&](std::int64_t n) { return (count - 1) % n + 1; };
  for (std::int64_t n = most; 2 * n > most; --n) {
    if (last_round(n) * best > last_round(best) * n) best = n;
  }
  return best;
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
      !make_map<T>(maps.y, a.y, *y, warp_rows, a.name)) {
    return false;
  }
  const std::int64_t group =
      side_by_side(a.batch.size, 2 * a.m * d * static_cast<std::int64_t>(sizeof(T)));
  // step: scale
  const auto scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(d)));

  static Workspace workspace("attention v4: its counter");
  auto* const asked = workspace.get_zeroed<unsigned>(1, stream);
  const auto unsign = [](std::int64_t x) { return static_cast<unsigned>(x); };
  for_query_ranges(
      a.mask, a.masks, a.n, a.m, stream,
      [&](std::int64_t first, std::int64_t count, const MaskTiles& mask) {
        const std::int64_t query_tiles = ceil_div(count, tile), items = a.batch.size * query_tiles;
        if (items > max_items) throw std::runtime_error("attention v4: more than 2^30 items");
        launch(early({"attention v4", std::min<std::int64_t>(items, multiprocessors()),
                      dim3(warpgroup, 1 + consumers), stream, aligned_bytes<Shared<T, d>>}),
               attend_v4<T, d>, maps,
               Call<T>{a, *q, *k, *v, *y, first, mask, unsign(items), unsign(query_tiles),
                       unsign(group), asked, scale, headroom<T> / scale, slack<T> / scale});
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
