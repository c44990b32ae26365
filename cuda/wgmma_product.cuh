// More of Hopper's instructions, for product_wgmma.cu: wgmma of a whole tile's columns, and what
// blocks of a cluster do for each other: copies by TMA into the memory of all of them (multicast),
// arrivals at another one's barrier. As wgmma.cuh, for compute_90a; its twin for the CPU is
// tests/cuda/hopper/wgmma_product.cuh.
#pragma once

#include "wgmma.cuh"

namespace prenorm::cuda {

// clang-format off
#define PRENORM_D8(d, i)                                                                      \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define PRENORM_D32(d, i) \
  PRENORM_D8(d, i), PRENORM_D8(d, i + 8), PRENORM_D8(d, i + 16), PRENORM_D8(d, i + 24)
#define PRENORM_D64(d, i) PRENORM_D32(d, i), PRENORM_D32(d, i + 32)
#define PRENORM_R64                                                                      \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "               \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "     \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "     \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define PRENORM_R128                                                                     \
  PRENORM_R64 ", "                                                                       \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "     \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "     \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "     \
  "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, " \
  "%124, %125, %126, %127"
// clang-format on

/// d = a bᵀ, or d += a bᵀ where `add`: 64 x 2n, summed over 16 columns of a and b, both in shared
/// memory and along_columns. After the registers: a, b, scale-d (add), the signs of a and b (1: as
/// they are), a and b transposed (0: no, both are K-major). `add` is no constant, so that a loop
/// needs neither a first round of its own nor zeros.
template <class T, int n>
__device__ __forceinline__ void wgmma_tile(float (&d)[n], std::uint64_t a, std::uint64_t b,
                                           bool add) {
  static_assert(n == 64 || n == 128);
#define PRENORM_WGMMA(type)                                                       \
  if constexpr (n == 128) {                                                       \
    asm volatile(                                                                 \
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"                         \
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type              \
        " {" PRENORM_R128 "}, %128, %129, add, 1, 1, 0, 0;\n}"                    \
        : PRENORM_D64(d, 0), PRENORM_D64(d, 64)                                   \
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));                            \
  } else {                                                                        \
    asm volatile(                                                                 \
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"                          \
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type              \
        " {" PRENORM_R64 "}, %64, %65, add, 1, 1, 0, 0;\n}"                       \
        : PRENORM_D64(d, 0)                                                       \
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));                            \
  }
  if constexpr (std::is_same_v<T, float16>) {
    PRENORM_WGMMA("f16")
  } else {
    PRENORM_WGMMA("bf16")
  }
#undef PRENORM_WGMMA
}

#undef PRENORM_D8
#undef PRENORM_D32
#undef PRENORM_D64
#undef PRENORM_R64
#undef PRENORM_R128

/// The block's number in its cluster, of `cluster` blocks along x.
template <int cluster>
__device__ __forceinline__ unsigned cluster_rank() {
  return blockIdx.x % cluster;
}

/// Waits for all threads of all blocks of the cluster. By all lanes of a warp together.
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Arrives at the barrier that block `rank` of the cluster has where this one has `mbarrier`.
__device__ __forceinline__ void arrive_at(std::uint64_t& mbarrier, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(
          shared_address(&mbarrier)),
      "r"(rank)
      : "memory");
}

/// Has TMA copy a box into the memory of all blocks of the cluster, at the same place in each, and
/// count the bytes at each one's barrier.
template <int cluster>
__device__ __forceinline__ void load_for_cluster(void* to, const CUtensorMap& map,
                                                 const std::int32_t (&at)[3],
                                                 std::uint64_t& full) {
  ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_cluster, ::cuda::ptx::space_global, to,
                                    &map, at, &full,
                                    static_cast<std::uint16_t>((1u << cluster) - 1));
}

/// Waits until TMA has read what this thread had it store, but for the last `pending` groups.
template <int pending>
__device__ __forceinline__ void wait_for_stores() {
  ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<pending>());
}

}  // namespace prenorm::cuda
