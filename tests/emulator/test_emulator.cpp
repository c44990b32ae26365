// The emulator, by kernels that are written as for a device: indices, barriers, votes, shuffles,
// memory.
#include "emulator_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

using namespace prenorm::cuda;

namespace {

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
  const unsigned threads = block.x * block.y * block.z;
  for (unsigned i = 0; i < places.size(); ++i) {
    const unsigned t = i % threads, b = i / threads;  // x counts first
    const Place& p = places[i];
    BOOST_REQUIRE(p.thread.x == t % block.x && p.thread.y == t / block.x % block.y);
    BOOST_REQUIRE(p.thread.z == t / block.x / block.y && p.block.x == b % grid.x);
    BOOST_REQUIRE(p.block.y == b / grid.x % grid.y && p.block.z == b / grid.x / grid.y);
    BOOST_REQUIRE(p.block_dim.x == block.x && p.block_dim.y == block.y);
    BOOST_REQUIRE(p.block_dim.z == block.z && p.grid_dim.x == grid.x);
    BOOST_REQUIRE(p.grid_dim.y == grid.y && p.grid_dim.z == grid.z);
  }
}

// ---- barriers, votes, shuffles ------------------------------------------------------------------

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

BOOST_AUTO_TEST_SUITE_END()
