// Version 5 of the product of linear.cu, for Hopper alone, float16 and bfloat16. Equation, shapes
// and errors: reference/linear.hpp.
//
//   wgmma        a block computes 128 x 256 outputs: two consumers, warpgroups of 64 rows each,
//                whose sums are 128 registers of each thread
//   TMA          a producer has the copy engine load stages of 64 terms, which go around in a ring;
//                most of its registers go to the consumers
//   persistent   as many blocks as run at a time take tile after tile: the next tile's stages are
//                loaded while the last one's outputs are stored
//   the ending   residual, activation or gate are computed from the sums, before the one rounding
//
// A row has the same bits in any batch: the terms of its sums always have the same order.
//
// In clusters of two blocks, each of which had half of the weights' tile loaded for both, it was
// slower on an H200: 663 TFLOP/s instead of 760 at 4096 cubed.
#include "linear_wgmma.cuh"

#include "activations.cuh"
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "tensor_map.cuh"

#include <algorithm>

namespace prenorm::cuda {
namespace {

using namespace v5;

// ---- endings: what becomes of a sum -------------------------------------------------------------

struct Plain {
  static constexpr bool gated = false, adds = false;
  static __device__ float of(float sum, float) { return sum; }
};
/// The second number is the residual.
struct Added {
  static constexpr bool gated = false, adds = true;
  static __device__ float of(float sum, float residual) { return sum + residual; }
};
template <class Activation>
struct Activated {
  static constexpr bool gated = false, adds = false;
  static __device__ float of(float sum, float) { return Activation::rounded(sum); }
};
/// The second number is the sum with the other weight.
template <class Activation>
struct Gated {
  static constexpr bool gated = true, adds = false;
  static __device__ float of(float sum, float other) { return Activation::rounded(sum) * other; }
};

// ---- the consumers ------------------------------------------------------------------------------

/// The first or second of a pair.
template <class T>
__device__ __forceinline__ T element_of(unsigned pair, int which) {
  T element;
  element.bits = static_cast<std::uint16_t>(pair >> 16 * which);
  return element;
}

/// Two neighbouring outputs: elements i and i + 1 of a thread's sums.
template <class Ending, class T, int n>
__device__ __forceinline__ unsigned ended(const float (&sum)[n], int i, unsigned residual) {
  float other[2] = {};
  if constexpr (Ending::gated) {
    other[0] = sum[n / 2 + i];
    other[1] = sum[n / 2 + i + 1];
  }
  if constexpr (Ending::adds) {
    other[0] = widen(element_of<T>(residual, 0));
    other[1] = widen(element_of<T>(residual, 1));
  }
  return pack<T>(Ending::of(sum[i], other[0]), Ending::of(sum[i + 1], other[1]));
}

/// The outputs of a warp: 16 rows from `row` on, columns from `column` on. By way of shared memory,
/// 64 columns at a time, and TMA, which leaves out what is beyond y.
template <class Ending, class T>
__device__ __forceinline__ void store_panels(const float (&sum)[tile_columns / 2],
                                             Shared<T>& shared, const Maps& maps,
                                             const Product<T>& p, int row, int column, Lane at) {
  constexpr int panels = tile_columns / panel_columns / (Ending::gated ? 2 : 1);
  static_assert(panels % 2 == 0);  // so the places of y are taken in turn, from tile to tile
#pragma unroll
  for (int panel = 0; panel < panels; ++panel) {
    const int first = column + panel * panel_columns;
    unsigned residual[16];  // all are under way before the first is used
    if constexpr (Ending::adds) {
#pragma unroll
      for (int j = 0; j < 16; ++j) {
        const std::int64_t y_row = row + at.row(j % 2), y_column = first + at.column(j / 2);
        residual[j] = 0;
        if (y_row < p.rows && y_column < p.d_out) {  // rows are aligned: so is the next column
          residual[j] =
              *reinterpret_cast<const unsigned*>(p.residual + y_row * p.row_of_y() + y_column);
        }
      }
    }
    // TMA must have read what is replaced: the last panel but one.
    if (at.lane == 0) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<1>());
    __syncwarp();
    T* const to = shared.y[panel % 2][at.number()][0];
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      *reinterpret_cast<unsigned*>(to + swizzled(at.row(j % 2), at.column(j / 2))) =
          ended<Ending, T>(sum, 32 * panel + 2 * j, residual[j]);  // step: round once
    }
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);  // so TMA sees what was stored
    __syncwarp();
    if (at.lane == 0) {
      const std::int32_t corner[] = {first, row, 0};
      ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_global, ::cuda::ptx::space_shared,
                                        &maps.y, corner, to);
      ::cuda::ptx::cp_async_bulk_commit_group();
    }
  }
}

/// The same where rows are not aligned: each output by itself.
template <class Ending, class T, int n>
__device__ __forceinline__ void store_elements(const float (&sum)[n], const Product<T>& p, int row,
                                               int column, Lane at) {
#pragma unroll
  for (int j = 0; j < (Ending::gated ? n / 4 : n / 2); ++j) {
    const std::int64_t y_row = row + at.row(j % 2);
    unsigned residual = 0;
    T* const to = p.y + y_row * p.row_of_y() + column + at.column(j / 2);
    const auto there = [&](int e) {
      return y_row < p.rows && column + at.column(j / 2) + e < p.d_out;
    };
    if constexpr (Ending::adds) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (there(e)) residual |= unsigned{p.residual[to - p.y + e].bits} << 16 * e;
      }
    }
    const unsigned y = ended<Ending, T>(sum, 2 * j, residual);  // step: round once
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (there(e)) to[e] = element_of<T>(y, e);
    }
  }
}

