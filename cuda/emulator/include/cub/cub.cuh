// <cub/cub.cuh> of the emulator: reductions and scans of blocks and warps. Values go through the
// temporary storage in the order of the threads; that storage may be used again after a barrier,
// as cub asks for it.
#pragma once

#include <cuda/functional>
#include <cuda_runtime.h>

#include <functional>
#include <new>

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

using Sum = std::plus<>;
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;

namespace detail {

/// A value of each thread, in shared memory, where nothing may construct them.
template <class T, int Threads>
struct Values {
  alignas(T) unsigned char bytes[Threads * sizeof(T)];
  T& operator[](int thread) { return reinterpret_cast<T*>(bytes)[thread]; }
};

struct WholeBlock {
  static int rank() {
    return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  }
  static void sync(const prenorm::emulator::Place& here) { __syncthreads(here); }
};
template <int Lanes>
struct PartOfWarp {
  static int rank() { return prenorm::emulator::lane() % Lanes; }
  static void sync(const prenorm::emulator::Place& here) {
    const unsigned first = static_cast<unsigned>(prenorm::emulator::lane() / Lanes * Lanes);
    __syncwarp((~0u >> (32 - Lanes)) << first, here);
  }
};

template <class T, int Threads, class Group>
class Reductions {
 public:
  using TempStorage = Values<T, Threads>;
  explicit Reductions(TempStorage& storage) : values_(storage) {}

  /// join over all threads, or the first `threads`. Only the first one gets it.
  template <class Join>
  T Reduce(T own, Join join, PRENORM_HERE) {
    return Reduce(own, join, Threads, here);
  }
  template <class Join>
  T Reduce(T own, Join join, int threads, PRENORM_HERE) {
    const int rank = Group::rank();
    new (&values_[rank]) T(own);
    Group::sync(here);
    for (int i = 1; rank == 0 && i < threads; ++i) own = join(own, values_[i]);
    return own;
  }
  /// Of several values of each thread.
  template <int Items, class Join>
  T Reduce(T (&own)[Items], Join join, PRENORM_HERE) {
    T result = own[0];
    for (int i = 1; i < Items; ++i) result = join(result, own[i]);
    return Reduce(result, join, Threads, here);
  }
  template <int Items>
  T Sum(T (&own)[Items], PRENORM_HERE) {
    return Reduce(own, cub::Sum(), here);
  }
  T Sum(T own, PRENORM_HERE) { return Reduce(own, cub::Sum(), Threads, here); }
  T Sum(T own, int threads, PRENORM_HERE) { return Reduce(own, cub::Sum(), threads, here); }

 private:
  TempStorage& values_;
};

template <class T, int Threads, class Group>
class Scans {
 public:
  using TempStorage = Values<T, Threads>;
  explicit Scans(TempStorage& storage) : values_(storage) {}

