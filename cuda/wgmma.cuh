// Hopper's own instructions, for attention_wgmma.cu and linear_wgmma.cu: the tensor cores that
// work for a warpgroup (wgmma), copies of tiles by the copy engine (TMA), barriers in shared memory
// that count arrivals and bytes (mbarrier), registers moved between warpgroups. For compute_90a, so
// not in the emulator.
//
// A warpgroup is 4 warps from a multiple of 4 on. Row and column of the elements that its threads
// hold of a matrix of 64 rows (PTX ISA, "Register Fragments"), `w` being the warp, `g` = lane / 4
// and `t` = lane % 4:
//
//     accumulator element i     row 16 w + g + 8 (i / 2 % 2)    column 8 (i / 4) + 2 t + i % 2
//     A, of 16 columns:
//       word j, of 2 elements   row 16 w + g + 8 (j % 2)        columns 8 (j / 2) + 2 t + {0, 1}
//
// So accumulator elements 8 s ... 8 s + 7, in pairs, are words 0 ... 3 of A for the columns from 16
// s on: the result of one product is the operand of the next without an exchange.
#pragma once

#include "mma.cuh"
#include "tensor_tiles.cuh"

#include <cuda/ptx>

namespace prenorm::cuda {

// ---- the compiler -------------------------------------------------------------------------------

/// Code that computes these registers stays before this point, and code that reads them after it:
/// the compiler does not know that wgmma accesses its registers asynchronously.
template <int n>
__device__ __forceinline__ void fence_registers(float (&registers)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int n>
__device__ __forceinline__ void fence_registers(unsigned (&registers)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// ---- wgmma --------------------------------------------------------------------------------------

/// Goes between other accesses to the registers of a wgmma and that wgmma.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Makes a group of the wgmmas since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most the last `pending` groups are incomplete.
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

#define PRENORM_OPERANDS_8(d, i)                                                              \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define PRENORM_OPERANDS_32(d, i)                                                        \
  PRENORM_OPERANDS_8(d, i), PRENORM_OPERANDS_8(d, i + 8), PRENORM_OPERANDS_8(d, i + 16), \
      PRENORM_OPERANDS_8(d, i + 24)
#define PRENORM_REGISTERS_32                                               \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define PRENORM_REGISTERS_64                                                           \
  PRENORM_REGISTERS_32                                                                 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

#define PRENORM_OPERANDS_64(d, i) PRENORM_OPERANDS_32(d, i), PRENORM_OPERANDS_32(d, i + 32)
#define PRENORM_REGISTERS_128                                                              \
  PRENORM_REGISTERS_64                                                                     \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "     \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "       \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
  "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "   \
  "%125, %126, %127"

/// d = a bᵀ, or d += a bᵀ where `add`: 64 x 128, summed over 16 columns of a and b, both in shared
/// memory and along_columns. After the registers: a, b, scale-d (add), the signs of a and b (1: as
/// they are), a and b transposed (0: no, both are K-major).
template <bool add, class T>
__device__ __forceinline__ void wgmma_rows(float (&d)[64], std::uint64_t a, std::uint64_t b) {
#define PRENORM_WGMMA(type)                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type \
               " {" PRENORM_REGISTERS_64 "}, %64, %65, %66, 1, 1, 0, 0;"    \
               : PRENORM_OPERANDS_32(d, 0), PRENORM_OPERANDS_32(d, 32)      \
               : "l"(a), "l"(b), "n"(add ? 1 : 0))
  if constexpr (std::is_same_v<T, float16>) {
    PRENORM_WGMMA("f16");
  } else {
    PRENORM_WGMMA("bf16");
  }
#undef PRENORM_WGMMA
}

/// d = a bᵀ, or d += a bᵀ where `add`: 64 x 2n, summed over 16 columns of a and b, both in shared
/// memory and along_columns. After the registers: a, b, scale-d (add), the signs of a and b (1: as
/// they are), a and b transposed (0: no, both are K-major). `add` is no constant, so that a loop
/// needs neither a first round of its own nor zeros.
template <class T, int n>
__device__ __forceinline__ void wgmma_tile(float (&d)[n], std::uint64_t a, std::uint64_t b,
                                           bool add) {
  static_assert(n == 64 || n == 128);
#define PRENORM_WGMMA(type)                                                                     \
  if constexpr (n == 128) {                                                                     \
    asm volatile(                                                                               \
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"                                       \
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" PRENORM_REGISTERS_128 \
        "}, %128, %129, add, 1, 1, 0, 0;\n}"                                                    \
        : PRENORM_OPERANDS_64(d, 0), PRENORM_OPERANDS_64(d, 64)                                 \
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));                                          \
  } else {                                                                                      \
    asm volatile(                                                                               \
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"                                        \
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" PRENORM_REGISTERS_64  \
        "}, %64, %65, add, 1, 1, 0, 0;\n}"                                                      \
        : PRENORM_OPERANDS_64(d, 0)                                                             \
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));                                          \
  }
  if constexpr (std::is_same_v<T, float16>) {
    PRENORM_WGMMA("f16")
  } else {
    PRENORM_WGMMA("bf16")
  }
#undef PRENORM_WGMMA
}

