// In place of cuda/wgmma_product.cuh, as wgmma.cuh is in place of that one.
#pragma once

#include "wgmma.cuh"

namespace prenorm::cuda {

template <class T, int n>
void wgmma_tile(float (&d)[n], std::uint64_t a, std::uint64_t b, bool add) {
  hopper::multiply([&d, a, b, add] {
    float of_a[2][16], of_b[16];  // a thread has two rows
    for (unsigned r = 0; r < 2; ++r) {
      for (unsigned k = 0; k < 16; ++k) of_a[r][k] = hopper::operand<T>(a, false, row_of(2 * r), k);
    }
    for (unsigned i = 0; i < n; i += 4) {
      for (unsigned e = 0; e < 2; ++e) {
        for (unsigned k = 0; k < 16; ++k) {
          of_b[k] = hopper::operand<T>(b, false, column_of(i + e), k);
        }
        for (unsigned r = 0; r < 2; ++r) {
          float sum = add ? d[i + 2 * r + e] : 0;
          for (unsigned k = 0; k < 16; ++k) sum += of_a[r][k] * of_b[k];
          d[i + 2 * r + e] = sum;
        }
      }
    }
  });
}

template <int cluster>
unsigned cluster_rank() {
  return blockIdx.x % cluster;
}

inline void meet_cluster() { hopper::meet_cluster(); }

inline void arrive_at(std::uint64_t& mbarrier, unsigned rank) {
  arrive(*static_cast<std::uint64_t*>(hopper::in_block(rank, &mbarrier)));
}

template <int cluster>
void load_for_cluster(void* to, const CUtensorMap& map, const std::int32_t (&at)[3],
                      std::uint64_t& full) {
  for (unsigned rank = 0; rank < cluster; ++rank) {
    ::cuda::ptx::cp_async_bulk_tensor(
        ::cuda::ptx::space_shared, ::cuda::ptx::space_global, hopper::in_block(rank, to), &map, at,
        static_cast<std::uint64_t*>(hopper::in_block(rank, &full)));
  }
}

template <int pending>
void wait_for_stores() {
  ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<pending>());
}

}  // namespace prenorm::cuda
