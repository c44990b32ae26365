// Rotary position embedding on the GPU. Equation, shapes and errors: reference/rope.hpp.
//
//   v1  one thread per pair           angle, sine and cosine in each thread, in float64
//   v2  one block per few positions   a table of cosines and sines for all their heads
//   v3  angles in turns, as integers  no float64, no table of cosines and sines    <- launched
//
// Counts of rope, float32: 4 heads of 64, 128 positions (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         1    6.6 (3.41)          8 (4)    4.05        1.5           -         0         5
//   v2         1          15.8           15.9       1          1           2         8         5
//   v3         1          12.9           15.9    1.01          1           2         8         5
//
// Measured on NVIDIA H200: v2 1.46 times as fast as v1, what is launched 1.09 times as fast as v2
// (cpu_rope, float32).
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "rope.cuh"
#include "types.cuh"

#include <algorithm>
#include <cmath>
#include <numbers>

// Positions are in device memory: the kernel finds those out of range, for which the host waits
// (device_error.cuh). Their rows become NaN, as a launch in a graph cannot report errors.
//
// The stack that the compiler reports for v1 and v2 is CUDA's own, for the sine of a very large
// angle; nothing is spilled.

namespace prenorm::cuda {
namespace {

template <class C>
struct alignas(2 * sizeof(C)) Rotation {
  C cos, sin;
};

template <class C>
__device__ Rotation<C> rotation_by(double angle) {
  // step: cosine and sine
  double sine, cosine;
  sincos(angle, &sine, &cosine);
  return {static_cast<C>(cosine), static_cast<C>(sine)};
}

/// Rotates a pair counter-clockwise.
template <class T>
__device__ void rotate(T& even, T& odd, Rotation<compute_t<T>> r) {
  const compute_t<T> a = widen(even), b = widen(odd);
  // step: turn
  even = narrow<T>(a * r.cos - b * r.sin);
  odd = narrow<T>(a * r.sin + b * r.cos);
}

/// theta^(2k/d_k)
__device__ inline double divisor(double theta, std::int64_t pair, std::int64_t d_k) {
  // step: power of theta
  return pow(theta, 2 * static_cast<double>(pair) / static_cast<double>(d_k));
}

/// Position i as a number; where it is out of range NaN.
__device__ inline double checked_position(const std::int64_t* token_positions, std::int64_t i,
                                          std::int64_t max_seq_len) {
  const std::int64_t position = token_positions != nullptr ? token_positions[i] : i;
  // step: check
  if (position >= 0 && position < max_seq_len) return static_cast<double>(position);
  return NAN;
}

// ---- v1: one thread per pair --------------------------------------------------------------------

/// Thread i rotates pair i. Batch axes are counted as own axes and, within them, shared ones.
template <class T>
__global__ void rope_v1(RopeHeads<T> h) {
  using C = compute_t<T>;
  h.report.write();
  const std::int64_t pairs = h.d_k / 2, i = global_thread();
  const std::int64_t pair = i % pairs, row = i / pairs;
  const std::int64_t token = row % h.seq, batch = row / h.seq;
  if (batch >= h.own.size * h.shared.size) return;
  const std::int64_t own = batch / h.shared.size, shared = batch % h.shared.size;

  // step: angle
  const double angle = checked_position(h.token_positions, own * h.seq + token, h.max_seq_len) /
                       divisor(h.theta, pair, h.d_k);  // step: power of theta

  const T* a =
      h.x + h.own.part(h.of_x, own) + h.shared.part(h.of_x, shared) + token * h.x_stride + 2 * pair;
  T* b =
      h.y + h.own.part(h.of_y, own) + h.shared.part(h.of_y, shared) + token * h.y_stride + 2 * pair;
  b[0] = a[0];
  b[1] = a[1];
  rotate(b[0], b[1], rotation_by<C>(angle));  // step: cosine and sine, turn
}

// ---- v2: one block some positions ---------------------------------------------------------------
//
// Angles are float64 whatever T is; the table has the compute type. It is in shared memory, made by
// the block that uses it: a table of all positions, made by a separate kernel, would be as much
// work, but would take a second launch, and would be written to memory and read back by every head.
// Where no two rows share a position the block's table saves no sines and cosines; its rows still
// share the frequencies. x moves 16 bytes at a time, four in flight per thread.

constexpr int v2_threads = 256, v2_pairs = 64, v2_rotations = 1024;

/// How the work is cut into blocks. A block takes `positions` of those given by `pairs` of d_k/2,
/// at most v2_rotations of them, for `heads` of the innermost axis that shares these positions.
struct RopeTiles {
  int positions, pairs;
  std::int64_t heads;
  std::int64_t across, along, parts, outer;    // blocks: pairs, positions, heads, axes further out
  std::int64_t all_heads, x_stride, y_stride;  // the innermost axis
};

/// N elements of x move at a time, an even number that divides d_k: a vector of N / 2 pairs.
///
/// The table is in the order in which it is read: the first pairs of all vectors, then the second
/// ones, and so on. So the lanes of a warp, each with a vector of its own, read neighbours. In the
/// order of the pairs they would read every (N / 2)-th, and banks would conflict.
template <class T, int N>
__global__ void __launch_bounds__(v2_threads, 3) rope_v2(RopeHeads<T> h, RopeTiles tiles) {
  using C = compute_t<T>;
  constexpr int in_flight = 4;
  __shared__ Rotation<C> rotation[v2_rotations];
  __shared__ double position[v2_rotations], divide_by[v2_pairs];
  const int thread = static_cast<int>(threadIdx.x);
  h.report.write();
  std::int64_t block = blockIdx.x;
  const std::int64_t first_pair = block % tiles.across * tiles.pairs;
  block /= tiles.across;
  const std::int64_t first_position = block % tiles.along * tiles.positions;
  block /= tiles.along;
  const std::int64_t first_head = block % tiles.parts * tiles.heads;
  const std::int64_t outer = block / tiles.parts * tiles.all_heads;
  const int pairs =
      static_cast<int>(min(h.d_k / 2 - first_pair, static_cast<std::int64_t>(tiles.pairs)));
  const int positions = static_cast<int>(
      min(h.own.size * h.seq - first_position, static_cast<std::int64_t>(tiles.positions)));
  const int heads = static_cast<int>(min(tiles.all_heads - first_head, tiles.heads));
  const int width = pairs * 2 / N;      // of a row, in vectors
  const int items = positions * width;  // vectors of a head

  for (int i = thread; i < positions; i += v2_threads) {
    // step: check
    position[i] = checked_position(h.token_positions, first_position + i, h.max_seq_len);
  }
  for (int i = thread; i < pairs; i += v2_threads) {
    // step: power of theta
    divide_by[i] = divisor(h.theta, first_pair + i % width * (N / 2) + i / width, h.d_k);
  }
  __syncthreads();
  for (int i = thread; i < positions * pairs; i += v2_threads) {
    const int k = i / items, item = i % items;
    // step: angle, cosine and sine
    rotation[i] = rotation_by<C>(position[item / width] / divide_by[k * width + item % width]);
  }
  __syncthreads();

  for (int item = thread; item < items; item += v2_threads) {
    const int row = item / width;
    Rotation<C> r[N / 2];
#pragma unroll
    for (int k = 0; k < N / 2; ++k) r[k] = rotation[k * items + item];
    const std::int64_t own = (first_position + row) / h.seq;
    const std::int64_t token = (first_position + row) % h.seq;
    const std::int64_t column = first_pair * 2 + item % width * N;
    const T* from = h.x + h.own.part(h.of_x, own) + h.shared.part(h.of_x, outer) +
                    first_head * tiles.x_stride + token * h.x_stride + column;
    T* to = h.y + h.own.part(h.of_y, own) + h.shared.part(h.of_y, outer) +
            first_head * tiles.y_stride + token * h.y_stride + column;
    for (int head = 0; head < heads; head += in_flight) {
      Vector<T, N> a[in_flight] = {};
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        if (head + v < heads) a[v] = load_vector<N>(from + v * tiles.x_stride);
      }
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        if (head + v >= heads) continue;
#pragma unroll
        // step: turn
        for (int k = 0; k < N; k += 2) rotate(a[v].element[k], a[v].element[k + 1], r[k / 2]);
        store_vector(to + v * tiles.y_stride, a[v]);
      }
      from += in_flight * tiles.x_stride;
      to += in_flight * tiles.y_stride;
    }
  }
}

