// Rotary position embedding on the GPU. Equation, shapes and errors: reference/rope.hpp.
//
//   v1  one pair a thread            angle, sine and cosine in each thread, in float64
//   v2  one block some positions     a table of their cosines and sines in shared memory, for all
//                                    heads and sequences that have these positions; x moves 16
//                                    bytes at a time, four of those in flight a thread
//                                                                                   <- launched
//
// What each step gives is not yet measured on a device.
//
// Angles are float64 whatever T is; the table has the type that computes. It lies in shared memory,
// made by the block that uses it: a table of all positions, made by a kernel of its own, would be
// as much work, but takes a second launch and is written to memory and read back, by every head
// anew. Where no two rows share a position such a table would only be read once; the block's is
// then what each thread's own sine and cosine would be, but for the frequencies, which the block
// still shares.
//
// The stack that the compiler reports for these kernels is CUDA's own, for the sine of a very large
// angle; nothing is spilled.
//
// Positions lie on the device, so it is the kernel that finds one out of range. Its rows are NaN,
// for a launch in a graph can report nothing else.
#include "broadcast.cuh"
#include "device_error.cuh"
#include "export.cuh"
#include "launch.cuh"
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
  double sine, cosine;
  sincos(angle, &sine, &cosine);
  return {static_cast<C>(cosine), static_cast<C>(sine)};
}

/// Turns a pair counter-clockwise.
template <class T>
__device__ void rotate(T& even, T& odd, Rotation<compute_t<T>> r) {
  const compute_t<T> a = widen(even), b = widen(odd);
  even = narrow<T>(a * r.cos - b * r.sin);
  odd = narrow<T>(a * r.sin + b * r.cos);
}

/// theta^(2k/d_k)
__device__ inline double divisor(double theta, std::int64_t pair, std::int64_t d_k) {
  return pow(theta, 2 * static_cast<double>(pair) / static_cast<double>(d_k));
}

/// A position as a number; NaN, and recorded, where it is out of range.
__device__ inline double checked_position(const std::int64_t* token_positions, std::int64_t i,
                                          std::int64_t max_seq_len, WrongIndex* wrong) {
  const std::int64_t position = token_positions[i];
  if (position >= 0 && position < max_seq_len) return static_cast<double>(position);
  record_wrong(wrong, i);
  return NAN;
}

/// Batch axes of y, with the strides of x, y and token_positions.
enum { of_x, of_y, of_positions };
using RopeAxes = BatchAxes<3>;

struct RopeSizes {
  std::int64_t seq, d_k, positions;  // positions: all that are given
  RopeAxes shared;                   // axes along which token_positions broadcasts
  RopeAxes own;                      // the others
};

template <class T>
RopeSizes rope_sizes(View<const T> x, View<const std::int64_t> token_positions, View<T> y) {
  const std::size_t axes = y.dimension() - 2;
  const std::int64_t d_k = x.shape().back();
  if (d_k % 2 != 0) {
    throw std::invalid_argument("rope: d_k must be even, is " + std::to_string(d_k));
  }
  RopeSizes sizes{y.shape(axes), d_k, token_positions.size(), {}, {}};
  const auto batch_of_positions = token_positions.shape().first(token_positions.dimension() - 1);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t stride[] = {batch_stride(x.shape().first(x.dimension() - 2), axis, axes),
                                   batch_stride(y.shape().first(axes), axis, axes),
                                   batch_stride(batch_of_positions, axis, axes)};
    (stride[of_positions] == 0 ? sizes.shared : sizes.own).append(y.shape(axis), stride);
  }
  return sizes;
}

/// Waits, and throws if a kernel found a position wrong.
void throw_if_wrong(const WrongValue& wrong, const std::int64_t* token_positions,
                    std::int64_t max_seq_len) {
  if (const auto position = wrong.wait(token_positions)) {
    throw std::invalid_argument("rope: position " + std::to_string(*position) +
                                " is not in [0, max_seq_len = " + std::to_string(max_seq_len) +
                                ")");
  }
}

// ---- v1: one pair a thread ----------------------------------------------------------------------

[[maybe_unused]] __global__ void check_positions(const std::int64_t* token_positions,
                                                 std::int64_t positions, std::int64_t max_seq_len,
                                                 WrongIndex* wrong) {
  const std::int64_t i = global_thread();
  if (i < positions) checked_position(token_positions, i, max_seq_len, wrong);
}