  template <class Join>
  void InclusiveScan(T in, T& out, Join join, PRENORM_HERE) {
    T all;
    InclusiveScan(in, out, join, all, here);
  }
  template <class Join>
  void InclusiveScan(T in, T& out, Join join, T& all, PRENORM_HERE) {
    give(in, here);
    T sum = values_[0];
    for (int i = 1; i <= Group::rank(); ++i) sum = join(sum, values_[i]);
    all = sum;
    for (int i = Group::rank() + 1; i < Threads; ++i) all = join(all, values_[i]);
    out = sum;
  }
  template <class Join>
  void ExclusiveScan(T in, T& out, T first, Join join, PRENORM_HERE) {
    T all;
    ExclusiveScan(in, out, first, join, all, here);
  }
  template <class Join>
  void ExclusiveScan(T in, T& out, T first, Join join, T& all, PRENORM_HERE) {
    give(in, here);
    for (int i = 0; i < Group::rank(); ++i) first = join(first, values_[i]);
    all = values_[0];
    for (int i = 1; i < Threads; ++i) all = join(all, values_[i]);
    out = first;
  }
  /// Of several neighbours in each thread.
  template <int Items>
  void InclusiveSum(T (&in)[Items], T (&out)[Items], PRENORM_HERE) {
    T sum = in[0];
    for (int i = 1; i < Items; ++i) sum = sum + in[i];
    ExclusiveSum(sum, sum, here);
    for (int i = 0; i < Items; ++i) out[i] = sum = sum + in[i];
  }
  template <int Items>
  void ExclusiveSum(T (&in)[Items], T (&out)[Items], PRENORM_HERE) {
    T sum = in[0];
    for (int i = 1; i < Items; ++i) sum = sum + in[i];
    ExclusiveSum(sum, sum, here);
    for (int i = 0; i < Items; ++i) {
      const T next = sum + in[i];
      out[i] = sum;
      sum = next;
    }
  }
  void InclusiveSum(T in, T& out, PRENORM_HERE) { InclusiveScan(in, out, cub::Sum(), here); }
  void InclusiveSum(T in, T& out, T& all, PRENORM_HERE) {
    InclusiveScan(in, out, cub::Sum(), all, here);
  }
  void ExclusiveSum(T in, T& out, PRENORM_HERE) { ExclusiveScan(in, out, T(), cub::Sum(), here); }
  void ExclusiveSum(T in, T& out, T& all, PRENORM_HERE) {
    ExclusiveScan(in, out, T(), cub::Sum(), all, here);
  }

 private:
  void give(T own, const prenorm::emulator::Place& here) {
    new (&values_[Group::rank()]) T(own);
    Group::sync(here);
  }
  TempStorage& values_;
};

}  // namespace detail

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
struct BlockReduce : detail::Reductions<T, X * Y * Z, detail::WholeBlock> {
  using detail::Reductions<T, X * Y * Z, detail::WholeBlock>::Reductions;
};
template <class T, int Lanes = 32>
struct WarpReduce : detail::Reductions<T, Lanes, detail::PartOfWarp<Lanes>> {
  using detail::Reductions<T, Lanes, detail::PartOfWarp<Lanes>>::Reductions;
};
template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
struct BlockScan : detail::Scans<T, X * Y * Z, detail::WholeBlock> {
  using detail::Scans<T, X * Y * Z, detail::WholeBlock>::Scans;
};
template <class T, int Lanes = 32>
struct WarpScan : detail::Scans<T, Lanes, detail::PartOfWarp<Lanes>> {
  using detail::Scans<T, Lanes, detail::PartOfWarp<Lanes>>::Scans;
};

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
};

namespace detail {

/// Which elements a thread has: neighbours, or those that lie a block's size apart.
template <int X, int Items, bool striped, int Y, int Z>
struct Part {
  static int at(int i) {
    return striped ? i * X * Y * Z + WholeBlock::rank() : WholeBlock::rank() * Items + i;
  }
};

}  // namespace detail

template <class T, int X, int Items, BlockLoadAlgorithm how = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1>
struct BlockLoad : detail::Part<X, Items, how == BLOCK_LOAD_STRIPED, Y, Z> {
  struct TempStorage {};
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}
  template <class It>
  void Load(It from, T (&to)[Items]) {
    for (int i = 0; i < Items; ++i) to[i] = from[this->at(i)];
  }
  template <class It>
  void Load(It from, T (&to)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (this->at(i) < valid) to[i] = from[this->at(i)];
    }
  }
  template <class It, class Default>
  void Load(It from, T (&to)[Items], int valid, Default beyond) {
    for (T& each : to) each = beyond;
    Load(from, to, valid);
  }
};
template <class T, int X, int Items, BlockStoreAlgorithm how = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1>
struct BlockStore : detail::Part<X, Items, how == BLOCK_STORE_STRIPED, Y, Z> {
  struct TempStorage {};
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}
  template <class It>
  void Store(It to, T (&from)[Items]) {
    for (int i = 0; i < Items; ++i) to[this->at(i)] = from[i];
  }
  template <class It>
  void Store(It to, T (&from)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (this->at(i) < valid) to[this->at(i)] = from[i];
    }
  }
};

}  // namespace cub

#include "device/device_reduce.cuh"