template <class T>
RopeTiles rope_tiles(const RopeHeads<T>& h) {
  constexpr std::int64_t one = 1;
  RopeTiles tiles{};
  const bool shares = h.shared.count > 0 && h.shared.size > 0;
  const int inner = h.shared.count - 1;
  tiles.all_heads = shares ? h.shared.extent[inner] : h.shared.size;
  tiles.x_stride = shares ? h.shared.stride[h.of_x][inner] : 0;
  tiles.y_stride = shares ? h.shared.stride[h.of_y][inner] : 0;
  tiles.outer = shares ? h.shared.size / tiles.all_heads : 1;

  tiles.pairs = static_cast<int>(std::clamp<std::int64_t>(h.d_k / 2, 1, v2_pairs));
  tiles.positions = v2_rotations / tiles.pairs;
  tiles.across = ceil_div(h.d_k / 2, tiles.pairs);
  tiles.along = ceil_div(h.positions(), tiles.positions);
  // Few positions: their heads are spread over blocks until these fill a device. Each block has to
  // make the table, so none has fewer than 8 heads.
  constexpr std::int64_t enough_blocks = 512;
  const std::int64_t blocks = std::max(one, tiles.across * tiles.along * tiles.outer);
  tiles.parts = std::clamp(enough_blocks / blocks, one, std::max(one, tiles.all_heads / 8));
  // The heads of a block are counted by an int.
  tiles.parts = std::max(tiles.parts, ceil_div(tiles.all_heads, 1 << 30));
  tiles.heads = ceil_div(tiles.all_heads, tiles.parts);
  return tiles;
}

