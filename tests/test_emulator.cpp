// The emulator, through kernels written as for a device.
#include "device.cuh"
#include "launch.cuh"
#include "mma.cuh"

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

using namespace prenorm::cuda;
using prenorm::bfloat16;
using prenorm::float16;
using prenorm::emulator::KernelError;

namespace {

constexpr unsigned all = 0xffffffffu;

/// Launches blocks of threads with a grid along x.
template <class... Parameters, class... Arguments>
void run(std::int64_t blocks, dim3 threads, void (*kernel)(Parameters...), Arguments... arguments) {
  launch({"planted", blocks, threads, {}}, kernel, arguments...);
}

/// The message of the KernelError that a launch throws.
template <class... Arguments>
std::string error_of(Arguments... arguments) {
  try {
    run(arguments...);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "no error";
}

// ---- indices ------------------------------------------------------------------------------------

struct Place {
  uint3 thread, block;
  dim3 block_dim, grid_dim;
};

__global__ void note_places(Place* places) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  places[block * blockDim.x * blockDim.y * blockDim.z + thread] = {threadIdx, blockIdx, blockDim,
                                                                   gridDim};
}

void check_places(dim3 grid, dim3 block) {
  std::vector<Place> places(grid.x * grid.y * grid.z * block.x * block.y * block.z);
  prenorm::emulator::run({"places", grid, block}, [&] { note_places(places.data()); });
  std::size_t i = 0;
  for (unsigned bz = 0; bz < grid.z; ++bz) {
    for (unsigned by = 0; by < grid.y; ++by) {
      for (unsigned bx = 0; bx < grid.x; ++bx) {
        for (unsigned tz = 0; tz < block.z; ++tz) {
          for (unsigned ty = 0; ty < block.y; ++ty) {
            for (unsigned tx = 0; tx < block.x; ++tx) {
              const Place& p = places[i++];
              BOOST_REQUIRE(p.thread.x == tx && p.thread.y == ty && p.thread.z == tz);
              BOOST_REQUIRE(p.block.x == bx && p.block.y == by && p.block.z == bz);
              BOOST_REQUIRE(p.block_dim.x == block.x && p.block_dim.y == block.y);
              BOOST_REQUIRE(p.block_dim.z == block.z && p.grid_dim.x == grid.x);
              BOOST_REQUIRE(p.grid_dim.y == grid.y && p.grid_dim.z == grid.z);
            }
          }
        }
      }
    }
  }
}

// ---- barriers, votes, shuffles ------------------------------------------------------------------

/// Neighbours pass values on around a ring, one step a barrier.
__global__ void ring(int* out, int steps) {
  __shared__ int values[1024];
  const unsigned i = threadIdx.x;
  values[i] = static_cast<int>(i);
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    const int taken = values[(i + 1) % blockDim.x];
    __syncthreads();
    values[i] = taken;
  }
  out[blockIdx.x * blockDim.x + i] = values[i];
}

__global__ void reduce_predicates(int* out, int below) {
  const int mine = static_cast<int>(threadIdx.x) < below;
  const int count = __syncthreads_count(mine * 7);
  const int every = __syncthreads_and(mine), some = __syncthreads_or(mine);
  out[threadIdx.x] = count * 4 + (every != 0) * 2 + (some != 0);
}

/// Every kind of shuffle, in groups of `width`, of values 100 + lane.
__global__ void shuffle_all(int* out, int width) {
  const int lane = static_cast<int>(threadIdx.x);
  int* mine = out + 5 * lane;
  mine[0] = __shfl_sync(all, 100 + lane, 3, width);
  mine[1] = __shfl_sync(all, 100 + lane, lane + 1, width);
  mine[2] = __shfl_xor_sync(all, 100 + lane, 2, width);
  mine[3] = __shfl_down_sync(all, 100 + lane, 3, width);
  mine[4] = __shfl_up_sync(all, 100 + lane, 1, width);
}

struct Pair {
  float a, b;
};

__global__ void shuffle_types(double* doubles, Pair* pairs, unsigned char* bytes) {
  const unsigned lane = threadIdx.x;
  doubles[lane] = __shfl_xor_sync(all, 1.0 / (1 + lane), 31);
  pairs[lane] = __shfl_sync(all, Pair{static_cast<float>(lane), -static_cast<float>(lane)}, 7);
  bytes[lane] = __shfl_down_sync(all, static_cast<unsigned char>(lane), 1u);
}

