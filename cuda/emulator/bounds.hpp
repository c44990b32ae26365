// Accesses of kernels beside the tensors of a call and beside what cudaMalloc has given: for
// submissions. In other builds this is empty.
//
// What is far from all of these ends the process by a signal, which front/submission.cpp explains.
#pragma once

#include <cstddef>
#include <string>

namespace prenorm::emulator::bounds {

#if defined(PRENORM_EMULATOR_WATCHED)
/// From now on kernels may access these bytes, but not the `reach` bytes before and behind them.
/// `name` is for messages: "input 1". Called while no kernel runs.
void allow(const void* begin, std::size_t bytes, std::size_t reach, const std::string& name);
/// No longer: memory that begins there is freed.
void forbid(const void* begin);
/// The running thread accesses what is no shared memory. Where that is out of bounds, it records an
/// error and does not return. Else the name of the range, or nullptr: it is in none, and not near.
const std::string* on_access(const void* at, std::size_t bytes, bool writes, const void* code);
#else
inline void allow(const void*, std::size_t, std::size_t, const std::string&) {}
inline void forbid(const void*) {}
inline const std::string* on_access(const void*, std::size_t, bool, const void*) { return nullptr; }
#endif

}  // namespace prenorm::emulator::bounds
