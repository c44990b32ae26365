// Kernels with a bug planted in each, and some without, for what is found only while the process
// watches itself: `planted NAME` runs one. test_planted.py says which build finds which.
//
// What the emulator finds by itself is in test_emulator.cpp.
#include "device.cuh"
#include "launch.cuh"
#include "mma.cuh"

#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace prenorm::cuda;

namespace {

constexpr int threads = 64, blocks = 2, n = threads * blocks;

// ---- out of bounds (AddressSanitizer; static shared arrays: UndefinedBehaviorSanitizer) ---------

__global__ void reads_beyond_global(const float* x, float* y) {
  const auto i = global_thread();
  y[i] = x[i + 1];
}

__global__ void writes_beyond_global(const float* x, float* y) {
  const auto i = global_thread();
  y[i + 1] = x[i];
}

__global__ void reads_beyond_dynamic_shared(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();  // of 64 elements
  shared[threadIdx.x] = x[global_thread()];
  __syncthreads();
  y[global_thread()] = shared[threadIdx.x + (blockIdx.x == 1 ? 1 : 0)];
}

__global__ void writes_beyond_dynamic_shared(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  shared[threadIdx.x + (blockIdx.x == 1 ? 1 : 0)] = x[global_thread()];
  __syncthreads();
  y[global_thread()] = shared[threadIdx.x];
}

__global__ void loads_rows_beyond_dynamic_shared(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  shared[threadIdx.x] = x[global_thread()];
  __syncthreads();
  unsigned to[4];
  ldmatrix(to, shared + threadIdx.x % 16 * 4 + (blockIdx.x == 1 && threadIdx.x == 63 ? 4 : 0));
  y[global_thread()] = static_cast<float>(to[0]);
}

__global__ void copies_beyond_global(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  if (threadIdx.x % 4 == 3) {  // the last four are the step too far
    copy_async(shared + threadIdx.x - 3, x + global_thread() - (threadIdx.x < 63 ? 3 : 3 - 4), 16);
  }
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
  y[global_thread()] = shared[threadIdx.x];
}

__global__ void reads_beyond_static_shared(const float* x, float* y) {
  __shared__ float shared[threads];
  shared[threadIdx.x] = x[global_thread()];
  __syncthreads();
  y[global_thread()] = shared[threadIdx.x + (blockIdx.x == 1 ? 1 : 0)];
}

// ---- reads of what was never written (the checker) ----------------------------------------------

__global__ void reads_unwritten_static_shared(const float* x, float* y) {
  __shared__ float shared[threads];
  if (threadIdx.x != 5 || blockIdx.x == 0) shared[threadIdx.x] = x[global_thread()];
  __syncthreads();
  y[global_thread()] = shared[threads - 1 - threadIdx.x];  // thread 58 reads element 5
}

__global__ void reads_unwritten_dynamic_shared(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  if (threadIdx.x != 5 || blockIdx.x == 0) shared[threadIdx.x] = x[global_thread()];
  __syncthreads();
  y[global_thread()] = shared[threads - 1 - threadIdx.x];
}

__global__ void reads_half_written_shared(const float*, float* y) {
  __shared__ std::uint32_t words[threads];
  auto* halves = reinterpret_cast<std::uint16_t*>(words);
  halves[2 * threadIdx.x] = 1;
  if (threadIdx.x != 7) halves[2 * threadIdx.x + 1] = 1;
  __syncthreads();
  y[global_thread()] = static_cast<float>(words[threadIdx.x] & 1);
}

__global__ void atomic_on_unwritten_shared(const float*, float* y) {
  __shared__ unsigned count;
  atomicAdd(&count, 1u);
  __syncthreads();
  y[global_thread()] = static_cast<float>(count);
}

/// Waits for the copies after it has read what they bring.
__global__ void reads_before_a_copy_is_there(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  float sum = 0;
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x % 4 == 0) copy_async(shared + threadIdx.x, x + global_thread(), 16);
    commit_copies();
    if (round == 0) wait_for_copies<0>();
    __syncthreads();
    sum += shared[threadIdx.x ^ 1];
    __syncthreads();
    wait_for_copies<0>();
  }
  y[global_thread()] = sum;
}

__global__ void loads_unwritten_rows(const float*, float* y) {
  auto* shared = dynamic_shared<std::uint16_t>();  // of 16 rows of 8
  unsigned to[4];
  if (threadIdx.x < 64 && threadIdx.x != 5) shared[threadIdx.x] = 1;
  __syncthreads();
  ldmatrix(to, shared + threadIdx.x % 8 * 8);
  y[global_thread()] = static_cast<float>(to[0]);
}

