// The counter: what kernels do to memory, warp by warp. docs/profile.md says what is counted.
//
// Kernels are compiled as for the checker (checker.hpp); calls.cpp has what they call.
// The emulator tells the counter whose turn it is and where lanes meet; in other builds this is
// empty.
#pragma once

#include "emulator.hpp"

#include <cstddef>
#include <vector>

namespace prenorm::emulator::counter {

/// If set, says for places in the code which lines of the source they are of, the innermost first:
/// "mine.cu:12". Where it is not set, who reads the counts finds them.
extern std::vector<std::vector<std::string>> (*lines_of_places)(const std::vector<std::uint64_t>&);

#if defined(PRENORM_EMULATOR_COUNTER)
/// Around a launch, on the thread of the machine that launches.
void begin_launch(const Launch& launch);
void end_launch();

/// Around a block, on the thread of the machine that runs it: the block's number in the grid, its
/// threads, and its dynamic shared memory.
void begin_block(std::uint64_t number, std::size_t threads, const std::byte* dynamic,
                 std::size_t bytes);
void end_block();
/// This thread of the machine, which ends, runs no more blocks.
void end_thread();

/// From now on this thread of the block runs, or on this stack.
void on_thread(std::size_t thread);
void on_stack(const void* bottom, std::size_t bytes);
/// The running thread may access another block's dynamic shared memory, which is no global memory.
void on_peer(const std::byte* dynamic, std::size_t bytes);

/// All lanes of the warp that have not returned have arrived at the same place, or all have
/// returned.
void on_warp_together(std::size_t warp);
/// All threads of the block have arrived at a barrier.
void on_barrier();
/// A warp completes a shuffle, a vote or a collective, called so.
void on_warp_operation(const char* word);

/// The running thread begins an asynchronous copy.
void on_copy(const AsyncCopy& copy, const void* place);
/// The running thread changes memory atomically.
void on_atomic(const void* at, std::size_t bytes, const void* place);
/// The running thread reads or writes memory; `place` follows the access in the code.
void on_read(const void* at, std::size_t bytes, const void* place);
void on_write(const void* at, std::size_t bytes, const void* place);
#else
inline void begin_launch(const Launch&) {}
inline void end_launch() {}
inline void begin_block(std::uint64_t, std::size_t, const std::byte*, std::size_t) {}
inline void end_block() {}
inline void end_thread() {}
inline void on_thread(std::size_t) {}
inline void on_stack(const void*, std::size_t) {}
inline void on_peer(const std::byte*, std::size_t) {}
inline void on_warp_together(std::size_t) {}
inline void on_barrier() {}
inline void on_warp_operation(const char*) {}
inline void on_copy(const AsyncCopy&, const void*) {}
inline void on_atomic(const void*, std::size_t, const void*) {}
inline void on_read(const void*, std::size_t, const void*) {}
inline void on_write(const void*, std::size_t, const void*) {}
#endif

}  // namespace prenorm::emulator::counter
