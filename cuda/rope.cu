// Rotary position embedding on the GPU. Equation, shapes and errors: reference/rope.hpp.
//
//   v1  one thread per pair           angle, sine and cosine in each thread, in float64
//   v2  one block per few positions   a table of their cosines and sines in shared memory, for all
//                                     heads and sequences that have these positions; x moves 16
//                                     bytes at a time, four in flight per thread
//                                                                                   <- launched
//
// Counts of rope, float32: 4 heads of 64, 128 positions (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         2    6.6 (3.41)          8 (4)    4.05        1.5           -         0         0
//   v2         2          15.8             16       1          1           2         8         0
//
// Measured on NVIDIA H200: what is launched 1.35 times as fast as v1 (cpu_rope, float32).
//
// Angles are float64 whatever T is; the table has the compute type. It is in shared memory, made by
// the block that uses it: a table of all positions, made by a separate kernel, would be as much
// work, but would take a second launch, and would be written to memory and read back by every head.
// Where no two rows share a position the block's table saves no sines and cosines; its rows still
// share the frequencies.
//
// The stack that the compiler reports for these kernels is CUDA's own, for the sine of a very large
// angle; nothing is spilled.
//
// Positions are in device memory, so a kernel finds those out of range: a small one, before the
// others, for which alone the host waits (device_error.cuh). Their rows become NaN, as a launch in
// a graph cannot report errors.
#include "export.cuh"
#include "launch.cuh"
#include "rope.cuh"
#include "types.cuh"

#include <algorithm>

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
void rope_heads_v2(const RopeHeads<T>& heads, Stream stream) {
  const RopeTiles tiles = rope_tiles(heads);
  launch({"rope v2", tiles.across * tiles.along * tiles.parts * tiles.outer, v2_threads, stream},
         rope_v2<T, N>, heads, tiles);
}

}  // namespace

template <class T>
void rope_heads_v1(const RopeHeads<T>& h, Stream stream) {
  const std::int64_t pairs = h.own.size * h.shared.size * h.seq * (h.d_k / 2);
  launch({"rope v1", ceil_div(pairs, 256), 256, stream}, rope_v1<T>, h);
}

template <class T>
void rope_heads_launched(const RopeHeads<T>& heads, Stream stream) {
  constexpr int wide = vector_width<T>;
  if (heads.d_k % wide == 0) {
    rope_heads_v2<wide>(heads, stream);
  } else {  // a pair at a time
    rope_heads_v2<2>(heads, stream);
  }
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
  constexpr RangeCheck::Names names{"rope check", "rope: position", "max_seq_len = "};
  if (token_positions) check_.emplace(names, *token_positions, max_seq_len, stream);
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
  const RopeHeads<T> heads = one_head(x, token_positions, theta, max_seq_len, y);
  const PositionCheck check(token_positions, max_seq_len, stream);
  rotate_heads(heads, stream);
  check.throw_if_wrong();
}

template <class T>
void launch_rope_v1(View<const T> x, View<const std::int64_t> token_positions, double theta,
                    std::int64_t max_seq_len, Stream stream, View<T> y) {
  rope_by<rope_heads_v1<T>>(x, token_positions, theta, max_seq_len, stream, y);
}
template <class T>
void launch_rope(View<const T> x, View<const std::int64_t> token_positions, double theta,
                 std::int64_t max_seq_len, Stream stream, View<T> y) {
  rope_by<rope_heads_launched<T>>(x, token_positions, theta, max_seq_len, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(rope, launch_rope_v1, launch_rope)

}  // namespace prenorm::cuda
