// float32's product of linear.cu on Hopper's tensor cores: v5 (linear_wgmma.cu) with operands in
// three parts of bfloat16, six products of parts (bf16x6.cuh). Equation, shapes and errors:
// reference/linear.hpp.
//
// A first kernel writes the parts of x and weight as matrices of their own, which TMA then loads:
// 2.5 times the operands' bytes. The product takes 1024 terms at a time: six rounds over them, each
// with one part of x and one of weight, are summed by the tensor cores, which cut off what is below
// the sum's last bits, and are added to y by rounding to nearest.
//
// Computed again as v1 does, one by one: sums that are not finite, for infinities, NaN and numbers
// that exceed bfloat16; and those below 2^-80 of a row or column with bits below 2^-134.
#include "bf16x6.cuh"
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "linear_bf16x6.cuh"
#include "linear_wgmma.cuh"
#include "tensor_map.cuh"
#include "workspace.cuh"

#include <algorithm>

namespace prenorm::cuda {
namespace {

using namespace v5;

constexpr int chunk = 1024 / depth;  // rounds of one pair of parts before y is added to

// ---- the parts ----------------------------------------------------------------------------------

constexpr int together = 8;  // terms of a thread: 16 bytes of each part

/// A block writes parts [bf16_parts, rows, stride] of a row of the matrix [rows, columns], and
/// whether bits of it are lost. What is beyond columns becomes 0.
template <bool aligned>
__global__ void __launch_bounds__(256)
    split_row(const float* matrix, unsigned* parts, bool* lost, std::int64_t rows,
              std::int64_t columns, std::int64_t stride) {
  const std::int64_t row = blockIdx.x;
  unsigned left = 0;
  for (std::int64_t first = threadIdx.x * together; first < stride; first += 256 * together) {
    const float* const from = matrix + row * columns + first;
    float terms[together];
    if constexpr (aligned) {
#pragma unroll
      for (int k = 0; k < together; k += 4) {
        const auto four = load_vector_where<4>(first + k < columns, from + k);
#pragma unroll
        for (int e = 0; e < 4; ++e) terms[k + e] = four.element[e];
      }
    } else {
#pragma unroll
      for (int k = 0; k < together; ++k) terms[k] = first + k < columns ? from[k] : 0.0f;
    }
    Vector<unsigned, together / 2> words[bf16_parts];
#pragma unroll
    for (int pair = 0; pair < together / 2; ++pair) {
      unsigned both[bf16_parts];
      left |= split(both, terms[2 * pair], terms[2 * pair + 1]);
#pragma unroll
      for (int part = 0; part < bf16_parts; ++part) words[part].element[pair] = both[part];
    }
#pragma unroll
    for (int part = 0; part < bf16_parts; ++part) {
      store_vector(parts + ((part * rows + row) * stride + first) / 2, words[part]);
    }
  }
  const bool any = __syncthreads_or((left & 0xffffu) != 0) != 0;
  if (threadIdx.x == 0) lost[row] = any;
}

/// A matrix [rows, columns] in parts, as a tensor [bf16_parts, rows, columns], and of which rows
/// bits are lost.
struct SplitMatrix {
  const bfloat16* parts;
  TensorRows rows;
  const bool* lost;
};

SplitMatrix split_matrix(const float* matrix, std::int64_t rows, std::int64_t columns,
                         Workspace& workspace, Stream stream) {
  const std::int64_t stride = ceil_div(columns, together) * together;
  const std::int64_t words = bf16_parts * rows * stride / 2;  // and a byte for each row
  auto* const parts = workspace.get<unsigned>(words + ceil_div(rows, 4), stream);
  auto* const lost = reinterpret_cast<bool*>(parts + words);
  const bool aligned = columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0;
  launch({"linear bf16x6, parts", rows, 256, stream}, aligned ? split_row<true> : split_row<false>,
         matrix, parts, lost, rows, columns, stride);
  return {reinterpret_cast<const bfloat16*>(parts), {bf16_parts, rows, columns, stride}, lost};
}

// ---- the product --------------------------------------------------------------------------------

struct SplitCall {
  Product<float> p;
  SplitMatrix x, weight;
  Tiles tiles;
  int rounds;     // over d_in with one pair of parts
  bool in_pairs;  // each two neighbours of y are aligned to both
};

/// The producer, one thread, as v5's: for each chunk of terms all pairs of parts.
__device__ __forceinline__ void produce_all(Shared<bfloat16>& shared, const Maps& maps,
                                            const SplitCall& call) {
  Stage<stages> stage;
  for (unsigned item = blockIdx.x; item < call.tiles.items(); item += gridDim.x) {
    const auto [down, across] = call.tiles.corner(item);
    const auto row = static_cast<std::int32_t>(down) * tile_rows,
               column = static_cast<std::int32_t>(across) * tile_columns;
    for (int first = 0; first < call.rounds; first += chunk) {
      each_bf16_product([&](int of_x, int of_weight) {
        for (int round = first; round < min(first + chunk, call.rounds); ++round) {
          wait(shared.empty[stage.index], stage.parity ^ 1);
          std::uint64_t& full = shared.full[stage.index];
          arrive_expecting(full, Shared<bfloat16>::stage_bytes);
          const auto load = [&](bfloat16* to, const CUtensorMap& map, std::int32_t first_row,
                                std::int32_t part) {
            const std::int32_t at[] = {round * depth, first_row, part};
            ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_shared, ::cuda::ptx::space_global,
                                              to, &map, at, &full);
          };
          load(shared.x[stage.index][0], maps.x, row, of_x);
          load(shared.weight[stage.index][0][0], maps.weight[0], column, of_weight);
          load(shared.weight[stage.index][1][0], maps.weight[0], column + tile_columns / 2,
               of_weight);
          stage = stage.next();
        }
      });
    }
  }
}

/// Adds the sums of a chunk of terms to a warp's outputs, 16 rows from `row` on. Of the first chunk
/// they replace what is there; to the last the residual is added.
__device__ __forceinline__ void add_sums(const float (&sum)[tile_columns / 2],
                                         const SplitCall& call, bool is_first, bool is_last,
                                         int row, int column, Lane at) {
  constexpr int ahead = 4;  // pairs of outputs that are under way at a time
  const Product<float>& p = call.p;
  const std::int64_t left = p.d_out - column - at.column(0);
  const int columns = static_cast<int>(min(left, std::int64_t{tile_columns}));
  std::int64_t first_of[2];  // output of each of the thread's rows
  int there[2];              // columns from there on
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    first_of[r] = (row + at.row(r)) * p.row_of_y() + column + at.column(0);
    there[r] = row + at.row(r) < p.rows ? columns : 0;
  }
  // Bits for pairs: not finite; so small that lost bits show.
  std::uint64_t again = 0, small = 0;
#pragma unroll
  for (int first = 0; first < tile_columns / 4; first += ahead) {
    Vector<float, 2> y[ahead] = {};
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      if (is_first) break;
      const int pair = first + i, count = there[pair % 2] - pair / 2 * 8;
      const float* const from = p.y + first_of[pair % 2] + pair / 2 * 8;
      if (call.in_pairs) {
        y[i] = load_vector_where<2>(count > 0, from);
      } else {
#pragma unroll
        for (int e = 0; e < 2; ++e) y[i].element[e] = e < count ? from[e] : 0.0f;
      }
    }
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int pair = first + i, count = there[pair % 2] - pair / 2 * 8;
      const std::int64_t here = first_of[pair % 2] + pair / 2 * 8;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& all = y[i].element[e];
        all += sum[2 * pair + e];
        if (!is_last || e >= count) continue;
        if (!isfinite(all)) again |= std::uint64_t{1} << pair;
        if (fabsf(all) < least_exact) small |= std::uint64_t{1} << pair;
        if (p.residual != nullptr) all += p.residual[here + e];
      }
      if (call.in_pairs) {
        if (count > 0) store_vector(p.y + here, y[i]);
      } else {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (e < count) p.y[here + e] = y[i].element[e];
        }
      }
    }
  }
