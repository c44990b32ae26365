// <cooperative_groups.h> of the emulator: blocks, tiles of warps, the lanes that run together.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

namespace detail {

inline unsigned thread_in_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

}  // namespace detail

/// All threads of the block.
class thread_block {
 public:
  static void sync(PRENORM_HERE) { __syncthreads(here); }
  static unsigned thread_rank() { return detail::thread_in_block(); }
  static unsigned size() { return detail::threads_of_block(); }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  /// Arriving and waiting are one here: nobody gets ahead.
  struct arrival_token {};
  static arrival_token barrier_arrive(PRENORM_HERE) {
    __syncthreads(here);
    return {};
  }
  static void barrier_wait(arrival_token&&) {}
};
inline thread_block this_thread_block() { return {}; }

/// The threads of all blocks, which wait for each other in cooperative launches.
class grid_group {
 public:
  static unsigned long long thread_rank() {
    const unsigned long long block = blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                                                      (blockIdx.y + gridDim.y * blockIdx.z);
    return block * detail::threads_of_block() + detail::thread_in_block();
  }
  static unsigned long long size() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z *
           detail::threads_of_block();
  }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() { return thread_rank() / detail::threads_of_block(); }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return dim3(blockIdx); }
  static bool is_valid() { return prenorm::emulator::cooperative(); }
  static void sync(PRENORM_HERE) { prenorm::emulator::grid_barrier(here); }
};
inline grid_group this_grid() { return {}; }

/// A group of lanes of a warp, by their mask.
class lanes {
 public:
  explicit lanes(unsigned mask) : mask_(mask) {}
  void sync(PRENORM_HERE) const { __syncwarp(mask_, here); }
  unsigned size() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(
        __builtin_popcount(mask_ & ((1u << prenorm::emulator::lane()) - 1u)));
  }
  template <class T>
  T shfl(T value, unsigned rank, PRENORM_HERE) const {
    return prenorm::emulator::take("shfl", mask_, value, lane_of(rank), here);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, PRENORM_HERE) const {
    const unsigned rank = thread_rank() + delta;
    return shfl(value, rank < size() ? rank : thread_rank(), here);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, PRENORM_HERE) const {
    const unsigned rank = thread_rank();
    return shfl(value, rank >= delta ? rank - delta : rank, here);
  }
  template <class T>
  T shfl_xor(T value, unsigned bits, PRENORM_HERE) const {
    const unsigned rank = thread_rank() ^ bits;
    return shfl(value, rank < size() ? rank : thread_rank(), here);
  }
  bool any(int predicate, PRENORM_HERE) const { return __any_sync(mask_, predicate, here) != 0; }
  bool all(int predicate, PRENORM_HERE) const { return __all_sync(mask_, predicate, here) != 0; }
  /// The votes by rank.
  unsigned ballot(int predicate, PRENORM_HERE) const {
    return by_rank(__ballot_sync(mask_, predicate, here));
  }
  unsigned mask() const { return mask_; }
  /// The lanes that have the same value, by rank.
  template <class T>
  unsigned match_any(T value) const {
    return by_rank(__match_any_sync(mask_, value));
  }
  template <class T>
  unsigned match_all(T value, int& all) const {
    return by_rank(__match_all_sync(mask_, value, &all));
  }

 private:
  unsigned by_rank(unsigned lanes) const {
    unsigned ranks = 0;
    for (unsigned rank = 0; rank < size(); ++rank) ranks |= (lanes >> lane_of(rank) & 1u) << rank;
    return ranks;
  }
  int lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (; rank > 0 && (rest & (rest - 1)) != 0; --rank) rest &= rest - 1;
    return __builtin_ctz(rest);
  }
  unsigned mask_;
};

/// Neighbouring lanes, as many as a power of two says.
template <unsigned Size, class Parent = void>
class thread_block_tile : public lanes {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "tiles of up to 32 threads are emulated");

 public:
  thread_block_tile()
      : lanes((Size == 32 ? ~0u : (1u << Size % 32) - 1u)
              << (static_cast<unsigned>(prenorm::emulator::lane()) / Size * Size)) {}
  /// A tile is the same whatever it is part of.
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return detail::thread_in_block() / Size; }
  unsigned meta_group_size() const { return (detail::threads_of_block() + Size - 1) / Size; }
};
template <unsigned Size, class Group>
thread_block_tile<Size, Group> tiled_partition(const Group&) {
  return {};
}

class coalesced_group : public lanes {
 public:
  using lanes::lanes;
};
/// The lanes that run together here, also in a branch that not all have taken.
inline coalesced_group coalesced_threads(PRENORM_HERE) {
  return coalesced_group(prenorm::emulator::converged_lanes("coalesced_threads", here));
}

/// Any of these groups: the block, or lanes of a warp.
class thread_group {
 public:
  thread_group(const thread_block&) : lanes_(0), is_block_(true) {}
  thread_group(const lanes& group) : lanes_(group), is_block_(false) {}
  void sync(PRENORM_HERE) const { is_block_ ? __syncthreads(here) : lanes_.sync(here); }
  unsigned size() const { return is_block_ ? thread_block::size() : lanes_.size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return is_block_ ? thread_block::thread_rank() : lanes_.thread_rank();
  }
  static bool is_valid() { return true; }
  /// The `size` neighbours by rank that this thread is among.
  lanes tile(unsigned size) const {
    const unsigned all = is_block_ ? ~0u : lanes_.mask();
    const unsigned rank =
        is_block_ ? static_cast<unsigned>(prenorm::emulator::lane()) : lanes_.thread_rank();
    unsigned mask = 0, at = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((all >> lane & 1u) != 0 && at++ / size == rank / size) mask |= 1u << lane;
    }
    return lanes(mask);
  }

 private:
  lanes lanes_;
  bool is_block_;
};
/// Neighbours in the group, by a number that is known when the program runs.
inline thread_group tiled_partition(const thread_group& parent, unsigned size, PRENORM_HERE) {
  if (size == 0 || size > 32 || (size & (size - 1)) != 0) {
    prenorm::emulator::fail("tiles of up to 32 threads are emulated", here);
  }
  return parent.tile(size);
}
/// The lanes of the group that give the same label.
template <class Label>
coalesced_group labeled_partition(const lanes& group, Label label) {
  return coalesced_group(__match_any_sync(group.mask(), label));
}
inline coalesced_group binary_partition(const lanes& group, bool label) {
  return labeled_partition(group, static_cast<int>(label));
}
/// One of the group calls it.
template <class Group, class F, class... Arguments>
void invoke_one(const Group& group, F&& f, Arguments&&... arguments) {
  if (group.thread_rank() == 0) f(arguments...);
}
/// All get what that one got.
template <class F, class... Arguments>
auto invoke_one_broadcast(const lanes& group, F&& f, Arguments&&... arguments) {
  decltype(f(arguments...)) result{};
  if (group.thread_rank() == 0) result = f(arguments...);
  return group.shfl(result, 0);
}

inline void sync(const thread_group& group, PRENORM_HERE) { group.sync(here); }
inline void sync(const thread_block&, PRENORM_HERE) { __syncthreads(here); }
inline void sync(const grid_group&, PRENORM_HERE) { prenorm::emulator::grid_barrier(here); }
inline void sync(const lanes& group, PRENORM_HERE) { group.sync(here); }

}  // namespace cooperative_groups