template <int N, class T>
void rope_tiles_v2(const RopeHeads<T>& heads, Stream stream) {
  const RopeTiles tiles = rope_tiles(heads);
  launch({"rope v2", tiles.across * tiles.along * tiles.parts * tiles.outer, v2_threads, stream},
         rope_v2<T, N>, heads, tiles);
}

template <class T>
void rope_heads_v2(const RopeHeads<T>& heads, Stream stream) {
  constexpr int wide = vector_width<T>;
  if (heads.d_k % wide == 0) {
    rope_tiles_v2<wide>(heads, stream);
  } else {  // a pair at a time
    rope_tiles_v2<2>(heads, stream);
  }
}

// ---- v3: angles in turns, as integers -----------------------------------------------------------
//
// Whole turns do not matter, so an angle is a 64-bit number that counts 2^-64 turns. The angle of
// position 1, times a position, wraps around as the angle itself does, and is wrong by half a unit
// per position: 2^-33 turns at position 2^32. A thread makes the rotations of its vectors, of up to
// four heads, while these are on their way. Where T is double, positions may be larger or are more
// than 2^30, theta is below 1 or d_k above 256, v2 is launched instead.

constexpr int v3_threads = 256, v3_pairs = 128;
constexpr int v3_vectors = 4;  // of a thread: in flight, or in turn where heads are few

/// By which angle each pair turns from a position to the next, in 2^-64 turns.
struct Turns {
  std::uint64_t of_pair[v3_pairs];
};

/// On the host, in its widest type, which has 64 bits or more where it is wider than a double.
Turns turns_of(double theta, std::int64_t d_k) {
  Turns turns{};
  for (int pair = 0; pair < d_k / 2; ++pair) {
    // step: power of theta
    const long double divisor =
        std::pow(static_cast<long double>(theta),
                 2 * static_cast<long double>(pair) / static_cast<long double>(d_k));
    turns.of_pair[pair] = static_cast<std::uint64_t>(
        std::round(std::ldexp(1 / (2 * std::numbers::pi_v<long double> * divisor), 64)));
  }
  return turns;
}