#pragma unroll 1
  for (int pair = 0; (again | small) != 0; ++pair, again >>= 1, small >>= 1) {
#pragma unroll 1
    for (int e = 0; ((again | small) & 1) != 0 && e < 2; ++e) {
      const std::int64_t y_row = row + at.row(pair % 2),
                         y_column = column + at.column(pair / 2) + e;
      if (y_row >= p.rows || y_column >= p.d_out) continue;
      if ((again & 1) != 0 || call.x.lost[y_row] || call.weight.lost[y_column]) {
        store_sum(p, y_row, y_column, plain_sum(p, y_row, y_column));
      }
    }
  }
}

__device__ __forceinline__ void consume_all(Shared<bfloat16>& shared, const SplitCall& call) {
  const Lane at(static_cast<int>(threadIdx.y) - 1, static_cast<int>(threadIdx.x));
  Stage<stages> stage;
  float sum[tile_columns / 2];
#pragma unroll
  for (int i = 0; i < tile_columns / 2; ++i) sum[i] = 0;  // not by = {}, which goes by local memory
  for (unsigned item = blockIdx.x; item < call.tiles.items(); item += gridDim.x) {
    const auto [down, across] = call.tiles.corner(item);
    const int row = static_cast<int>(down) * tile_rows + at.number() * warp_rows,
              column = static_cast<int>(across) * tile_columns;
    for (int first = 0; first < call.rounds; first += chunk) {
      const int rounds = min(chunk, call.rounds - first);
      sum_tile(sum, shared, bf16_products * rounds, stage, at);  // step: sum of products
      add_sums(sum, call, first == 0, first + rounds == call.rounds, row, column, at);
    }
  }
}

