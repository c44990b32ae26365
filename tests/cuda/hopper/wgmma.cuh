// In place of cuda/wgmma.cuh, for test_attention_wgmma.cpp: what its instructions do, after
// the PTX ISA, in plain C++.
//
// What is no more than a name here, so that a mistake in it passes: fences of any kind, how many
// registers a thread has, how the compiler orders what it does not know to belong together, and
// that the lanes of a warp must be together where an instruction is one of the whole warp.
#pragma once

#include "mma.cuh"
#include "model.hpp"
#include "tensor_tiles.cuh"

#include "cuda.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#define __grid_constant__

namespace hopper {

/// The 64 bits of an mbarrier.
struct Mbarrier {
  std::uint16_t expected, pending;
  std::int32_t bytes_and_phase;  // the phase's parity is the lowest bit
};

inline Mbarrier& mbarrier(std::uint64_t* at) { return *reinterpret_cast<Mbarrier*>(at); }

inline bool parity(const Mbarrier& m) { return (m.bytes_and_phase & 1) != 0; }

inline void count_bytes(Mbarrier& m, std::int32_t bytes) {
  m.bytes_and_phase += 2 * bytes;
  if (m.pending != 0 || m.bytes_and_phase >> 1 != 0) return;
  m.pending = m.expected;
  m.bytes_and_phase ^= 1;
}

inline void arrive(Mbarrier& m, std::int32_t bytes) {
  if (m.pending == 0) throw std::runtime_error("too many arrivals");
  --m.pending;
  count_bytes(m, bytes);
}

/// Calls visit(element in memory or null, where it lies in shared memory) for each of a box.
template <class Visit>
void each_of_box(const CUtensorMap& map, std::span<const std::int32_t, 3> at, const void* shared,
                 Visit visit) {
  const std::uint32_t base = shared_address(shared);
  if (base % 128 != 0) throw std::runtime_error("a box in shared memory is not aligned");
  for (std::uint32_t row = 0; row < map.box[1]; ++row) {
    for (std::uint32_t column = 0; column < map.box[0]; ++column) {
      const std::int64_t c = at[0] + std::int64_t{column}, r = at[1] + std::int64_t{row}, p = at[2];
      const auto within = [&](std::int64_t x, int axis) {
        return x >= 0 && x < static_cast<std::int64_t>(map.extents[axis]);
      };
      const bool there = within(c, 0) && within(r, 1) && within(p, 2);
      char* in_memory = map.data + 2 * c + r * static_cast<std::int64_t>(map.strides[0]) +
                        p * static_cast<std::int64_t>(map.strides[1]);
      std::uint32_t address = base + (row * map.box[0] + column) * 2;
      address ^= (address >> 7 & 7) << 4;
      // Of the block that has the box, which need not be this thread's.
      visit(there ? in_memory : nullptr,
            const_cast<std::byte*>(static_cast<const std::byte*>(shared)) +
                (static_cast<std::int64_t>(address) - base));
    }
  }
}

struct Warpgroups {
  using Work = std::function<void()>;
  std::deque<std::vector<Work>> groups;  // committed, not yet done
  std::vector<Work> open;
  const unsigned* a = nullptr;  // the registers of the product under way
};
inline Warpgroups warpgroups[1024];  // by thread

inline void multiply(Warpgroups::Work work) {
  if (products == When::early) {
    work();
  } else {
    warpgroups[thread()].open.push_back(std::move(work));
  }
}

/// Element of an operand in shared memory, by its descriptor. K-major: ((8, m), 16) in strides of
/// ((64, SBO), 1) elements; MN-major: ((64, m), (8, 2)) in ((1, LBO), (64, SBO)).
template <class T>
float operand(std::uint64_t descriptor, bool transposed, unsigned mn, unsigned k) {
  const auto field = [&](int first) {
    return static_cast<std::uint32_t>(descriptor >> first & 0x3fff) * 16;
  };
  if (descriptor >> 62 != 1) throw std::runtime_error("another swizzle");
  std::uint32_t address = field(0);
  // The base offset says where in the pattern of 1024 bytes the matrix begins.
  if ((descriptor >> 49 & 7) != (address >> 7 & 7)) throw std::runtime_error("a wrong base offset");
  if (transposed) {
    address += mn % 64 * 2 + mn / 64 * field(16) + k % 8 * 128 + k / 8 * field(32);
  } else {
    address += mn % 8 * 128 + mn / 8 * field(32) + k * 2;
  }
  address ^= (address >> 7 & 7) << 4;
  T element;
  std::memcpy(&element, at_shared_address(address), sizeof element);
  return prenorm::cuda::widen(element);
}

}  // namespace hopper

// ---- <cuda/ptx> ---------------------------------------------------------------------------------