/// Thread i turns pair i of y. y's batch axes are counted as own axes and, within them, shared
/// ones.
template <class T>
__global__ void rope_v1(const T* x, const std::int64_t* token_positions, T* y, RopeSizes sizes,
                        double theta, std::int64_t max_seq_len) {
  using C = compute_t<T>;
  const std::int64_t pairs = sizes.d_k / 2, i = global_thread();
  const std::int64_t pair = i % pairs, row = i / pairs;
  const std::int64_t token = row % sizes.seq, batch = row / sizes.seq;
  if (batch >= sizes.own.size * sizes.shared.size) return;
  const std::int64_t own = batch / sizes.shared.size, shared = batch % sizes.shared.size;

  const std::int64_t position = sizes.own.part(of_positions, own) * sizes.seq + token;
  const double angle = checked_position(token_positions, position, max_seq_len, nullptr) /
                       divisor(theta, pair, sizes.d_k);
  const std::int64_t from = sizes.own.part(of_x, own) + sizes.shared.part(of_x, shared);
  const std::int64_t to = sizes.own.part(of_y, own) + sizes.shared.part(of_y, shared);
  const T* a = x + (from * sizes.seq + token) * sizes.d_k + 2 * pair;
  T* b = y + (to * sizes.seq + token) * sizes.d_k + 2 * pair;
  b[0] = a[0];
  b[1] = a[1];
  rotate(b[0], b[1], rotation_by<C>(angle));
}

template <class T>
void launch_rope_v1(View<const T> x, View<const std::int64_t> token_positions, double theta,
                    std::int64_t max_seq_len, Stream stream, View<T> y) {
  const RopeSizes sizes = rope_sizes(x, token_positions, y);
  const WrongValue wrong(stream);
  launch({"rope v1 check", ceil_div(sizes.positions, 256), 256, stream}, check_positions,
         token_positions.data(), sizes.positions, max_seq_len, wrong.first());
  launch({"rope v1", ceil_div(y.size() / 2, 256), 256, stream}, rope_v1<T>, x.data(),
         token_positions.data(), y.data(), sizes, theta, max_seq_len);
  throw_if_wrong(wrong, token_positions.data(), max_seq_len);
}

// ---- v2: one block some positions ---------------------------------------------------------------

constexpr int v2_threads = 256, v2_pairs = 64, v2_rotations = 1024;

/// How the work is cut into blocks. A block takes `positions` of those given by `pairs` of d_k/2,
/// at most v2_rotations of them, for `heads` of the innermost axis that shares these positions.
struct RopeTiles {
  int positions, pairs;
  std::int64_t heads;
  std::int64_t across, along, parts, outer;    // blocks: pairs, positions, heads, axes further out
  std::int64_t all_heads, x_stride, y_stride;  // the innermost axis, in batches
};

/// N elements of x move at a time, an even number that divides d_k.
template <class T, int N>
__global__ void __launch_bounds__(v2_threads, 3)
    rope_v2(const T* __restrict__ x, const std::int64_t* __restrict__ token_positions,
            T* __restrict__ y, RopeSizes sizes, RopeTiles tiles, double theta,
            std::int64_t max_seq_len, WrongIndex* wrong) {
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
      static_cast<int>(min(sizes.d_k / 2 - first_pair, static_cast<std::int64_t>(tiles.pairs)));
  const int positions = static_cast<int>(
      min(sizes.positions - first_position, static_cast<std::int64_t>(tiles.positions)));
  const int heads = static_cast<int>(min(tiles.all_heads - first_head, tiles.heads));

  for (int i = thread; i < positions; i += v2_threads) {
    position[i] = checked_position(token_positions, first_position + i, max_seq_len, wrong);
  }
  for (int k = thread; k < pairs; k += v2_threads) {
    divide_by[k] = divisor(theta, first_pair + k, sizes.d_k);
  }
  __syncthreads();
  for (int i = thread; i < positions * pairs; i += v2_threads) {
    rotation[i] = rotation_by<C>(position[i / pairs] / divide_by[i % pairs]);
  }
  __syncthreads();

  const std::int64_t part = sizes.seq * sizes.d_k;
  const int width = pairs * 2 / N;  // of a row, in vectors
  for (int item = thread; item < positions * width; item += v2_threads) {
    const int row = item / width, pair = item % width * (N / 2);
    Rotation<C> r[N / 2];
#pragma unroll
    for (int k = 0; k < N / 2; ++k) r[k] = rotation[row * pairs + pair + k];
    const std::int64_t own = (first_position + row) / sizes.seq;
    const std::int64_t at =
        (first_position + row) % sizes.seq * sizes.d_k + (first_pair + pair) * 2;
    const T* from = x + at +
                    part * (sizes.own.part(of_x, own) + sizes.shared.part(of_x, outer) +
                            first_head * tiles.x_stride);
    T* to = y + at +
            part * (sizes.own.part(of_y, own) + sizes.shared.part(of_y, outer) +
                    first_head * tiles.y_stride);
    for (int head = 0; head < heads; head += in_flight) {
      Vector<T, N> a[in_flight] = {};
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        if (head + v < heads) a[v] = load_vector<N>(from + v * tiles.x_stride * part);
      }
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        if (head + v >= heads) continue;
#pragma unroll
        for (int k = 0; k < N; k += 2) rotate(a[v].element[k], a[v].element[k + 1], r[k / 2]);
        store_vector(to + v * tiles.y_stride * part, a[v]);
      }
      from += in_flight * tiles.x_stride * part;
      to += in_flight * tiles.y_stride * part;
    }
  }
}