__global__ void vote_all(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned* mine = out + 5 * threadIdx.x;
  mine[0] = __ballot_sync(all, lane % 3 == 0);
  mine[1] = __any_sync(all, lane == 4) != 0;
  mine[2] = __all_sync(all, lane < 31) != 0;
  mine[3] = __all_sync(all, lane < 32) != 0;
  mine[4] = __activemask();
}

/// Halves of a warp that go separate ways, with a different number of operations.
__global__ void halves(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int sum = lane;
  if (lane < 16) {
    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0x0000ffffu, sum, d);
  } else {
    sum = __shfl_sync(0xffff0000u, sum, 20);
  }
  out[lane] = __shfl_sync(all, sum, 31 - lane);
}

/// Lanes from 20 on return at once; the others neither wait for them nor see what they had.
__global__ void some_return(unsigned* out) {
  if (threadIdx.x >= 20) return;
  out[threadIdx.x] = __ballot_sync(all, 1);
  out[threadIdx.x] += static_cast<unsigned>(__all_sync(all, 1));
  if (threadIdx.x < 16) {
    out[threadIdx.x] += __shfl_xor_sync(0xffffu, 100u * threadIdx.x, 15);
  }
}

/// As above, but they return only when the others already wait.
__global__ void some_return_late(unsigned* out) {
  if (threadIdx.x == 31) return;
  out[threadIdx.x] = __ballot_sync(all, threadIdx.x < 8);
}

// ---- memory -------------------------------------------------------------------------------------

__global__ void fill_shared(int* out) {
  __shared__ int fixed[64];
  auto* dynamic = dynamic_shared<int>();
  const int own = static_cast<int>(blockIdx.x * 1000 + threadIdx.x);
  fixed[threadIdx.x] = own;
  dynamic[threadIdx.x] = -own;
  __syncthreads();
  const unsigned other = 63 - threadIdx.x;
  out[global_thread()] = fixed[other] + dynamic[other] == 0 ? fixed[other] : -1;
}

__global__ void count_atomically(int* count, unsigned* most, int* least, double* sum) {
  const int i = static_cast<int>(global_thread());
  atomicAdd(count, 1);
  atomicMax(most, static_cast<unsigned>(i));
  atomicMin(least, -i);
  atomicAdd(sum, 0.5);
}

/// Each thread takes the lock in turn: an exchange of many steps, not one atomic.
__global__ void take_tickets(int* next, int* seen) {
  int ticket = atomicAdd(next, 0);
  while (true) {
    const int found = atomicCAS(next, ticket, ticket + 1);
    if (found == ticket) break;
    ticket = found;
  }
  seen[ticket] += 1;
}

/// The last block to finish adds up what all have written.
__global__ void sum_by_last_block(const float* x, float* partial, unsigned* done, float* y) {
  __shared__ bool last;
  const float sum = __shfl_sync(all, x[blockIdx.x], 0);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float total = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) total += partial[i];
  *y = total;
}

// ---- tensor cores, and what feeds them ----------------------------------------------------------

/// Where lane 4 g + t holds element i of fragment a, b or c, as the PTX ISA says it.
struct Element {
  unsigned row, column;
};
Element of_a(unsigned lane, unsigned i) {
  const bool lower = (i >= 2 && i < 4) || i >= 6, right = i >= 4;
  return {lane / 4 + (lower ? 8 : 0), lane % 4 * 2 + (i & 1) + (right ? 8 : 0)};
}
Element of_b(unsigned lane, unsigned i) {
  return {lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4};
}
Element of_c(unsigned lane, unsigned i) {
  return {lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + (i & 1)};
}

