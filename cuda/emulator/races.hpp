// Races: two accesses by different threads, one of them a write, that nothing orders. Barriers
// order all threads of a block, warp operations their lanes; nothing orders blocks. In global
// memory, writes that leave the same value are no races.
//
// ThreadSanitizer finds races too, but takes a process of its own kind. This is for submissions,
// which run in the worker. The checker tells it what threads access, the emulator where they wait
// for each other; in other builds it is empty.
//
// No right kernel is accused: a thread that has done an atomic operation counts as ordered after
// all that happened before it, and so does its block after what other blocks did; for the latter a
// fence is enough. That is more than a device promises.
#pragma once

#include <cstddef>
#include <string>

namespace prenorm::emulator::races {

struct Kind {
  bool writes = false, atomic = false;
};

#if defined(PRENORM_EMULATOR_RACES)
/// Whether the blocks of a launch must run on one thread of the machine.
inline constexpr bool used = true;
/// A launch begins; `alone`: its blocks run one after the other.
void begin_launch(bool alone);
/// A block begins, with this shared memory, static and dynamic.
void begin_block(const std::byte* fixed, std::size_t fixed_bytes, const std::byte* dynamic,
                 std::size_t dynamic_bytes);
/// From now on this thread of the block runs.
void on_thread(std::size_t thread);
/// All threads of the block have arrived at a barrier.
void on_barrier();
/// These lanes of the warp have arrived at the same operation.
void on_warp_operation(std::size_t warp, unsigned lanes);
/// The running thread has done an atomic operation.
void on_atomic_operation();
/// The running thread has gone through a fence.
void on_fence();
/// The running thread accesses shared memory. Records an error if that is a race.
void on_access(const void* at, std::size_t bytes, Kind kind, const void* code);
/// Likewise global memory of that name, which must stay where it is.
void on_global_access(const void* at, std::size_t bytes, Kind kind, const void* code,
                      const std::string& name);
/// The running thread will not run for a while, or has ended: its last write can be judged.
void settle();
#else
inline constexpr bool used = false;
inline void begin_launch(bool) {}
inline void on_fence() {}
inline void on_global_access(const void*, std::size_t, Kind, const void*, const std::string&) {}
inline void settle() {}
inline void begin_block(const std::byte*, std::size_t, const std::byte*, std::size_t) {}
inline void on_thread(std::size_t) {}
inline void on_barrier() {}
inline void on_warp_operation(std::size_t, unsigned) {}
inline void on_atomic_operation() {}
inline void on_access(const void*, std::size_t, Kind, const void*) {}
#endif

}  // namespace prenorm::emulator::races
