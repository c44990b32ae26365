// The emulator: what is wrong is said with kernel, block and thread, and leaves no trace.
#include "emulator_testing.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <vector>

using namespace prenorm::cuda;
using prenorm::emulator::KernelError;

namespace {

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

}  // namespace

BOOST_AUTO_TEST_SUITE(emulator)

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
  BOOST_CHECK_EXCEPTION(launch({"planted", 2, 32, {}, (227 << 10) + 1, 1, 2}, nothing),
                        std::invalid_argument,
                        refused("232449 bytes of shared memory; there are 232448"));
  BOOST_CHECK_THROW(run(std::int64_t{1} << 31, 32, nothing), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(barriers_that_not_all_threads_reach) {
  BOOST_TEST(error_of(3, 64, barrier_not_reached) ==
             "kernel planted, block (2, 0, 0), thread (0, 0, 0): __syncthreads is reached by 63 of "
             "64 threads: thread (40, 0, 0) has returned");
  BOOST_TEST(
      error_of(1, 64, barrier_in_one_branch) ==
      in_thread(0, "__syncthreads is reached by 32 of 64 threads: thread (32, 0, 0) has returned"));
  BOOST_TEST(
      error_of(1, 64, barrier_in_a_loop) ==
      in_thread(32, "__syncthreads is reached by 32 of 64 threads: thread (0, 0, 0) has returned"));
}

BOOST_AUTO_TEST_CASE(lanes_that_take_no_part) {
  std::vector<int> out(64);
  int* at = out.data();
  BOOST_TEST(error_of(1, 32, lane_not_in_mask, at) ==
             in_thread(0, "__shfl_sync reads lane 20, which is not in its mask"));
  BOOST_TEST(error_of(1, 32, lane_has_returned, at) ==
             in_thread(16, "__shfl_down_sync reads lane 24, which has returned"));
  BOOST_TEST(error_of(1, 16, lane_does_not_exist, at) ==
             in_thread(0, "__shfl_xor_sync reads lane 16, which does not exist"));
  BOOST_TEST(error_of(1, 64, own_lane_left_out) ==
             in_thread(31, "__shfl_sync: the thread is lane 31, which its mask leaves out"));
  BOOST_TEST(
      error_of(1, 32, lane_never_comes) ==
      in_thread(0, "__syncwarp names lane 9, which never takes part: it waits at __syncthreads"));
  BOOST_TEST(
      error_of(1, 32, masks_that_differ) ==
      in_thread(0, "__syncwarp names lane 1, which never takes part: it waits at __syncthreads"));
  BOOST_TEST(error_of(1, 32, words_that_differ, at) ==
             in_thread(0, "__shfl_xor_sync meets __shfl_down_sync of another lane of its mask"));
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
             in_thread(0, "launches kernel planted, which no kernel may here"));
}

BOOST_AUTO_TEST_SUITE_END()