/// d += a b: 64 x 2n, summed over 16 rows of b; a in registers, b in shared memory and along_rows.
/// After the registers: a, b, scale-d (1: added), the signs of a and b, b transposed (1: it is
/// N-major).
template <class T, int n>
__device__ __forceinline__ void wgmma_columns(float (&d)[n], const unsigned* a, std::uint64_t b) {
  static_assert(n == 32 || n == 64);
#define PRENORM_WGMMA(type)                                                            \
  if constexpr (n == 64) {                                                             \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type          \
                 " {" PRENORM_REGISTERS_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;" \
                 : PRENORM_OPERANDS_32(d, 0), PRENORM_OPERANDS_32(d, 32)               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                \
  } else {                                                                             \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type           \
                 " {" PRENORM_REGISTERS_32 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;" \
                 : PRENORM_OPERANDS_32(d, 0)                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                \
  }
  if constexpr (std::is_same_v<T, float16>) {
    PRENORM_WGMMA("f16")
  } else {
    PRENORM_WGMMA("bf16")
  }
#undef PRENORM_WGMMA
}

#undef PRENORM_OPERANDS_8
#undef PRENORM_OPERANDS_32
#undef PRENORM_REGISTERS_32
#undef PRENORM_REGISTERS_64
#undef PRENORM_OPERANDS_64
#undef PRENORM_REGISTERS_128

// ---- registers and barriers ---------------------------------------------------------------------

/// Called by every warp of a warpgroup: sets the registers per thread from here on, a multiple of 8
/// from 24 to 256. For more it waits until others have given registers back.
template <int count>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// Barrier `id` (0 is __syncthreads) of `threads` threads, of which some wait and some do not.
__device__ __forceinline__ void barrier_wait(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Waits until the phase of this parity is over. Phases are numbered from 0; of a new barrier the
/// phase before, of parity 1, counts as over.
__device__ __forceinline__ void wait(std::uint64_t& mbarrier, unsigned parity) {
  while (!::cuda::ptx::mbarrier_try_wait_parity(&mbarrier, parity)) {
  }
}

__device__ __forceinline__ void arrive(std::uint64_t& mbarrier) {
  ::cuda::ptx::mbarrier_arrive(&mbarrier);
}

/// Arrives, and makes the phase wait for this many copied bytes too.
__device__ __forceinline__ void arrive_expecting(std::uint64_t& mbarrier, std::size_t bytes) {
  ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                         ::cuda::ptx::space_shared, &mbarrier,
                                         static_cast<std::uint32_t>(bytes));
}

}  // namespace prenorm::cuda
