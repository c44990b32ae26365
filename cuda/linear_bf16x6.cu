// float32's product of linear.cu on tensor cores, from sm_80 on: three parts of bfloat16 for each
// operand, six products of parts (bf16x6.cuh). Equation, shapes and errors: reference/linear.hpp.
//
// A block computes 128 x 128 outputs, each of its eight warps 64 x 32. Operands are split once, on
// their way from global to shared memory: after each quarter of a stage's products a thread splits
// and stores four terms for the stage after the next, and begins to load four for the one after it.
// For 16 terms a warp takes 96 mma, 18 ldmatrix and 12 stores, and a thread adds 64 times.
//
// The terms of each sum are added in the same order whatever the shape, so a row has the same bits
// in any batch. Sums that this cannot give are computed again one by one, as v1 does: those that
// are not finite, for infinities, NaN and numbers that exceed bfloat16; and those below 2^-80 of a
// row or column with numbers that are more than three parts, as some below 2^-110 are.
#include "bf16x6.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "linear_bf16x6.cuh"
#include "product_tiles.cuh"

namespace prenorm::cuda {
namespace {

constexpr int tile = product_tile;
constexpr int warps = 8, threads = 32 * warps;
constexpr int warp_rows = 64, warp_columns = 32;
constexpr int down = warp_rows / 16, across = warp_columns / 8;  // a warp's tiles of mma

constexpr unsigned stages = 4;
constexpr int depth = 16;                   // terms of the sums in a stage
constexpr int width = vector_width<float>;  // of them, those that a thread loads of a row
constexpr int rows_at_once = threads * width / depth;
constexpr int shares = tile / rows_at_once;  // rows that a thread loads of an operand
static_assert(2 * shares == across);

/// The parts of a matrix's 128 rows, two terms in a word.
using Parts = unsigned[bf16_parts][tile * depth / 2];

/// A bit for each thread that has loaded of a tile's rows: whether what it split is not all there.
/// Those of eight rows are a word, four of a row.
using Lost = unsigned[shares * warps];
__device__ inline bool any_of(const Lost& lost, int row, int rows) {
  return (lost[row / 8] >> row % 8 * 4 & ((1u << 4 * rows) - 1)) != 0;
}

struct Shared {
  Parts x[stages], weight[stages];
  Lost of_x, of_weight;
};

/// Where a chunk of 8 terms is: eight rows of one chunk, which ldmatrix reads at once, are in
/// different banks.
__device__ constexpr int place(int row, int chunk) {
  return row * depth / 2 + (chunk ^ (row >> 2 & 1)) * 4;
}

/// A thread loads four terms of two rows of a stage: they begin at own_column(), and the rows are
/// own_row() and own_row() + 64.
__device__ inline unsigned thread() { return static_cast<unsigned>(thread_anew()); }
__device__ inline int own_row() { return static_cast<int>(thread() * width / depth); }
__device__ inline int own_column() { return static_cast<int>(thread() * width % depth); }

/// Four terms at `from`, of which `count` are there, and zeros beyond.
template <bool aligned>
__device__ Vector<float, width> load_terms(const float* from, bool there, std::int64_t count) {
  if constexpr (aligned) return load_vector_where<width>(there && count > 0, from);
  Vector<float, width> terms{};
#pragma unroll
  for (int i = 0; i < width; ++i) {
    if (there && i < count) terms.element[i] = from[i];
  }
  return terms;
}

/// Splits four terms of this thread's row i. Returned is what split() does.
__device__ inline unsigned store_parts(Parts& to, int i, const Vector<float, width>& terms) {
  unsigned left = 0;
  Vector<unsigned, 2> words[bf16_parts];
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    unsigned parts[bf16_parts];
    left |= split(parts, terms.element[2 * pair], terms.element[2 * pair + 1]);
#pragma unroll
    for (int part = 0; part < bf16_parts; ++part) words[part].element[pair] = parts[part];
  }
  const int at = place(own_row(), own_column() / 8) + own_column() % 8 / 2;
#pragma unroll
  for (int part = 0; part < bf16_parts; ++part) {
    store_shared(&to[part][at + place(i * rows_at_once, 0)], words[part]);
  }
  return left;
}

template <bool aligned>
__global__ void __launch_bounds__(threads) linear_bf16x6(Product<float> p, Tiles tiles) {
  Shared& shared = *dynamic_shared<Shared>();
  const auto [tile_down, tile_across] = tiles.corner(blockIdx.x);
  const std::int64_t first_row = std::int64_t{tile_down} * tile,
                     first_column = std::int64_t{tile_across} * tile;
  const float *from_x = p.x + (first_row + own_row()) * p.d_in + own_column(),
              *from_weight = p.weight + (first_column + own_row()) * p.d_in + own_column();
  const auto rows_left = [](std::int64_t left) {
    return static_cast<int>(left < tile ? left : tile) - own_row();
  };
  const int x_left = rows_left(p.rows - first_row), weight_left = rows_left(p.d_out - first_column);
  Vector<float, width> next[2 * shares];
  unsigned lost[2 * shares] = {};  // bits of a row, where the lower half is not 0
  const auto load = [&](int i, std::int64_t left) {
    const int row = i % shares * rows_at_once;
    next[i] = load_terms<aligned>((i < shares ? from_x : from_weight) + row * p.d_in,
                                  row < (i < shares ? x_left : weight_left), left - own_column());
  };
  const auto store = [&](int i, unsigned stage) {
    lost[i] |=
        store_parts(i < shares ? shared.x[stage] : shared.weight[stage], i % shares, next[i]);
  };
  std::int64_t left = p.d_in;  // terms
#pragma unroll
  for (int i = 0; i < 2 * shares; ++i) load(i, left);
#pragma unroll
  for (unsigned stage = 0; stage < 2; ++stage) {
    from_x += depth, from_weight += depth;
#pragma unroll
    for (int i = 0; i < 2 * shares; ++i) store(i, stage), load(i, left - (stage + 1) * depth);
  }

  float sum[across][down][4] = {};
#pragma unroll 1
  for (unsigned stage = 0; left > 0; stage = (stage + 1) % stages) {
    left -= depth;
    from_x += depth, from_weight += depth;
    // This stage and the next are there, and the other two have been read.
    if (stage % 2 == 0) __syncthreads();
    const int lane = static_cast<int>(thread() % 32), warp = static_cast<int>(thread() / 32);
    const int at_x = place(warp % 2 * warp_rows + lane % 16, lane / 16);
    const int at_weight = place(warp / 2 * warp_columns + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    unsigned a[down][bf16_parts][4];
#pragma unroll
    for (int part = 0; part < bf16_parts; ++part) {
#pragma unroll
      for (int i = 0; i < down; ++i) {
        ldmatrix(a[i][part], &shared.x[stage][part][at_x + place(16 * i, 0)]);
      }
    }
    // step: sum of products
#pragma unroll
    for (int j = 0; j < across; j += 2) {
      unsigned b[2][bf16_parts][2];
#pragma unroll
      for (int part = 0; part < bf16_parts; ++part) {
        unsigned both[4];
        ldmatrix(both, &shared.weight[stage][part][at_weight + place(8 * j, 0)]);
        b[0][part][0] = both[0], b[0][part][1] = both[1];
        b[1][part][0] = both[2], b[1][part][1] = both[3];
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        mma_bf16x6<down>(
            sum[j + h], [&](int i) -> auto& { return a[i]; }, [&](int) -> auto& { return b[h]; });
        store(j + h, (stage + 2) % stages), load(j + h, left - 2 * depth);
      }
    }
  }

  const int lane = static_cast<int>(thread() % 32), warp = static_cast<int>(thread() / 32);
  const int row = warp % 2 * warp_rows, column = warp / 2 * warp_columns;
#pragma unroll
  for (int i = 0; i < 2 * shares; ++i) {
    const unsigned votes = __ballot_sync(0xffffffffu, (lost[i] & 0xffffu) != 0);
    Lost& to = i < shares ? shared.of_x : shared.of_weight;
    if (lane == 0) to[i % shares * warps + warp] = votes;
  }
  __syncthreads();
  const bool in_pairs = p.row_of_y() % 2 == 0 && p.d_out % 2 == 0 &&
                        reinterpret_cast<std::uintptr_t>(p.y) % sizeof(Vector<float, 2>) == 0;
  unsigned columns_lost = 0;  // a bit for each pair of columns
#pragma unroll
  for (int j = 0; j < across; ++j) {
    if (any_of(shared.of_weight, column + 8 * j + lane % 4 * 2, 2)) columns_lost |= 1u << j;
  }
#pragma unroll
  for (int i = 0; i < 2 * down; ++i) {
    const std::int64_t y_row = first_row + row + 8 * i + lane / 4,
                       y_column = first_column + column + lane % 4 * 2;
    const bool row_lost = any_of(shared.of_x, row + 8 * i + lane / 4, 1);
    unsigned again = 0;  // a bit for each pair of sums that are computed again
#pragma unroll
    for (int j = 0; j < across; ++j) {
      float y[] = {sum[j][i / 2][i % 2 * 2], sum[j][i / 2][i % 2 * 2 + 1]};
      const bool small = fminf(fabsf(y[0]), fabsf(y[1])) < least_exact;
      if (!isfinite(y[0]) || !isfinite(y[1]) ||
          (small && (row_lost || (columns_lost >> j & 1) != 0))) {
        again |= 1u << j;
      } else if (in_pairs && y_row < p.rows && y_column + 8 * j < p.d_out) {
        const std::int64_t at = y_row * p.row_of_y() + y_column + 8 * j;
        if (p.residual != nullptr) y[0] += p.residual[at], y[1] += p.residual[at + 1];
        store_vector(p.y + at, Vector<float, 2>{y[0], y[1]});
      } else {
        store_sum(p, y_row, y_column + 8 * j, y[0]);
        store_sum(p, y_row, y_column + 8 * j + 1, y[1]);
      }
    }
    if (y_row >= p.rows) continue;
#pragma unroll 1
    for (int j = 0; j < 2 * across; ++j) {
      const std::int64_t at = y_column + j / 2 * 8 + j % 2;
      if ((again >> (j / 2) & 1) == 0 || at >= p.d_out) continue;
      store_sum(p, y_row, at, plain_sum(p, y_row, at));
    }
  }
}

}  // namespace

template <class T>
void product_bf16x6(const Product<T>& product, Stream stream) {
  if constexpr (std::is_same_v<T, float>) {
    if (!has_outputs(product)) return;
    const Tiles tiles = tiles_of(product);
    launch({"linear bf16x6", tiles.items(), threads, stream, sizeof(Shared)},
           rows_are_aligned(product) ? linear_bf16x6<true> : linear_bf16x6<false>, product, tiles);
  } else {
    throw not_implemented(std::string(product.name) + ": bf16x6 takes float32");
  }
}

template void product_bf16x6<double>(const Product<double>&, Stream);
template void product_bf16x6<float>(const Product<float>&, Stream);
template void product_bf16x6<float16>(const Product<float16>&, Stream);
template void product_bf16x6<bfloat16>(const Product<bfloat16>&, Stream);

namespace {

template <class T>
void launch_linear_bf16x6(View<const T> x, View<const T> weight, Stream stream, View<T> y) {
  linear_by<product_bf16x6<T>>(x, weight, stream, y);
}

}  // namespace

PRENORM_CUDA_VARIANT(linear, bf16x6, launch_linear_bf16x6)

}  // namespace prenorm::cuda