namespace cuda::ptx {

struct Word {};
inline constexpr Word sem_release, scope_cta, scope_cluster, space_shared, space_global;
template <int n>
using n32_t = std::integral_constant<int, n>;

inline void mbarrier_init(std::uint64_t* at, unsigned count) {
  const auto arrivals = static_cast<std::uint16_t>(count);
  hopper::mbarrier(at) = {arrivals, arrivals, 0};
}
inline void fence_mbarrier_init(Word, Word) {}
inline void fence_proxy_async(Word) {}

inline void cp_async_bulk_tensor(Word, Word, void* to, const CUtensorMap* map,
                                 const std::int32_t (&at)[3], std::uint64_t* mbarrier) {
  hopper::copy([to, map = *map, a = at[0], b = at[1], c = at[2], mbarrier] {
    const std::int32_t coordinates[] = {a, b, c};
    std::int32_t bytes = 0;
    hopper::each_of_box(map, coordinates, to, [&](const char* from, std::byte* shared) {
      std::memset(shared, 0, 2);
      if (from != nullptr) std::memcpy(shared, from, 2);
      bytes += 2;
    });
    hopper::count_bytes(hopper::mbarrier(mbarrier), -bytes);
  });
}

inline std::deque<std::shared_ptr<bool>> stores[1024];  // by thread: which are done
inline void cp_async_bulk_tensor(Word, Word, const CUtensorMap* map, const std::int32_t (&at)[3],
                                 const void* from) {
  const auto done = std::make_shared<bool>(false);
  stores[hopper::thread()].push_back(done);
  hopper::copy([from, map = *map, a = at[0], b = at[1], c = at[2], done] {
    const std::int32_t coordinates[] = {a, b, c};
    hopper::each_of_box(map, coordinates, from, [&](char* to, const std::byte* shared) {
      if (to != nullptr) std::memcpy(to, shared, 2);
    });
    *done = true;
  });
}
inline void cp_async_bulk_commit_group() {}
/// Takes each store for a group of its own.
template <int pending>
void cp_async_bulk_wait_group_read(n32_t<pending>) {
  auto& mine = stores[hopper::thread()];
  while (mine.size() > pending) {
    hopper::wait_until([&] { return *mine.front(); });
    mine.pop_front();
  }
}

}  // namespace cuda::ptx

// ---- wgmma.cuh ----------------------------------------------------------------------------------

namespace prenorm::cuda {

template <class Register, int n>
void fence_registers(Register (&)[n]) {}

inline void wgmma_fence() {}
inline void wgmma_commit() {
  hopper::Warpgroups& mine = hopper::warpgroups[hopper::thread()];
  mine.groups.push_back(std::move(mine.open));
  mine.open.clear();
}
template <int pending>
void wgmma_wait() {
  hopper::Warpgroups& mine = hopper::warpgroups[hopper::thread()];
  if (hopper::products == hopper::When::late) hopper::let_others_go_on();
  while (mine.groups.size() > pending) {
    for (const auto& work : mine.groups.front()) work();
    mine.groups.pop_front();
  }
}

/// The row of a warpgroup's 64, and the column, of element i of an accumulator.
inline unsigned row_of(unsigned i) {
  const unsigned t = hopper::thread() % 128;
  return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
}
inline unsigned column_of(unsigned i) { return i / 4 * 8 + hopper::thread() % 4 * 2 + i % 2; }

template <bool add, class T>
void wgmma_rows(float (&d)[64], std::uint64_t a, std::uint64_t b) {
  hopper::multiply([&d, a, b] {
    for (unsigned i = 0; i < 64; ++i) {
      float sum = add ? d[i] : 0;
      for (unsigned k = 0; k < 16; ++k) {
        sum += hopper::operand<T>(a, false, row_of(i), k) *
               hopper::operand<T>(b, false, column_of(i), k);
      }
      d[i] = sum;
    }
  });
}

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

template <class T, int n>
void wgmma_columns(float (&d)[n], const unsigned* a, std::uint64_t b) {
  hopper::multiply([&d, a, b] {
    const unsigned self = hopper::thread();
    hopper::warpgroups[self].a = a;
    __syncwarp();
    for (unsigned i = 0; i < n; ++i) {
      for (unsigned k = 0; k < 16; ++k) {
        // Columns 2 t and 2 t + 1 of eight are lane t's of the four that have the row.
        const unsigned of = self / 4 * 4 + k % 8 / 2;
        const unsigned word = hopper::warpgroups[of].a[k / 8 * 2 + i / 2 % 2];
        T p;
        p.bits = static_cast<std::uint16_t>(word >> k % 2 * 16);
        d[i] += widen(p) * hopper::operand<T>(b, true, column_of(i), k);
      }
    }
    __syncwarp();
  });
}

template <int count>
void fewer_registers() {}
template <int count>
void more_registers() {}

inline void barrier_arrive(int id, int threads) {
  hopper::NamedBarrier& b = hopper::named_barriers[id];
  if (++b.arrived == threads) b = {0, b.round + 1};
}
inline void barrier_wait(int id, int threads) {
  const int round = hopper::named_barriers[id].round;
  barrier_arrive(id, threads);
  hopper::wait_until([=] { return hopper::named_barriers[id].round != round; });
}

inline void wait(std::uint64_t& mbarrier, unsigned parity) {
  hopper::wait_until([&] { return hopper::parity(hopper::mbarrier(&mbarrier)) != (parity != 0); });
}
inline void arrive(std::uint64_t& mbarrier) { hopper::arrive(hopper::mbarrier(&mbarrier), 0); }
inline void arrive_expecting(std::uint64_t& mbarrier, std::size_t bytes) {
  hopper::arrive(hopper::mbarrier(&mbarrier), static_cast<std::int32_t>(bytes));
}
inline std::uint32_t shared_address(const void* at) { return hopper::shared_address(at); }

}  // namespace prenorm::cuda
