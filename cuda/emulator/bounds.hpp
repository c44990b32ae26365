// Accesses of kernels beside the tensors of a call and beside what cudaMalloc has given, and
// accesses of the host to any of these: for submissions, and for programs where nothing else is
// asked for. In other builds this is empty.
//
// What is far from all of these ends the process by a signal, which front/faults.cpp explains.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prenorm::emulator::bounds {

/// Who may access a range.
enum class By { kernels, kernels_and_host };

#if defined(PRENORM_EMULATOR_WATCHED)
/// From now on kernels may access these bytes, but not the `reach` bytes before and behind them.
/// `name` is for messages: "input 1". The host may not where the range has pages of its own and is
/// for kernels alone. Called while no kernel runs.
void allow(const void* begin, std::size_t bytes, std::size_t reach, const std::string& name, By by);
/// No longer: memory that begins there is freed.
void forbid(const void* begin);
/// Allows the variables of kernels, __device__ and __constant__ ones, for kernels alone. The front
/// puts them into sections of their own, except for templates' and those in classes.
void allow_device_variables();
/// Nothing has written this range, which is allowed, yet; something has written those bytes.
void begin_unwritten(const void* begin);
void wrote(const void* at, std::size_t bytes);
/// Whether the address lies in a range for kernels alone.
bool is_on_device(const void* at);
/// Argument `number` of the kernel that this thread is about to launch points there, to what no
/// kernel may access: "the host's memory".
void suspect(int number, const void* at, const char* what);
struct Suspect {
  const void* begin;
  int argument;
  const char* what;
};
using Suspects = std::vector<Suspect>;
/// Those of the launch that begins here, or is refused.
Suspects take_suspects();
/// Those of what runs on this thread of the machine from now on; nullptr: nothing runs.
void use_suspects(const Suspects* suspects);
/// The running thread accesses what is no shared memory. Where that is out of bounds, it records an
/// error and does not return. Else the name of the range, or nullptr: it is in none, and not near.
const std::string* on_access(const void* at, std::size_t bytes, bool writes, const void* code);

/// A solution's or a program's host code begins, or has ended: until then it cannot access what is
/// for kernels alone, as on a device.
void begin_host();
void end_host();
/// The range there, for which the host has just been stopped; nullptr: none.
const std::string* stopped_at(const void* at);
/// While one lives, everything may be accessed: kernels run, or the runtime copies.
struct Open {
  Open();
  ~Open();
  Open(Open&&) = delete;  // nor copied
};
#else
inline void allow(const void*, std::size_t, std::size_t, const std::string&, By) {}
inline void forbid(const void*) {}
inline void allow_device_variables() {}
inline void begin_unwritten(const void*) {}
inline void wrote(const void*, std::size_t) {}
inline bool is_on_device(const void*) { return false; }
inline void begin_host() {}
inline void end_host() {}
inline const std::string* stopped_at(const void*) { return nullptr; }
inline void suspect(int, const void*, const char*) {}
struct Suspects {};
inline Suspects take_suspects() { return {}; }
inline void use_suspects(const Suspects*) {}
inline const std::string* on_access(const void*, std::size_t, bool, const void*) { return nullptr; }
struct Open {
  ~Open() {}  // so that it is used
};
#endif

}  // namespace prenorm::emulator::bounds