// ---- races (ThreadSanitizer) --------------------------------------------------------------------

__global__ void races_in_static_shared(const float* x, float* y) {
  __shared__ float shared[threads];
  shared[threadIdx.x] = x[global_thread()];
  y[global_thread()] = shared[threads - 1 - threadIdx.x];  // no barrier before it
}

__global__ void races_in_dynamic_shared(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  for (int round = 0; round < 2; ++round) {
    shared[threadIdx.x] = x[global_thread()];
    __syncthreads();
    y[global_thread()] = shared[threads - 1 - threadIdx.x];
    // no barrier before the next round's write
  }
}

/// The barrier comes one statement too early.
__global__ void races_past_a_barrier(const float* x, float* y) {
  __shared__ float shared[threads];
  __syncthreads();
  shared[threadIdx.x] = x[global_thread()];
  y[global_thread()] = shared[threads - 1 - threadIdx.x];
  __syncthreads();
}

/// Lanes of a warp run in step on old devices only.
__global__ void races_within_a_warp(const float* x, float* y) {
  __shared__ float shared[threads];
  shared[threadIdx.x] = x[global_thread()];
  y[global_thread()] = shared[threadIdx.x ^ 1];  // no __syncwarp before it
}

/// A shuffle brings the lanes of its mask into order, not those of another group.
__global__ void races_between_groups_of_a_warp(const float* x, float* y) {
  __shared__ float shared[threads];
  const bool low = threadIdx.x % 32 < 16;
  shared[threadIdx.x] = x[global_thread()];
  __syncwarp(low ? 0x0000ffffu : 0xffff0000u);
  y[global_thread()] = shared[threadIdx.x ^ 16];
}

/// What a lane does after a shuffle is not in order with what another does after it.
__global__ void races_after_a_shuffle(const float* x, float* y) {
  __shared__ float shared[threads];
  const float value = __shfl_xor_sync(0xffffffffu, x[global_thread()], 1);
  shared[threadIdx.x] = value;
  const float other = __shfl_xor_sync(1u << threadIdx.x % 32, value, 0);
  y[global_thread()] = shared[threadIdx.x ^ 1] + other;
}

__global__ void races_in_global(const float* x, float* y) {
  const auto i = global_thread();
  y[i] = x[i];
  y[blockIdx.x * blockDim.x] += y[i];
}

__global__ void races_between_blocks(const float* x, float* y) {
  if (threadIdx.x == 3) y[0] += x[global_thread()];
}

/// Blocks that lie far apart.
__global__ void races_between_distant_blocks(const float* x, float* y) {
  if (threadIdx.x == 3 && blockIdx.x % 16 == 1) y[0] += x[threadIdx.x];
}

/// Each thread waits for its own copies, but not for the others.
__global__ void races_with_a_copy(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  if (threadIdx.x % 4 == 0) copy_async(shared + threadIdx.x, x + global_thread(), 16);
  commit_copies();
  wait_for_copies<0>();
  y[global_thread()] = shared[threadIdx.x ^ 1];  // no barrier before it
}

/// The copy that begins is for what others still read; when it is waited for they have long read.
__global__ void races_with_the_next_copy(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  const auto copy = [&] {
    if (threadIdx.x % 4 == 0) copy_async(shared + threadIdx.x, x + global_thread(), 16);
    commit_copies();
  };
  copy();
  wait_for_copies<0>();
  __syncthreads();
  y[global_thread()] = shared[threads - 1 - threadIdx.x];
  copy();  // no barrier before it
  __syncthreads();
  wait_for_copies<0>();
}

/// ldmatrix brings no writes into order.
__global__ void races_with_ldmatrix(const float*, float* y) {
  auto* shared = dynamic_shared<std::uint16_t>() + threadIdx.x / 32 * 64;
  unsigned to[4];
  for (unsigned i = threadIdx.x % 32; i < 64; i += 32) shared[i] = 1;
  ldmatrix(to, shared + threadIdx.x % 8 * 8);  // no __syncwarp before it
  y[global_thread()] = static_cast<float>(to[0]);
}

// ---- none of all that ---------------------------------------------------------------------------

/// A reduction with barriers, done twice over the same shared memory.
__global__ void clean_reduction(const float* x, float* y) {
  __shared__ float shared[threads];
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    shared[threadIdx.x] = x[global_thread()];
    for (unsigned distance = threads / 2; distance > 0; distance /= 2) {
      __syncthreads();
      if (threadIdx.x < distance) shared[threadIdx.x] += shared[threadIdx.x + distance];
    }
    __syncthreads();
    y[global_thread()] = shared[0];
  }
}