[[maybe_unused]] RopeTiles rope_tiles(const RopeSizes& sizes) {
  constexpr std::int64_t one = 1;
  RopeTiles tiles{};
  const RopeAxes& shared = sizes.shared;
  const bool shares = shared.count > 0 && shared.size > 0;
  const int inner = shared.count - 1;
  tiles.all_heads = shares ? shared.extent[inner] : shared.size;
  tiles.x_stride = shares ? shared.stride[of_x][inner] : 0;
  tiles.y_stride = shares ? shared.stride[of_y][inner] : 0;
  tiles.outer = shares ? shared.size / tiles.all_heads : 1;

  // Where nothing is to be turned, one block a tile still looks at the positions.
  tiles.pairs = static_cast<int>(std::clamp<std::int64_t>(sizes.d_k / 2, 1, v2_pairs));
  tiles.positions = v2_rotations / tiles.pairs;
  tiles.across = std::max(one, ceil_div(sizes.d_k / 2, tiles.pairs));
  tiles.along = ceil_div(sizes.positions, tiles.positions);
  // Few positions: their heads are spread over blocks until these fill a device. Each of them has
  // the table to make, so none has fewer than 8.
  constexpr std::int64_t enough_blocks = 512;
  const std::int64_t blocks = std::max(one, tiles.across * tiles.along * tiles.outer);
  tiles.parts = std::clamp(enough_blocks / blocks, one, std::max(one, tiles.all_heads / 8));
  // Heads of a block are counted by an int.
  tiles.parts = std::max(tiles.parts, ceil_div(tiles.all_heads, 1 << 30));
  tiles.heads = ceil_div(tiles.all_heads, tiles.parts);
  return tiles;
}

template <int N, class T>
void launch_rope_v2(View<const T> x, View<const std::int64_t> token_positions, double theta,
                    std::int64_t max_seq_len, Stream stream, View<T> y) {
  const RopeSizes sizes = rope_sizes(x, token_positions, y);
  const RopeTiles tiles = rope_tiles(sizes);
  const WrongValue wrong(stream);
  launch({"rope v2", tiles.across * tiles.along * tiles.parts * tiles.outer, v2_threads, stream},
         rope_v2<T, N>, x.data(), token_positions.data(), y.data(), sizes, tiles, theta,
         max_seq_len, wrong.first());
  throw_if_wrong(wrong, token_positions.data(), max_seq_len);
}

template <class T>
void launch_rope(View<const T> x, View<const std::int64_t> token_positions, double theta,
                 std::int64_t max_seq_len, Stream stream, View<T> y) {
  constexpr int wide = vector_width<T>;
  if (x.shape().back() % wide == 0) {
    launch_rope_v2<wide>(x, token_positions, theta, max_seq_len, stream, y);
  } else {  // a pair at a time
    launch_rope_v2<2>(x, token_positions, theta, max_seq_len, stream, y);
  }
}

}  // namespace

PRENORM_CUDA_EXPORT(rope, launch_rope_v1, launch_rope)

}  // namespace prenorm::cuda
