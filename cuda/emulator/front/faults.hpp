// What a kernel, or the host, does that the processor refuses.
#pragma once

#include <string>

namespace prenorm::emulator {

/// From now on `tell` is called with a sentence that names kernel, thread and line, or what the
/// host has accessed: before the process ends, or where it says true, goes on (the host alone).
void catch_faults(bool (*tell)(const std::string& what, bool of_host));

}  // namespace prenorm::emulator
