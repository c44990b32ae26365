// Atomics of 16 bits, of half and bfloat16 and their pairs, and of a block's or the system's scope.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

__global__ void sums(__half* h, __nv_bfloat16* b, __half2* pair, int* n) {
  atomicAdd(h, __float2half(0.5f));
  atomicAdd(b, __float2bfloat16(1.0f));
  atomicAdd(pair, __floats2half2_rn(1, 2));
  atomicAdd_block(&n[0], 1);
  atomicMax_system(&n[1], static_cast<int>(threadIdx.x));
  atomicOr_block(&n[2], 1 << threadIdx.x % 8);
}

// A bit mask of halves of a word, by compare and swap of 16 bits.
__global__ void claim(unsigned short* owners, int* claimed) {
  const unsigned short mine = threadIdx.x + 1;
  if (atomicCAS(&owners[threadIdx.x % 8], static_cast<unsigned short>(0), mine) == 0) {
    atomicAdd(claimed, 1);
  }
}

int main() {
  __half* h = on_device(std::vector<__half>{__float2half(1)});
  __nv_bfloat16* b = on_device(std::vector<__nv_bfloat16>{__float2bfloat16(0)});
  __half2* pair = on_device(std::vector<__half2>{__floats2half2_rn(0, 0)});
  int* n = on_device(std::vector<int>(3));
  sums<<<1, 64>>>(h, b, pair, n);
  const __half2 both = on_host(pair, 1)[0];
  expect("sums",
         std::vector<float>{__half2float(on_host(h, 1)[0]), __bfloat162float(on_host(b, 1)[0]),
                            __low2float(both), __high2float(both)},
         std::vector<float>{33, 64, 64, 128}, 0);
  expect("scopes", on_host(n, 3), std::vector<int>{64, 63, 255}, 0);

  unsigned short* owners = on_device(std::vector<unsigned short>(8));
  int* claimed = on_device(std::vector<int>(1));
  claim<<<1, 64>>>(owners, claimed);
  int sound = on_host(claimed, 1)[0];
  const auto who = on_host(owners, 8);
  for (int i = 0; i < 8; ++i) sound += (who[i] - 1) % 8 == i;
  expect("claims", std::vector<int>{sound}, std::vector<int>{16}, 0);
}