__global__ void clean_shuffles(const float* x, float* y) {
  float sum = x[global_thread()];
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  y[global_thread()] = __any_sync(0xffffffffu, sum > 0) ? sum : 0;
}

/// Lanes exchange through shared memory, in order by __syncwarp; halves of a warp by themselves.
__global__ void clean_syncwarp(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();
  const unsigned half = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
  float value = x[global_thread()];
  for (unsigned bit = 1; bit < 16; bit *= 2) {
    shared[threadIdx.x] = value;
    __syncwarp(half);
    value += shared[threadIdx.x ^ bit];
    __syncwarp(half);
  }
  y[global_thread()] = value;
}

/// Two buffers in turn: while one is read, the next copy is under way. One product by a warp.
__global__ void clean_copies(const float* x, float* y) {
  auto* shared = dynamic_shared<float>();  // of 32 rows of 2, or of 16 rows of 8 halves
  const auto copy = [&](unsigned buffer) {
    if (threadIdx.x < 8) copy_async(shared + buffer * 32 + threadIdx.x * 4, x, 16);
    commit_copies();
  };
  float sum[4] = {};
  copy(0);
  for (unsigned round = 0; round < 4; ++round) {
    copy(1 - round % 2);
    wait_for_copies<1>();
    __syncthreads();
    unsigned a[4];
    ldmatrix(a, shared + round % 2 * 32 + threadIdx.x % 8 * 4);
    mma<prenorm::bfloat16>(sum, a, a[0], a[1]);
    __syncthreads();
  }
  wait_for_copies<0>();
  y[global_thread()] = sum[0];
}

/// The threads of a block count themselves.
__global__ void clean_atomics(const float* x, float* y) {
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1u);
  __syncthreads();
  y[global_thread()] = x[global_thread()] * static_cast<float>(count);
}

struct Planted {
  void (*kernel)(const float*, float*);
  int blocks = ::blocks;
};

const std::map<std::string, Planted> kernels{
#define PRENORM_PLANTED(name) std::pair<const std::string, Planted>(#name, {name})
    PRENORM_PLANTED(reads_beyond_global),
    PRENORM_PLANTED(writes_beyond_global),
    PRENORM_PLANTED(reads_beyond_dynamic_shared),
    PRENORM_PLANTED(writes_beyond_dynamic_shared),
    PRENORM_PLANTED(reads_beyond_static_shared),
    PRENORM_PLANTED(loads_rows_beyond_dynamic_shared),
    PRENORM_PLANTED(copies_beyond_global),
    PRENORM_PLANTED(reads_unwritten_static_shared),
    PRENORM_PLANTED(reads_unwritten_dynamic_shared),
    PRENORM_PLANTED(reads_half_written_shared),
    PRENORM_PLANTED(atomic_on_unwritten_shared),
    PRENORM_PLANTED(reads_before_a_copy_is_there),
    PRENORM_PLANTED(loads_unwritten_rows),
    PRENORM_PLANTED(races_in_static_shared),
    PRENORM_PLANTED(races_in_dynamic_shared),
    PRENORM_PLANTED(races_past_a_barrier),
    PRENORM_PLANTED(races_within_a_warp),
    PRENORM_PLANTED(races_between_groups_of_a_warp),
    PRENORM_PLANTED(races_after_a_shuffle),
    PRENORM_PLANTED(races_in_global),
    PRENORM_PLANTED(races_between_blocks),
    {"races_between_distant_blocks", {races_between_distant_blocks, 18}},
    PRENORM_PLANTED(races_with_a_copy),
    PRENORM_PLANTED(races_with_the_next_copy),
    PRENORM_PLANTED(races_with_ldmatrix),
    PRENORM_PLANTED(clean_reduction),
    PRENORM_PLANTED(clean_shuffles),
    PRENORM_PLANTED(clean_syncwarp),
    PRENORM_PLANTED(clean_atomics),
    PRENORM_PLANTED(clean_copies),
#undef PRENORM_PLANTED
};

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc == 2 ? kernels.find(argv[1]) : kernels.end();
  if (found == kernels.end()) {
    std::fprintf(stderr, "usage: planted NAME\n");
    return 2;
  }
  const auto& [name, planted] = *found;
  std::vector<float> x(n), y(n);
  std::iota(x.begin(), x.end(), 1.0f);
  try {
    launch({name.c_str(), planted.blocks, threads, {}, threads * sizeof(float)}, planted.kernel,
           x.data(), y.data());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("done\n");
}
