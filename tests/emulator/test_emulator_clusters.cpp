// The emulator: clusters of blocks that read each other's shared memory.
#include "cluster.cuh"
#include "emulator_testing.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <numeric>

using namespace prenorm::cuda;

namespace {

/// How many allocations until one fails; below 0: none does.
std::atomic<int> until_failure = -1;

}  // namespace

/// In place of the library's, which the emulator has shared memory from.
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (until_failure >= 0 && until_failure-- == 0) return ENOMEM;
  *memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *memory == nullptr ? ENOMEM : 0;
}

namespace {

constexpr unsigned threads = 40;

/// Each thread reads what that of the next block of its cluster wrote.
__global__ void next_of_cluster(int* out, unsigned blocks) {
  int* const own = dynamic_shared<int>();
  const unsigned thread = threadIdx.x, rank = blockIdx.x % blocks;
  own[thread] = static_cast<int>(global_thread());
  cluster_barrier();
  out[global_thread()] = cluster_peer(own, (rank + 1) % blocks)[thread];
  cluster_barrier();
}

__global__ void beyond_the_cluster() { cluster_peer(dynamic_shared<int>(), 2); }
__global__ void not_shared(int* out) { cluster_peer(out, blockIdx.x); }
__global__ void has_returned() {
  if (blockIdx.x == 1) return;
  cluster_barrier();
  cluster_peer(dynamic_shared<int>(), 1);
}
__global__ void one_block_throws() {
  if (blockIdx.x == 2) throw std::out_of_range("of the kernel's own");
  cluster_barrier();
}

template <class... Parameters, class... Arguments>
void run_clusters(std::int64_t blocks, unsigned cluster, std::size_t shared,
                  void (*kernel)(Parameters...), Arguments... arguments) {
  launch({.kernel = "planted",
          .blocks = blocks,
          .threads = threads,
          .stream = {},
          .shared_bytes = shared,
          .cluster = cluster},
         kernel, arguments...);
}

auto says(const std::string& words) {
  return [words](const prenorm::emulator::KernelError& error) {
    BOOST_TEST(std::string(error.what()).ends_with(words), error.what());
    return true;
  };
}

std::vector<int> next_of_clusters(unsigned blocks, unsigned cluster) {
  std::vector<int> out(blocks * threads);
  run_clusters(blocks, cluster, threads * sizeof(int), next_of_cluster, out.data(), cluster);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(emulator)

BOOST_AUTO_TEST_CASE(blocks_of_a_cluster_read_each_other) {
  for (const unsigned cluster : {1u, 2u, 8u}) {
    const std::vector<int> out = next_of_clusters(24, cluster);
    for (unsigned i = 0; i < out.size(); ++i) {
      const unsigned block = i / threads, next = (block + 1) % cluster + block / cluster * cluster;
      BOOST_REQUIRE(out[i] == static_cast<int>(next * threads + i % threads));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_cluster_has_not) {
  int out = 0;
  using prenorm::emulator::KernelError;
  BOOST_CHECK_EXCEPTION(run_clusters(4, 2, 64, beyond_the_cluster), KernelError,
                        says("asks for block 2 of a cluster of 2"));
  BOOST_CHECK_EXCEPTION(run_clusters(2, 2, 64, not_shared, &out), KernelError,
                        says("asks another block for what is not in dynamic shared memory"));
  BOOST_CHECK_EXCEPTION(
      run_clusters(2, 2, 64, has_returned), KernelError,
      says("asks for shared memory of block 1 of its cluster, which has returned"));
  BOOST_CHECK_THROW(run_clusters(5, 2, 64, one_block_throws), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_others_of_a_cluster_do_not_wait_for_a_block_that_fails) {
  BOOST_CHECK_THROW(run_clusters(4, 4, 64, one_block_throws), std::out_of_range);
  // Each of the blocks, whose shared memory is of a size that none had before, cannot begin.
  for (int failing = 0; failing < 4; ++failing) {
    std::vector<int> out(4 * threads);
    until_failure = failing;
    BOOST_CHECK_THROW(run_clusters(4, 4, 2000 + 16 * static_cast<std::size_t>(failing),
                                   next_of_cluster, out.data(), 4u),
                      std::bad_alloc);
    until_failure = -1;
    BOOST_TEST(next_of_clusters(4, 4).front() == static_cast<int>(threads));
  }
}

BOOST_AUTO_TEST_SUITE_END()
