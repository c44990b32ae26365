// Tensor cores from sm_80 on, for 16-bit types: mma.sync, and ldmatrix and cp.async, which feed it.
// On a device each is its PTX instruction; the emulator has a twin of each.
//
// A fragment is a matrix spread over the registers of a warp. Lane 4 g + t holds, in pairs of
// neighbours (a register is two elements, the first in its lower half):
//
//     a  16 x 16   rows g, g + 8, g, g + 8   columns 2t, 2t, 2t + 8, 2t + 8 and the next
//     b  16 x 8    rows 2t, 2t + 8 and the next                column g
//     c  16 x 8    rows g, g, g + 8, g + 8   columns 2t, 2t + 1, 2t, 2t + 1 (float32)
//
// So two c side by side, narrowed, are an a.
#pragma once

#include "approximate.cuh"
#include "types.cuh"

#if !defined(__CUDACC__)
#include "emulator/warp_matrix.hpp"
#endif

namespace prenorm::cuda {

#if defined(__CUDACC__)
__device__ inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
#endif

/// The thread's number, but not so that the compiler knows it again. In a loop it then computes
/// places anew, in a few instructions, where it would keep some dozens of them in registers.
__device__ inline int thread_anew() {
  int thread = static_cast<int>(threadIdx.x);
#if defined(__CUDACC__)
  asm volatile("" : "+r"(thread));
#endif
  return thread;
}

/// Loads four 8 x 8 matrices from shared memory: the lane's register i becomes columns 2t and
/// 2t + 1 of row g of matrix i. Lane 8 i + r names, aligned to 16 bytes, row r of matrix i. By all
/// lanes of a warp.
__device__ inline void ldmatrix(unsigned (&to)[4], const void* row) {
#if defined(__CUDACC__)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
#else
  emulator::ldmatrix(to, row, false);
#endif
}

/// The same of the transposes: rows 2t and 2t + 1 of column g of matrix i.
__device__ inline void ldmatrix_transposed(unsigned (&to)[4], const void* row) {
#if defined(__CUDACC__)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
#else
  emulator::ldmatrix(to, row, true);
#endif
}

/// c += a b, for T float16 or bfloat16. By all lanes of a warp.
template <class T>
__device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if defined(__CUDACC__)
  if constexpr (std::is_same_v<T, float16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#else
  emulator::mma(c, a, {b0, b1}, T());
#endif
}

/// Two floats rounded to T, to nearest even, as a register of a fragment.
template <class T>
__device__ unsigned pack(float first, float second) {
#if defined(__CUDACC__)
  unsigned packed;
  if constexpr (std::is_same_v<T, float16>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  }
  return packed;
#else
  return narrow<T>(first).bits | static_cast<unsigned>(narrow<T>(second).bits) << 16;
#endif
}

/// Begins a copy of 16 bytes from global to shared memory, both aligned to that. Of `from` only the
/// first `bytes` are read, the others become 0.
__device__ inline void copy_async(void* to, const void* from, int bytes) {
#if defined(__CUDACC__)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
#else
  emulator::cp_async(to, from, static_cast<unsigned>(bytes));
#endif
}

/// Makes a group of the copies that this thread has begun since the last call.
__device__ inline void commit_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulator::commit_copies();
#endif
}

/// Waits until all but the newest `groups_left` groups of this thread's copies are complete. Only
/// this thread then sees them; others do after a barrier.
template <int groups_left>
__device__ void wait_for_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(groups_left) : "memory");
#else
  emulator::wait_for_copies(groups_left);
#endif
}

/// The largest probability, before the division by the sum, is 2 to this: so smaller ones still
/// have bits when rounded to float16. bfloat16 has the exponents of float32.
template <class T>
constexpr float headroom = std::is_same_v<T, float16> ? 12 : 0;

}  // namespace prenorm::cuda
