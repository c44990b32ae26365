// The checker: finds reads of shared memory that no thread of the block has written. Built for
// submissions, it also finds races (PRENORM_EMULATOR_RACES, races.hpp); for them and for programs
// accesses out of bounds (PRENORM_EMULATOR_WATCHED, bounds.hpp).
//
// Kernels are compiled with -fsanitize=thread, which calls a function before every load and store,
// but not linked with ThreadSanitizer: calls.cpp has those functions. In other builds this is
// empty.
#pragma once

#include <cstddef>

namespace prenorm::emulator::checker {

#if defined(PRENORM_EMULATOR_CHECKER)
/// All shared memory, static and dynamic, counts as unwritten from here on.
void begin_block(const std::byte* dynamic, std::size_t bytes);
/// These bytes, where they are shared memory, count as unwritten again.
void forget(const void* at, std::size_t bytes);
/// Nothing is looked at from here on.
void end_block();
/// The running thread reads or writes memory. `code` follows the access; nullptr: not known.
/// `copied`: as a whole, so that room in a structure may be unwritten.
void on_read(const void* at, std::size_t bytes, const void* code, bool atomic, bool copied = false);
void on_write(const void* at, std::size_t bytes, const void* code, bool atomic);
/// The running thread is about to access so many bytes as one, at an address that is no multiple.
void on_misaligned(const void* at, std::size_t bytes, const void* code);
#else
inline void begin_block(const std::byte*, std::size_t) {}
inline void forget(const void*, std::size_t) {}
inline void end_block() {}
inline void on_read(const void*, std::size_t, const void*, bool, bool = false) {}
inline void on_write(const void*, std::size_t, const void*, bool) {}
inline void on_misaligned(const void*, std::size_t, const void*) {}
#endif

}  // namespace prenorm::emulator::checker