/// Warpgroup 0 is the producer, the others are consumers: threadIdx.y.
__global__ void __launch_bounds__((1 + consumers) * warpgroup, 1)
    linear_bf16x6_wgmma(const __grid_constant__ Maps maps, const __grid_constant__ SplitCall call) {
  auto& shared = aligned_shared<Shared<bfloat16>>();
  begin_ring(shared);
  wait_for_the_kernel_before();
  let_the_next_begin();
  __syncthreads();
  if (threadIdx.y == 0) {
    fewer_registers<producer_registers>();
    if (threadIdx.x == 0) produce_all(shared, maps, call);
  } else {
    more_registers<consumer_registers>();
    consume_all(shared, call);
  }
}

}  // namespace

template <class T>
bool product_bf16x6_wgmma(const Product<T>& p, Stream stream) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // TMA counts in 32 bits, with a sign
  constexpr unsigned group = 16;                        // tiles below each other
  if constexpr (std::is_same_v<T, float>) {
    if (!has_outputs(p)) return true;
    if (!on_hopper(p.name) || p.d_in > most || p.d_out > most || p.residual == p.y) return false;
    if (p.rows > most) throw std::runtime_error(std::string(p.name) + ": more than 2^30 rows");
    static Workspace parts_of_x("linear bf16x6: x in parts");
    static Workspace parts_of_weight("linear bf16x6: weight in parts");
    const SplitMatrix x = split_matrix(p.x, p.rows, p.d_in, parts_of_x, stream),
                      weight = split_matrix(p.weight, p.d_out, p.d_in, parts_of_weight, stream);
    Maps maps{};
    if (!make_map(maps.x, x.parts, x.rows, tile_rows, p.name) ||
        !make_map(maps.weight[0], weight.parts, weight.rows, tile_columns / 2, p.name)) {
      return false;
    }
    const int rounds = static_cast<int>(ceil_div(p.d_in, depth));
    const Tiles tiles{static_cast<unsigned>(ceil_div(p.rows, tile_rows)),
                      static_cast<unsigned>(ceil_div(p.d_out, tile_columns)), group};
    const bool in_pairs = p.row_of_y() % 2 == 0 && p.d_out % 2 == 0 &&
                          reinterpret_cast<std::uintptr_t>(p.y) % sizeof(Vector<float, 2>) == 0;
    launch(early({"linear bf16x6 wgmma", std::min<std::int64_t>(tiles.items(), multiprocessors()),
                  dim3(warpgroup, 1 + consumers), stream, aligned_bytes<Shared<bfloat16>>}),
           linear_bf16x6_wgmma, maps, SplitCall{p, x, weight, tiles, rounds, in_pairs});
    return true;
  }
  return false;
}

template bool product_bf16x6_wgmma<double>(const Product<double>&, Stream);
template bool product_bf16x6_wgmma<float>(const Product<float>&, Stream);
template bool product_bf16x6_wgmma<float16>(const Product<float16>&, Stream);
template bool product_bf16x6_wgmma<bfloat16>(const Product<bfloat16>&, Stream);

namespace {

template <class T>
void hopper_only(const Product<T>& product, Stream stream) {
  if (!product_bf16x6_wgmma(product, stream)) {
    throw not_implemented(
        "linear bf16x6_wgmma takes float32, on devices of compute capability 9.0");
  }
}
template <class T>
void launch_linear(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<hopper_only<T>>(x, weight, stream, y);
}

}  // namespace

PRENORM_CUDA_FUNCTION(linear__bf16x6_wgmma, launch_linear)

}  // namespace prenorm::cuda
