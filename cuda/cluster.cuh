// Clusters of blocks, from sm_90 on: blocks that run at the same time and read each other's shared
// memory. How many form one is in the launch (launch.cuh); a kernel that is launched without
// clusters must not call these. In code for earlier devices they stop it.
#pragma once

#include "device.cuh"

namespace prenorm::cuda {

/// Waits for all threads of all blocks of the cluster, and lets them see what any of them wrote.
__device__ inline void cluster_barrier() {
#if !defined(__CUDACC__)
  emulator::cluster_barrier();
#elif __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
#else
  __trap();
#endif
}

/// Where block `rank` of the cluster has what is at `own` in this block's dynamic shared memory. To
/// be read between two barriers of the cluster: a block that has returned has none.
template <class T>
__device__ T* cluster_peer(T* own, unsigned rank) {
#if !defined(__CUDACC__)
  return static_cast<T*>(emulator::cluster_peer(own, rank));
#elif __CUDA_ARCH__ >= 900
  return static_cast<T*>(__cluster_map_shared_rank(own, rank));
#else
  __trap();
  return own;
#endif
}

}  // namespace prenorm::cuda