/// The same, computed anew only for another theta or d_k than in the last call.
const Turns& known_turns(double theta, std::int64_t d_k) {
  static double of_theta = 0;
  static std::int64_t of_d_k = 0;
  static Turns turns;
  if (theta != of_theta || d_k != of_d_k) turns = turns_of(theta, d_k);
  of_theta = theta;
  of_d_k = d_k;
  return turns;
}

/// The rotation by an angle in 2^-64 turns, to 2^-23; NaN where that is not good.
__device__ inline Rotation<float> rotation_by(std::uint64_t angle, bool good) {
  // The nearest quarter of a turn, and what is beyond it, in quarters: -1/2 ... 1/2.
  const unsigned high = static_cast<unsigned>(angle >> 32) + (1u << 29), quarter = high >> 30;
  const int rest = static_cast<int>(high & 0x3fffffffu) - (1 << 29);
  const float x = fmaf(static_cast<float>(rest), good ? 0x1p-30f : NAN,
                       static_cast<float>(static_cast<unsigned>(angle)) * 0x1p-62f);
  // step: cosine and sine
  // Minimax polynomials of pi/2 x; pi/2 is the sum of two floats.
  const float u = x * x;
  float sine = fmaf(u, fmaf(u, -0.00460019883571f, 0.0796796715947f), -0.645963477503f);
  sine = fmaf(x, 1.57079637050629f, x * fmaf(u, sine, -4.371139e-8f));
  float cosine = fmaf(u, fmaf(u, 0.000904021710144f, -0.0208602885285f), 0.253669244033f);
  cosine = fmaf(u, fmaf(u, cosine, -1.23370054335f), 1.0f);
  const float c = quarter % 2 == 0 ? cosine : sine, s = quarter % 2 == 0 ? sine : cosine;
  return {(quarter + 1) % 4 < 2 ? c : -c, quarter < 2 ? s : -s};
}

/// How the work is cut into blocks: threads (x, y), y positions side by side, x vectors of a row.
struct RopeGrid {
  unsigned parts, outer;                       // blocks: heads, axes further out, then positions
  unsigned positions, step;                    // all, and those that all blocks take at a time
  std::int64_t all_heads, x_stride, y_stride;  // the innermost axis that shares these positions
};

/// A thread turns a vector of N elements, N / 2 pairs, of `heads` heads, at some positions.
template <class T, int N, int heads>
__global__ void __launch_bounds__(v3_threads, 5)
    rope_v3(RopeHeads<T> h, RopeGrid grid, Turns turns) {
  // The first pairs of all vectors, then the second ones: lanes side by side have neighbours.
  __shared__ std::uint64_t turns_of_pair[v3_pairs];
  const unsigned width = blockDim.x, column = threadIdx.x;
  for (unsigned k = threadIdx.y; k < N / 2; k += blockDim.y) {
    turns_of_pair[k * width + column] = turns.of_pair[column * (N / 2) + k];
  }
  __syncthreads();
  wait_for_the_kernel_before();
  let_the_next_begin();
  h.report.write();

  unsigned block = blockIdx.x;
  const auto next = [&](unsigned count) {
    if (count == 1) return 0u;  // as is usual; a division is some twenty instructions
    const unsigned index = block % count;
    block /= count;
    return index;
  };
  const std::int64_t head = static_cast<std::int64_t>(next(grid.parts)) * heads;
  const std::int64_t outer = next(grid.outer) * grid.all_heads;
  const T* x = h.x + h.shared.part(h.of_x, outer) + head * grid.x_stride + column * N;
  T* y = h.y + h.shared.part(h.of_y, outer) + head * grid.y_stride + column * N;
  const unsigned seq = static_cast<unsigned>(h.seq);
  for (unsigned i = block * blockDim.y + threadIdx.y; i < grid.positions; i += grid.step) {
    const unsigned own = h.own.count == 0 ? 0 : i / seq, token = i - own * seq;
    const T* from = x + h.own.part(h.of_x, own) + token * h.x_stride;
    T* to = y + h.own.part(h.of_y, own) + token * h.y_stride;
    const std::int64_t position = h.token_positions != nullptr ? h.token_positions[i] : i;
    Vector<T, N> a[heads];
#pragma unroll
    for (int v = 0; v < heads; ++v) a[v] = load_vector<N>(from + v * grid.x_stride);

    Rotation<float> r[N / 2];  // while those are on their way
    // step: check
    const bool good = position >= 0 && position < h.max_seq_len;
#pragma unroll
    for (unsigned k = 0; k < N / 2; ++k) {
      // step: angle
      r[k] = rotation_by(turns_of_pair[k * width + column] * static_cast<unsigned>(position), good);
    }
#pragma unroll
    for (int v = 0; v < heads; ++v) {
#pragma unroll
      // step: turn
      for (int k = 0; k < N; k += 2) rotate(a[v].element[k], a[v].element[k + 1], r[k / 2]);
      store_vector(to + v * grid.y_stride, a[v]);
    }
    if (heads == v3_vectors) return;  // so the loop needs no registers
  }
}

