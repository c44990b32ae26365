// Sandboxes for the child processes that run submissions.
//
// bubblewrap: user, mount, PID, IPC and network namespaces of its own; it sees the system's
// programs and libraries, what `readable` names, and an empty /tmp that vanishes with it.
// process: for systems without user namespaces. Landlock restricts files, and a seccomp filter
// network access and signals to other processes; it sees the machine's process numbers.
// Both: limits, no privileges, no environment, no descriptors. prenorm-confine (confine_main.cpp)
// sets what has to be set from inside. Paths are the same inside as outside.
#pragma once

#include "base/process.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

enum class SandboxKind { none, process, bubblewrap };

/// "none", "process", "bubblewrap".
std::string_view name(SandboxKind kind);

/// 256, or four for each processor.
std::size_t most_tasks();

/// Bytes of a folder that a sandbox copies: it may grow to twice as many.
inline constexpr std::size_t most_copied = 64u << 20;

struct Sandbox {
  SandboxKind kind = SandboxKind::none;
  /// Files and folders that may be read and executed, in addition to the system's.
  std::vector<fs::path> readable;
  /// Hidden even inside a readable folder: the fixtures, the solutions.
  std::vector<fs::path> hidden;
  /// Without a mount namespace: the only writable folder, used as $TMPDIR. If empty, nothing is
  /// writable.
  fs::path folder;
  /// A readable folder that may be written. With a mount namespace it is a copy, in memory, of at
  /// most `most_copied` bytes, that vanishes with the sandbox; else the folder itself.
  fs::path copied;
  bool devices = false;  // CUDA devices are bound

  // Limits; 0: none.
  std::size_t memory = 4ull << 30;       // bytes of all its processes together, resident
  std::size_t processes = most_tasks();  // processes and threads together
  std::size_t scratch = 512ull << 20;    // bytes in /tmp, and that one file may have
  double cpu_seconds = 3600;             // of one process
};

/// Nothing if that kind works here, else the reason why not.
std::optional<std::string> unavailable(SandboxKind kind);

/// Whether there is a CUDA device's file, or a driver by another name ($PRENORM_CUDA_DRIVER).
bool has_devices();

/// The command that runs `what` in that sandbox; with SandboxKind::none, `what` itself.
/// Throws std::runtime_error if a path that must be readable does not exist.
Process::Command confined(const Process::Command& what, const Sandbox& sandbox);

}  // namespace prenorm::harness