/// c[16, 8] += a[16, 16] b[16, 8], all row-major, every element put where the PTX ISA says.
template <class T>
__global__ void multiply_fragments(const T* a, const T* b, float* c) {
  const unsigned lane = threadIdx.x;
  std::array<T, 8> own_a;
  std::array<T, 4> own_b;
  float own_c[4];
  for (unsigned i = 0; i < 8; ++i) own_a[i] = a[of_a(lane, i).row * 16 + of_a(lane, i).column];
  for (unsigned i = 0; i < 4; ++i) own_b[i] = b[of_b(lane, i).row * 8 + of_b(lane, i).column];
  for (unsigned i = 0; i < 4; ++i) own_c[i] = c[of_c(lane, i).row * 8 + of_c(lane, i).column];
  const auto pair = [](T low, T high) { return low.bits | static_cast<unsigned>(high.bits) << 16; };
  const unsigned packed[4] = {pair(own_a[0], own_a[1]), pair(own_a[2], own_a[3]),
                              pair(own_a[4], own_a[5]), pair(own_a[6], own_a[7])};
  mma<T>(own_c, packed, pair(own_b[0], own_b[1]), pair(own_b[2], own_b[3]));
  for (unsigned i = 0; i < 4; ++i) c[of_c(lane, i).row * 8 + of_c(lane, i).column] = own_c[i];
}

/// The same with b given as two: [16, 16], row-major or transposed, so that c is [16, 16]; by
/// ldmatrix. Then c narrowed, times b once more: a c is an a.
template <class T>
__global__ void multiply_from_shared(const T* a, const T* b, bool transposed, float* c) {
  T* const shared = dynamic_shared<T>();
  for (unsigned i = threadIdx.x; i < 256; i += 32) {
    shared[i] = a[i];
    shared[256 + i] = b[i];
  }
  __syncwarp();
  const unsigned lane = threadIdx.x;
  unsigned own_a[4], own_b[4];
  ldmatrix(own_a, shared + lane % 16 * 16 + lane / 16 * 8);
  const T* const from = shared + 256;
  if (transposed) {  // rows of what is there are columns of b
    ldmatrix(own_b, from + (lane % 8 + lane / 16 * 8) * 16 + lane / 8 % 2 * 8);
  } else {
    ldmatrix_transposed(own_b, from + lane % 16 * 16 + lane / 16 * 8);
  }
  float own_c[2][4] = {}, again[2][4] = {};
  for (int j = 0; j < 2; ++j) mma<T>(own_c[j], own_a, own_b[2 * j], own_b[2 * j + 1]);
  const unsigned narrowed[4] = {
      pack<T>(own_c[0][0], own_c[0][1]), pack<T>(own_c[0][2], own_c[0][3]),
      pack<T>(own_c[1][0], own_c[1][1]), pack<T>(own_c[1][2], own_c[1][3])};
  for (int j = 0; j < 2; ++j) mma<T>(again[j], narrowed, own_b[2 * j], own_b[2 * j + 1]);
  for (unsigned j = 0; j < 2; ++j) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned at = of_c(lane, i).row * 16 + j * 8 + of_c(lane, i).column;
      c[at] = own_c[j][i];
      c[256 + at] = again[j][i];
    }
  }
}

/// Copies of 0 to 16 bytes: what is there before the wait, and after it.
__global__ void copy_partly(const unsigned char* x, unsigned char* before, unsigned char* after) {
  auto* const shared = dynamic_shared<unsigned char>() + 16 * threadIdx.x;
  x += 16 * threadIdx.x, before += 16 * threadIdx.x, after += 16 * threadIdx.x;
  copy_async(shared, x, static_cast<int>(threadIdx.x));
  for (int i = 0; i < 16; ++i) before[i] = shared[i];
  commit_copies();
  wait_for_copies<0>();
  for (int i = 0; i < 16; ++i) after[i] = shared[i];
}

/// Three groups, of one, none and two copies, and a copy of no group.
__global__ void copy_in_groups(const float* x, int* there) {
  auto* const shared = dynamic_shared<float>();
  const auto count = [&] {
    int copies = 0;
    for (int i = 0; i < 4; ++i) copies += shared[4 * i] == 1 ? 1 : 0;
    *there++ = copies;
  };
  copy_async(shared, x, 16);
  commit_copies();
  commit_copies();
  copy_async(shared + 4, x, 16);
  copy_async(shared + 8, x, 16);
  commit_copies();
  copy_async(shared + 12, x, 16);
  wait_for_copies<3>();
  count();
  wait_for_copies<2>();
  count();
  wait_for_copies<1>();
  count();
  wait_for_copies<0>();
  count();
  commit_copies();
  wait_for_copies<0>();
  count();
}

