// What a kernel, or the host, does that the processor refuses.
#pragma once

#include "emulator.hpp"

#include <optional>
#include <string>

namespace prenorm::emulator {

/// From now on `tell` is called with a sentence that names kernel, thread and line, or what the
/// host has accessed: before the process ends, or where it says true, goes on (the host alone).
void catch_faults(bool (*tell)(const std::string& what, bool of_host));

/// Also where a program aborts or is interrupted: `say` is called, and the program ends as it
/// would.
void catch_ends(void (*say)(const std::string& what));

/// For this thread of the machine: faults are told even where its stack is full.
void have_room_for_faults();

/// A CUDA thread that has its turn, and the place in its code that follows.
struct RunningThread {
  char kernel[128];  // its name, or the beginning
  uint3 block, thread;
  const void* code;
};
/// One of those that run now; empty where none answers within a second.
std::optional<RunningThread> what_runs();

}  // namespace prenorm::emulator