template <int N, int heads, class T>
void rope_heads_v3(const RopeHeads<T>& h, const RopeTiles& tiles, Stream stream) {
  const std::int64_t width = h.d_k / N, rows = v3_threads / width;
  const std::int64_t parts = tiles.all_heads / heads;
  const std::int64_t along = ceil_div(h.positions(), rows * (v3_vectors / heads));
  const dim3 block(static_cast<unsigned>(width), static_cast<unsigned>(rows));
  launch(early({"rope v3", parts * tiles.outer * along, block, stream}), rope_v3<T, N, heads>, h,
         RopeGrid{static_cast<unsigned>(parts), static_cast<unsigned>(tiles.outer),
                  static_cast<unsigned>(h.positions()), static_cast<unsigned>(along * rows),
                  tiles.all_heads, tiles.x_stride, tiles.y_stride},
         known_turns(h.theta, h.d_k));
}

/// False where v3 cannot.
template <int N, class T>
bool try_rope_v3(const RopeHeads<T>& h, Stream stream) {
  constexpr std::int64_t most = 1 << 30;  // positions are counted by an unsigned
  if (h.d_k == 0 || h.d_k > 2 * v3_pairs || h.theta < 1 || h.max_seq_len > 1ll << 32 ||
      h.positions() > most) {
    return false;
  }
  const RopeTiles tiles = rope_tiles(h);
  if (tiles.all_heads % 4 == 0) {
    rope_heads_v3<N, 4>(h, tiles, stream);
  } else if (tiles.all_heads % 2 == 0) {
    rope_heads_v3<N, 2>(h, tiles, stream);
  } else {
    rope_heads_v3<N, 1>(h, tiles, stream);
  }
  return true;
}

}  // namespace

template <class T>
void rope_heads_v1(const RopeHeads<T>& h, Stream stream) {
  const std::int64_t pairs = h.own.size * h.shared.size * h.seq * (h.d_k / 2);
  launch({"rope v1", ceil_div(pairs, 256), 256, stream}, rope_v1<T>, h);
}

template <class T>
void rope_heads_launched(const RopeHeads<T>& heads, Stream stream) {
  bool done = false;
  if constexpr (!std::is_same_v<T, double>) {
    constexpr int wide = vector_width<T>;
    done = heads.d_k % wide == 0 ? try_rope_v3<wide>(heads, stream) : try_rope_v3<2>(heads, stream);
  }
  if (!done) rope_heads_v2(heads, stream);
}

#define PRENORM_ROPES(T)                                       \
  template void rope_heads_v1<T>(const RopeHeads<T>&, Stream); \
  template void rope_heads_launched<T>(const RopeHeads<T>&, Stream);