// ---- what goes wrong ----------------------------------------------------------------------------

__global__ void barrier_not_reached() {
  if (blockIdx.x == 2 && threadIdx.x == 40) return;
  __syncthreads();
}
__global__ void barrier_in_one_branch() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    for (int distance = 16; distance > 0; distance /= 2) {
      __shfl_xor_sync(all, 1, threadIdx.x < 48 ? 1 : 2);
    }
  }
}
__global__ void barrier_in_a_loop() {
  for (unsigned i = 0; i <= threadIdx.x / 32; ++i) __syncthreads();
}
__global__ void lane_not_in_mask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 20);
}
__global__ void lane_has_returned(int* out) {
  if (threadIdx.x >= 24) return;
  out[threadIdx.x] = __shfl_down_sync(all, 1, 8u);
}
__global__ void lane_does_not_exist(int* out) { out[threadIdx.x] = __shfl_xor_sync(all, 1, 16); }
__global__ void own_lane_left_out() { __shfl_sync(0x7fffffffu, 1, 0); }
__global__ void lane_never_comes() {
  if (threadIdx.x == 9) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}
__global__ void masks_that_differ() {
  __syncwarp(threadIdx.x == 0 ? all : 0xfffffffeu);
  __syncthreads();
}
__global__ void words_that_differ(int* out) {
  if (threadIdx.x % 2 == 0) {
    out[threadIdx.x] = __shfl_xor_sync(all, 1, 1);
  } else {
    out[threadIdx.x] = __shfl_down_sync(all, 1, 0u);
  }
}

__global__ void product_of_few_lanes() {
  if (threadIdx.x >= 24) return;
  float c[4] = {};
  mma<float16>(c, {}, 0, 0);
}
__global__ void product_that_a_lane_misses() {
  float c[4] = {};
  if (threadIdx.x != 9) mma<float16>(c, {}, 0, 0);
  __syncthreads();
}
__global__ void product_meets_a_load() {
  float c[4] = {};
  unsigned to[4];
  if (threadIdx.x < 8) {
    ldmatrix(to, dynamic_shared<float>());
  } else {
    mma<float16>(c, {}, 0, 0);
  }
}
__global__ void misaligned_row() {
  unsigned to[4];
  ldmatrix(to, dynamic_shared<float>() + (threadIdx.x == 3 ? 2 : 0));
}
__global__ void misaligned_copy(const float* x, bool to) {
  copy_async(dynamic_shared<float>() + (to ? 1 : 0), x + (to ? 0 : 1), 12);
}
__global__ void copy_of_more_than_16_bytes(const float* x) {
  copy_async(dynamic_shared<float>(), x, 20);
}
__global__ void never_waits(const float* x) {
  if (threadIdx.x != 2) return;
  for (int i = 0; i < 3; ++i) copy_async(dynamic_shared<float>() + 4 * i, x, 16);
  commit_copies();
  wait_for_copies<1>();
}

/// Counts those that live.
struct Counted {
  static inline std::atomic<int> alive = 0;
  Counted() { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }
};

__global__ void throws(unsigned thread) {
  const Counted here;
  const std::vector<int> heap(100);
  __syncthreads();
  if (blockIdx.x == 1 && threadIdx.x == thread) throw std::out_of_range("of the kernel's own");
  __syncthreads();
}
__global__ void launches_another(int* out) { run(1, 32, ring, out, 0); }
__global__ void nothing() {}

std::vector<int> ring_of(int threads, int steps) {
  std::vector<int> out(static_cast<std::size_t>(threads));
  run(1, static_cast<unsigned>(threads), ring, out.data(), steps);
  return out;
}

