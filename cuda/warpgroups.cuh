// What the kernels for Hopper have in common (attention_wgmma.cu, linear_wgmma.cu): a block is
// three warpgroups, a producer and two consumers of 64 rows each, with rings of stages between
// them:
//
//   producer --- TMA ---> [ stage 0 | stage 1 | ... ] --- wgmma ---> consumers
//            full: the producer's arrival and all bytes -->
//            <-- empty: each warp of the consumers is done
//
// Each stage has these two barriers, which complete a phase each time. Use u = 0, 1, ... of a
// stage: the consumers wait for phase u of `full`, and the producer, before it fills the stage, for
// phase u - 1 of `empty`. The parity of a phase is u % 2.
#pragma once

#include "wgmma.cuh"

namespace prenorm::cuda {

constexpr int warpgroup = 128;  // threads
constexpr int consumers = 2;    // warpgroups
constexpr int consumer_rows = 64;
constexpr int consumer_warps = consumers * warpgroup / 32;
constexpr int warp_rows = 16;  // of a consumer's warp, by wgmma's layout

/// Registers per thread: at the launch 65536 / 384, rounded down to a multiple of 8, is 168. The
/// consumers take what the producer gives back.
template <int producer, int consumer>
constexpr bool registers_fit = producer + consumers* consumer == (1 + consumers) * 168;

/// A stage of a ring of n, and the parity of its phase.
template <int n>
struct Stage {
  int index = 0;
  unsigned parity = 0;
  __device__ Stage next() const {
    return index + 1 < n ? Stage{index + 1, parity} : Stage{0, parity ^ 1};
  }
};

/// A consumer's thread: wgmma's layout of 64 rows (wgmma.cuh).
struct Lane {
  int consumer, warp, lane;
  __device__ Lane(int consumer_, int thread)
      : consumer(consumer_), warp(thread / 32), lane(thread % 32) {}
  __device__ int number() const { return consumer * (warpgroup / 32) + warp; }   // of the warp
  __device__ int row(int r) const { return lane / 4 + 8 * r; }                   // of it; r = 0, 1
  __device__ int column(int group) const { return 8 * group + 2 * (lane % 4); }  // and the next
};

/// A block's dynamic shared memory, from a multiple of its alignment on: that is as many bytes
/// more.
template <class Shared>
__device__ Shared& aligned_shared() {
  auto* const memory = dynamic_shared<unsigned char>();
  return *reinterpret_cast<Shared*>(memory + -shared_address(memory) % alignof(Shared));
}
template <class Shared>
constexpr std::size_t aligned_bytes = sizeof(Shared) + alignof(Shared);

}  // namespace prenorm::cuda