PRENORM_ROPES(double)
PRENORM_ROPES(float)
PRENORM_ROPES(float16)
PRENORM_ROPES(bfloat16)
#undef PRENORM_ROPES

void check_rope(std::int64_t d_k, bool has_positions, std::int64_t seq, double theta,
                std::int64_t max_seq_len) {
  // step: check
  if (!(theta > 0)) {
    throw std::invalid_argument("rope: theta must be positive, is " + std::to_string(theta));
  }
  if (d_k % 2 != 0) {
    throw std::invalid_argument("rope: d_k must be even, is " + std::to_string(d_k));
  }
  if (!has_positions && seq > 0 && seq > max_seq_len) {
    throw std::invalid_argument("rope: no positions are given, and the last of " +
                                std::to_string(seq) +
                                " is not below max_seq_len = " + std::to_string(max_seq_len));
  }
}

PositionCheck::PositionCheck(std::optional<View<const std::int64_t>> token_positions,
                             std::int64_t max_seq_len, Stream stream) {
  // step: check
  constexpr std::int64_t end = 1ll << 53;  // from where on float64 skips whole numbers
  const RangeCheck::Names names{"rope: position", max_seq_len > end ? "2^53 = " : "max_seq_len = "};
  if (token_positions) check_.emplace(names, *token_positions, std::min(max_seq_len, end), stream);
}

void PositionCheck::throw_if_wrong() const {
  if (check_) check_->throw_if_wrong();
}

// ---- the problem --------------------------------------------------------------------------------

namespace {

template <class T>
RopeHeads<T> one_head(View<const T> x, View<const std::int64_t> token_positions, double theta,
                      std::int64_t max_seq_len, View<T> y) {
  const std::size_t axes = y.dimension() - 2;
  const std::int64_t seq = y.shape(axes), d_k = x.shape().back(), part = seq * d_k;
  check_rope(d_k, true, seq, theta, max_seq_len);
  RopeHeads<T> heads{.x = x.data(),
                     .y = y.data(),
                     .seq = seq,
                     .d_k = d_k,
                     .x_stride = d_k,
                     .y_stride = d_k,
                     .token_positions = token_positions.data(),
                     .theta = theta,
                     .max_seq_len = max_seq_len};
  heads.append_batch(x.shape().first(x.dimension() - 2), part, y.shape().first(axes), part,
                     token_positions.shape().first(token_positions.dimension() - 1));
  return heads;
}

/// The rotation by one of these versions.
template <auto rotate_heads, class T>
void rope_by(View<const T> x, View<const std::int64_t> token_positions, double theta,
             std::int64_t max_seq_len, Stream stream, View<T> y) {
  RopeHeads<T> heads = one_head(x, token_positions, theta, max_seq_len, y);
  const PositionCheck check(token_positions, max_seq_len, stream);
  heads.report = check.report();
  rotate_heads(heads, stream);
  check.throw_if_wrong();
}

template <class T>
void launch_rope_v1(View<const T> x, View<const std::int64_t> token_positions, double theta,
                    std::int64_t max_seq_len, Stream stream, View<T> y) {
  rope_by<rope_heads_v1<T>>(x, token_positions, theta, max_seq_len, stream, y);
}
template <class T>
void launch_rope_v2(View<const T> x, View<const std::int64_t> token_positions, double theta,
                    std::int64_t max_seq_len, Stream stream, View<T> y) {
  rope_by<rope_heads_v2<T>>(x, token_positions, theta, max_seq_len, stream, y);
}
template <class T>
void launch_rope(View<const T> x, View<const std::int64_t> token_positions, double theta,
                 std::int64_t max_seq_len, Stream stream, View<T> y) {
  rope_by<rope_heads_launched<T>>(x, token_positions, theta, max_seq_len, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(rope, launch_rope_v1, launch_rope)
PRENORM_CUDA_VARIANT(rope, v2, launch_rope_v2)

}  // namespace prenorm::cuda