template <class Ending, class T>
__device__ __forceinline__ void consume_all(Shared<T>& shared, const Maps& maps,
                                            const Call<T>& call) {
  const Lane at(static_cast<int>(threadIdx.y) - 1, static_cast<int>(threadIdx.x));
  Stage<stages> stage;
  float sum[tile_columns / 2];
#pragma unroll
  for (int i = 0; i < tile_columns / 2; ++i) sum[i] = 0;  // not by = {}, which goes by local memory
  for (unsigned item = blockIdx.x; item < call.tiles.items(); item += gridDim.x) {
    sum_tile(sum, shared, call.rounds, stage, at);  // step: widen, sum of products
    const auto [down, across] = call.tiles.corner(item);
    const int row = static_cast<int>(down) * tile_rows + at.number() * warp_rows,
              column = static_cast<int>(across) * call.columns_step;
    if (call.by_tma) {
      store_panels<Ending>(sum, shared, maps, call.p, row, column, at);
    } else {
      store_elements<Ending>(sum, call.p, row, column, at);
    }
  }
  // Shared memory must last until TMA has read it.
  if (at.lane == 0) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>());
}

// ---- the kernel and its launch ------------------------------------------------------------------

/// Warpgroup 0 is the producer, the others are consumers: threadIdx.y.
template <class Ending, class T>
__global__ void __launch_bounds__((1 + consumers) * warpgroup, 1)
    linear_v5(const __grid_constant__ Maps maps, const __grid_constant__ Call<T> call) {
  auto& shared = aligned_shared<Shared<T>>();
  begin_ring(shared);
  wait_for_the_kernel_before();
  let_the_next_begin();
  __syncthreads();
  if (threadIdx.y == 0) {
    fewer_registers<producer_registers>();
    if (threadIdx.x == 0) produce_all<Ending::gated>(shared, maps, call);
  } else {
    more_registers<consumer_registers>();
    consume_all<Ending>(shared, maps, call);
  }
}

/// y = ending(x weightᵀ); a gated one has the sums with `gate` as well.
template <class Ending, class T>
bool multiply(const Product<T>& p, const T* gate, Stream stream) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // TMA counts in 32 bits, with a sign
  constexpr unsigned group = 16;                        // tiles below each other
  if constexpr (sizeof(T) == 2) {
    if (!has_outputs(p)) return true;
    if (!on_hopper(p.name) || p.d_in > most || p.d_out > most || !rows_are_aligned(p)) return false;
    if (p.rows > most) throw std::runtime_error(std::string(p.name) + ": more than 2^30 rows");
    const auto rows_of = [](std::int64_t rows, std::int64_t columns, std::int64_t stride) {
      return TensorRows{1, rows, columns, stride};
    };
    const auto weight = rows_of(p.d_out, p.d_in, p.d_in);
    Maps maps{};
    if (!make_map(maps.x, p.x, rows_of(p.rows, p.d_in, p.d_in), tile_rows, p.name) ||
        !make_map(maps.weight[0], p.weight, weight, tile_columns / 2, p.name) ||
        !make_map(maps.weight[1], Ending::gated ? gate : p.weight, weight, tile_columns / 2,
                  p.name)) {
      return false;
    }
    const bool by_tma =
        p.row_of_y() % vector_width<T> == 0 &&
        reinterpret_cast<std::uintptr_t>(p.residual) % sizeof(unsigned) == 0 &&
        make_map<T>(maps.y, p.y, rows_of(p.rows, p.d_out, p.row_of_y()), warp_rows, p.name);
    const int across = Ending::gated ? tile_columns / 2 : tile_columns;
    const Tiles tiles{static_cast<unsigned>(ceil_div(p.rows, tile_rows)),
                      static_cast<unsigned>(ceil_div(p.d_out, across)), group};
    launch(early({"linear v5", std::min<std::int64_t>(tiles.items(), multiprocessors()),
                  dim3(warpgroup, 1 + consumers), stream, aligned_bytes<Shared<T>>}),
           linear_v5<Ending, T>, maps,
           Call<T>{p, tiles, static_cast<int>(ceil_div(p.d_in, depth)), across, by_tma});
    return true;
  }
  return false;
}

}  // namespace

template <class T>
bool product_v5(const Product<T>& p, Stream stream) {
  return p.residual != nullptr ? multiply<Added>(p, p.weight, stream)
                               : multiply<Plain>(p, p.weight, stream);
}

template <class Activation, class T>
bool activated_product_v5(const Product<T>& p, Stream stream) {
  return multiply<Activated<Activation>>(p, p.weight, stream);
}

template <class Activation, class T>
bool gated_product_v5(const Product<T>& p, const T* gate, Stream stream) {
  return multiply<Gated<Activation>>(p, gate, stream);
}

#define PRENORM_PRODUCTS(T)                                               \
  template bool product_v5<T>(const Product<T>&, Stream);                 \
  template bool activated_product_v5<Gelu, T>(const Product<T>&, Stream); \
  template bool gated_product_v5<Silu, T>(const Product<T>&, const T*, Stream);
PRENORM_PRODUCTS(double)
PRENORM_PRODUCTS(float)
PRENORM_PRODUCTS(float16)
PRENORM_PRODUCTS(bfloat16)
#undef PRENORM_PRODUCTS

namespace {

template <class T>
void hopper_only(const Product<T>& product, Stream stream) {
  if (!product_v5(product, stream)) {
    throw not_implemented(
        "linear v5 takes float16 and bfloat16 with rows of x and weight that are multiples of 16 "
        "bytes, on devices of compute capability 9.0");
  }
}
template <class T>
void launch_linear_v5(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<hopper_only<T>>(x, weight, stream, y);
}

}  // namespace

PRENORM_CUDA_FUNCTION(linear__v5, launch_linear_v5)

}  // namespace prenorm::cuda