std::vector<int> ring_expected(int threads, int steps) {
  std::vector<int> out(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) out[static_cast<std::size_t>(i)] = (i + steps) % threads;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(emulator)

BOOST_AUTO_TEST_CASE(indices_in_one_two_and_three_dimensions) {
  check_places({1}, {1});
  check_places({5}, {70});
  check_places({3, 4}, {8, 6});
  check_places({2, 3, 4}, {3, 5, 7});
  check_places({1, 1, 2}, {1, 1, 64});
}

BOOST_AUTO_TEST_CASE(a_barrier_holds_all_threads_of_a_block) {
  for (const int threads : {1, 2, 31, 32, 33, 100, 1024}) {
    BOOST_TEST(ring_of(threads, 5) == ring_expected(threads, 5), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(barriers_that_count) {
  for (const int below : {0, 1, 45, 70}) {
    std::vector<int> out(70);
    run(1, 70, reduce_predicates, out.data(), below);
    const int expected = below * 4 + (below == 70) * 2 + (below > 0);
    BOOST_TEST(out == std::vector<int>(70, expected), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(shuffles_in_groups_of_every_width) {
  for (int width = 1; width <= 32; width *= 2) {
    std::vector<int> out(5 * 32);
    run(1, 32, shuffle_all, out.data(), width);
    for (int lane = 0; lane < 32; ++lane) {
      const int first = lane / width * width, last = first + width - 1;
      const int* mine = out.data() + 5 * lane;
      BOOST_TEST(mine[0] == 100 + first + 3 % width);
      BOOST_TEST(mine[1] == 100 + first + (lane + 1) % width);
      // As CUDA has it: a lane of a later group is not read, one of an earlier group is.
      BOOST_TEST(mine[2] == 100 + ((lane ^ 2) > last ? lane : (lane ^ 2)));
      BOOST_TEST(mine[3] == 100 + (lane + 3 > last ? lane : lane + 3));
      BOOST_TEST(mine[4] == 100 + (lane - 1 < first ? lane : lane - 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(shuffles_of_every_size) {
  std::vector<double> doubles(32);
  std::vector<Pair> pairs(32);
  std::vector<unsigned char> bytes(32);
  run(1, 32, shuffle_types, doubles.data(), pairs.data(), bytes.data());
  for (unsigned lane = 0; lane < 32; ++lane) {
    BOOST_TEST(doubles[lane] == 1.0 / (1 + (lane ^ 31)));
    BOOST_TEST(pairs[lane].a == 7);
    BOOST_TEST(pairs[lane].b == -7);
    BOOST_TEST(bytes[lane] == std::min(lane + 1, 31u));
  }
}

BOOST_AUTO_TEST_CASE(votes) {
  std::vector<unsigned> out(5 * 64);
  run(1, 64, vote_all, out.data());
  unsigned thirds = 0;
  for (unsigned lane = 0; lane < 32; lane += 3) thirds |= 1u << lane;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::vector<unsigned> mine(out.begin() + static_cast<std::ptrdiff_t>(5 * i),
                                     out.begin() + static_cast<std::ptrdiff_t>(5 * i + 4));
    BOOST_TEST(mine == (std::vector<unsigned>{thirds, 1, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST((out[5 * i + 4] >> i % 32 & 1u) == 1u);
  }
}

BOOST_AUTO_TEST_CASE(groups_of_a_warp_go_separate_ways) {
  std::vector<int> out(32);
  run(1, 32, halves, out.data());
  for (std::size_t lane = 0; lane < 32; ++lane) BOOST_TEST(out[lane] == (lane < 16 ? 20 : 120));
}

BOOST_AUTO_TEST_CASE(a_partial_warp) {
  // 40 threads: the second warp has 8, and a full mask names lanes that do not exist.
  std::vector<unsigned> out(5 * 40);
  run(1, 40, vote_all, out.data());
  BOOST_TEST(out[5 * 39] == 0b01001001u);
  BOOST_TEST(out[5 * 39 + 3] == 1u);
}

BOOST_AUTO_TEST_CASE(threads_that_have_returned_are_not_waited_for) {
  std::vector<unsigned> out(32, 5);
  run(1, 32, some_return, out.data());
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned votes = 0xfffffu + 1 + (lane < 16 ? 100 * (lane ^ 15) : 0);
    BOOST_TEST(out[lane] == (lane < 20 ? votes : 5));
  }
  run(1, 32, some_return_late, out.data());
  for (unsigned lane = 0; lane < 31; ++lane) BOOST_TEST(out[lane] == 0xffu);
}

BOOST_AUTO_TEST_CASE(shared_memory_is_the_blocks_own) {
  std::vector<int> out(1000 * 64);
  launch({"fill", 1000, 64, {}, 64 * sizeof(int)}, fill_shared, out.data());
  for (int block = 0; block < 1000; ++block) {
    for (int thread = 0; thread < 64; ++thread) {
      BOOST_REQUIRE(out[static_cast<std::size_t>(block * 64 + thread)] ==
                    block * 1000 + 63 - thread);
    }
  }
}

BOOST_AUTO_TEST_CASE(atomics_over_a_thousand_blocks) {
  int count = 0, least = 0;
  unsigned most = 0;
  double sum = 0;
  run(1000, 64, count_atomically, &count, &most, &least, &sum);
  BOOST_TEST(count == 64000);
  BOOST_TEST(most == 63999u);
  BOOST_TEST(least == -63999);
  BOOST_TEST(sum == 32000);
}

BOOST_AUTO_TEST_CASE(compare_and_swap_gives_every_thread_one_ticket) {
  int next = 0;
  std::vector<int> seen(100 * 64);
  run(100, 64, take_tickets, &next, seen.data());
  BOOST_TEST(next == 6400);
  BOOST_TEST(seen == std::vector<int>(6400, 1), boost::test_tools::per_element());
}

#if !defined(__SANITIZE_THREAD__)  // which knows no fences
BOOST_AUTO_TEST_CASE(one_block_is_the_last) {
  std::vector<float> x(500), partial(500);
  std::iota(x.begin(), x.end(), 1.0f);
  for (int round = 0; round < 3; ++round) {
    unsigned done = 0;
    float y = 0;
    run(500, 32, sum_by_last_block, x.data(), partial.data(), &done, &y);
    BOOST_TEST(y == 500 * 501 / 2);
  }
}
#endif

/// Small whole numbers, whose sums are exact, and most of them different.
template <class T>
std::vector<T> numbers(std::size_t count, std::size_t step) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = T(static_cast<float>(i * step % 31) - 15);
  return values;
}

/// a[rows, 16] b[16, columns], b by its strides.
template <class A, class B>
std::vector<float> product(const std::vector<A>& a, const std::vector<B>& b, std::size_t b_row,
                           std::size_t b_column, std::size_t columns) {
  std::vector<float> c(a.size() / 16 * columns);
  for (std::size_t i = 0; i < c.size(); ++i) {
    for (std::size_t k = 0; k < 16; ++k) {
      c[i] += static_cast<float>(a[i / columns * 16 + k]) *
              static_cast<float>(b[k * b_row + i % columns * b_column]);
    }
  }
  return c;
}

template <class T>
void check_products() {
  const std::vector<T> a = numbers<T>(256, 7), b = numbers<T>(128, 11);
  std::vector<float> c(128, 0.5f), expected = product(a, b, 8, 1, 8);
  for (float& value : expected) value += 0.5f;
  run(1, 32, multiply_fragments<T>, a.data(), b.data(), c.data());
  BOOST_TEST(c == expected, boost::test_tools::per_element());

  const std::vector<T> square = numbers<T>(256, 5);
  for (const bool transposed : {false, true}) {
    const std::size_t row = transposed ? 1 : 16, column = transposed ? 16 : 1;
    expected = product(a, square, row, column, 16);
    std::vector<T> narrowed;
    for (const float value : expected) narrowed.push_back(T(value));
    const std::vector<float> again = product(narrowed, square, row, column, 16);
    expected.insert(expected.end(), again.begin(), again.end());
    c.assign(512, 0);
    launch({"planted", 1, 32, {}, 512 * sizeof(T)}, multiply_from_shared<T>, a.data(),
           square.data(), transposed, c.data());
    BOOST_TEST(c == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(products_of_fragments) {
  check_products<float16>();
  check_products<bfloat16>();
}

BOOST_AUTO_TEST_CASE(copies_are_there_after_the_wait) {
  std::vector<unsigned char> x(17 * 16), before(x.size()), after(x.size());
  std::iota(x.begin(), x.end(), static_cast<unsigned char>(1));
  launch({"planted", 1, 17, {}, x.size()}, copy_partly, x.data(), before.data(), after.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    BOOST_TEST(before[i] == 0xff);
    BOOST_TEST(after[i] == (i % 16 < i / 16 ? x[i] : 0));
  }
}

BOOST_AUTO_TEST_CASE(groups_of_copies) {
  alignas(16) const float x[4] = {1, 1, 1, 1};
  std::vector<int> there(5);
  launch({"planted", 1, 1, {}, 64}, copy_in_groups, x, there.data());
  BOOST_TEST(there == (std::vector<int>{0, 1, 1, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_blocks_are_no_launch) {
  run(0, 32, nothing);
  launch({"nothing", 3, 32, {}, 0, 0}, nothing);
}

BOOST_AUTO_TEST_CASE(a_launch_that_no_device_takes) {
  const auto refused = [](const std::string& words) {
    return [words](const std::invalid_argument& error) {
      BOOST_TEST(error.what() == "kernel planted: " + words);
      return true;
    };
  };
  BOOST_CHECK_EXCEPTION(
      run(1, 1025, nothing), std::invalid_argument,
      refused("a block of (1025, 1, 1) threads; there may be 1024, 64 of them along z"));
  BOOST_CHECK_EXCEPTION(
      run(1, dim3(1, 1, 65), nothing), std::invalid_argument,
      refused("a block of (1, 1, 65) threads; there may be 1024, 64 of them along z"));
  BOOST_CHECK_EXCEPTION(
      run(1, dim3(32, 0), nothing), std::invalid_argument,
      refused("a block of (32, 0, 1) threads; there may be 1024, 64 of them along z"));
  BOOST_CHECK_EXCEPTION(
      launch({"planted", 1, 32, {}, 0, 65536}, nothing), std::invalid_argument,
      refused("a grid of (1, 65536, 1) blocks; there may be (2147483647, 65535, 65535)"));
  BOOST_CHECK_EXCEPTION(launch({"planted", 1, 32, {}, (99 << 10) + 1}, nothing),
                        std::invalid_argument,
                        refused("101377 bytes of shared memory; there are 101376"));
  BOOST_CHECK_THROW(run(std::int64_t{1} << 31, 32, nothing), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(barriers_that_not_all_threads_reach) {
  BOOST_TEST(error_of(3, 64, barrier_not_reached) ==
             "kernel planted, block (2, 0, 0), thread (0, 0, 0): __syncthreads is reached by 63 of "
             "64 threads: thread (40, 0, 0) has returned");
  BOOST_TEST(error_of(1, 64, barrier_in_one_branch) ==
             "kernel planted, block (0, 0, 0), thread (0, 0, 0): __syncthreads is reached by 32 of "
             "64 threads: thread (32, 0, 0) has returned");
  BOOST_TEST(
      error_of(1, 64, barrier_in_a_loop) ==
      "kernel planted, block (0, 0, 0), thread (32, 0, 0): __syncthreads is reached by 32 of "
      "64 threads: thread (0, 0, 0) has returned");
}

BOOST_AUTO_TEST_CASE(lanes_that_take_no_part) {
  std::vector<int> out(64);
  int* at = out.data();
  const std::string here = "kernel planted, block (0, 0, 0), thread ";
  BOOST_TEST(error_of(1, 32, lane_not_in_mask, at) ==
             here + "(0, 0, 0): __shfl_sync reads lane 20, which is not in its mask");
  BOOST_TEST(error_of(1, 32, lane_has_returned, at) ==
             here + "(16, 0, 0): __shfl_down_sync reads lane 24, which has returned");
  BOOST_TEST(error_of(1, 16, lane_does_not_exist, at) ==
             here + "(0, 0, 0): __shfl_xor_sync reads lane 16, which does not exist");
  BOOST_TEST(error_of(1, 64, own_lane_left_out) ==
             here + "(31, 0, 0): __shfl_sync: the thread is lane 31, which its mask leaves out");
  BOOST_TEST(error_of(1, 32, lane_never_comes) ==
             here +
                 "(0, 0, 0): __syncwarp names lane 9, which never takes part: it waits at "
                 "__syncthreads");
  BOOST_TEST(
      error_of(1, 32, masks_that_differ) ==
      here +
          "(0, 0, 0): __syncwarp names lane 1, which never takes part: it waits at __syncthreads");
  BOOST_TEST(error_of(1, 32, words_that_differ, at) ==
             here +
                 "(0, 0, 0): __shfl_xor_sync meets __shfl_down_sync of another lane of its mask");
}

BOOST_AUTO_TEST_CASE(operations_of_whole_warps) {
  const std::string here = "kernel planted, block (0, 0, 0), thread ";
  BOOST_TEST(error_of(1, 32, product_of_few_lanes) ==
             here + "(0, 0, 0): mma.sync needs lane 24, which has returned");
  BOOST_TEST(error_of(1, 20, product_of_few_lanes) ==
             here + "(0, 0, 0): mma.sync needs lane 20, which does not exist");
  BOOST_TEST(error_of(1, 32, product_that_a_lane_misses) ==
             here +
                 "(0, 0, 0): mma.sync names lane 9, which never takes part: it waits at "
                 "__syncthreads");
  BOOST_TEST(error_of(1, 32, product_meets_a_load) ==
             here + "(0, 0, 0): ldmatrix meets mma.sync of another lane of its mask");
}

BOOST_AUTO_TEST_CASE(copies_and_rows_that_no_device_takes) {
  alignas(16) const float x[8] = {};
  const auto error = [](auto... arguments) {
    try {
      launch({"planted", 1, 32, {}, 64}, arguments...);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string here = "kernel planted, block (0, 0, 0), thread ";
  BOOST_TEST(error(misaligned_row) ==
             here + "(3, 0, 0): the row of an ldmatrix is not aligned to 16 bytes");
  BOOST_TEST(error(misaligned_copy, x, true) ==
             here + "(0, 0, 0): where a cp.async writes is not aligned to 16 bytes");
  BOOST_TEST(error(misaligned_copy, x, false) ==
             here + "(0, 0, 0): what a cp.async reads is not aligned to 16 bytes");
  BOOST_TEST(error(copy_of_more_than_16_bytes, x) ==
             here + "(0, 0, 0): a cp.async reads 20 bytes, of 16");
  BOOST_TEST(error(never_waits, x) ==
             here +
                 "(2, 0, 0): returns with 3 copies by cp.async under way, for which it has not "
                 "waited");
}

BOOST_AUTO_TEST_CASE(an_error_names_the_thread_in_three_dimensions) {
  BOOST_TEST(error_of(1, dim3(4, 4, 2), own_lane_left_out) ==
             "kernel planted, block (0, 0, 0), thread (3, 3, 1): __shfl_sync: the thread is lane "
             "31, which its mask leaves out");
}

BOOST_AUTO_TEST_CASE(words_outside_of_a_kernel) {
  BOOST_CHECK_THROW(__syncthreads(), KernelError);
  BOOST_CHECK_THROW(__shfl_sync(all, 1, 0), KernelError);
  BOOST_CHECK_THROW(dynamic_shared<int>(), KernelError);
}

BOOST_AUTO_TEST_CASE(an_exception_leaves_the_launch_and_no_thread_stays_behind) {
  for (const unsigned thread : {0u, 17u, 63u}) {
    BOOST_CHECK_THROW(run(3, 64, throws, thread), std::out_of_range);
    BOOST_TEST(Counted::alive == 0);
    // The next launch, with the same threads of the machine and other sizes, is none the worse.
    BOOST_TEST(ring_of(100, 3) == ring_expected(100, 3), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_failed_launch_leaves_no_trace) {
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(error_of(3, 64, barrier_not_reached) != "no error");
    BOOST_TEST(error_of(1, 32, lane_never_comes) != "no error");
    BOOST_TEST(ring_of(1024, 2) == ring_expected(1024, 2), boost::test_tools::per_element());
  }
  BOOST_TEST(prenorm::emulator::where() == "");
}

BOOST_AUTO_TEST_CASE(a_kernel_launches_no_kernel) {
  std::vector<int> out(32);
  BOOST_TEST(error_of(1, 32, launches_another, out.data()) ==
             "kernel planted, block (0, 0, 0), thread (0, 0, 0): launches kernel planted, which no "
             "kernel may here");
}

BOOST_AUTO_TEST_SUITE_END()
