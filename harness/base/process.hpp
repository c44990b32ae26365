// A child process (a worker, the HDF5 child) with one socket to it.
#pragma once

#include "base/control_group.hpp"
#include "base/family.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace prenorm::harness {

/// How a process ended: "killed by SIGSEGV", "exit code 3", or in other words where this program
/// has ended it.
struct HowEnded {
  std::string words;
  int exit_code = -1;  // -1: it did not exit
  int signal = 0;      // 0: none killed it
};

/// The child ended unexpectedly. The message says how, with the last lines of its standard error.
struct ProcessEnded : std::runtime_error {
  ProcessEnded(HowEnded ended, std::string last)
      : std::runtime_error(ended.words + (last.empty() ? "" : ": " + last)),
        how(std::move(ended)),
        error(std::move(last)) {}
  HowEnded how;
  std::string error;  // the last lines
};

/// The child, with everything it has started, exceeded a limit and has been killed.
struct ProcessOverLimit : std::runtime_error {
  ProcessOverLimit(const std::string& what, bool of_memory)
      : std::runtime_error(what), memory(of_memory) {}
  bool memory;  // else of tasks or files
};

/// The child did not answer in time; it has been killed.
struct ProcessTimeout : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Process {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// How long to wait for the child. A deadline is by the clock alone.
  struct Patience {
    Patience(Deadline deadline) : soonest(deadline), latest(deadline) {}
    Patience(Deadline soonest_end, double seconds, Deadline latest_end)
        : soonest(soonest_end), processor_seconds(seconds), latest(latest_end) {}

    Deadline soonest;              // it has until then,
    double processor_seconds = 0;  // and until Process::processor_seconds() is as much,
    Deadline latest;               // but no longer than until then
  };

  struct Limits {
    std::size_t address_space = 0;  // bytes; 0: none. Not set in a build with a sanitizer
    double cpu_seconds = 0;         // 0: none; rounded up to whole seconds
    std::size_t file_size = 0;      // bytes a written file may have; 0: none
    // For the child and everything it has started; checked while waiting for an answer.
    std::size_t resident = 0;            // bytes; 0: none
    std::size_t tasks = 0;               // processes and threads; 0: none
    std::vector<fs::path> folders = {};  // on disk, that it may write;
    TreeLimits disk{0, 0, 0};            // what they may hold together
  };

  /// What to start. `program` is a path.
  struct Command {
    fs::path program;
    std::vector<std::string> arguments;
    Limits limits;
    /// NAME=value each; nothing: part of this process's environment (see below).
    std::optional<std::vector<std::string>> environment;
    /// `program` runs another program and reports its signal as a shell does: 128 + signal.
    bool wrapper = false;
    /// Standard output is kept as standard error is, for take_printed(); else it is dropped.
    bool keep_output = false;
  };

  /// Starts `program` with the socket as descriptor 3, standard input from /dev/null, standard
  /// output dropped or kept, standard error kept (the last 4 KiB go into messages), no other
  /// descriptor, an environment of PATH, LANG, library paths, visible devices, the CUDA driver, the
  /// OpenBLAS and OpenMP thread counts and malloc's thresholds, in a session of its own. The
  /// child ends with the parent, whichever of the parent's threads started it.
  ///
  /// Throws std::runtime_error if the program cannot be started.
  explicit Process(const Command& command);
  Process(const fs::path& program, const std::vector<std::string>& arguments, const Limits& limits)
      : Process(Command{program, arguments, limits, std::nullopt, false}) {}
  ~Process();                   // kills the whole group and reaps it
  Process(Process&&) = delete;  // nor copied

  /// Sends bytes, together with a descriptor unless `descriptor` is -1.
  ///
  /// Throws ProcessEnded if the child has ended, ProcessTimeout if it does not read in time.
  void send(const void* data, std::size_t bytes, int descriptor = -1,
            const Patience& patience = Deadline::max());
  /// Receives exactly that many bytes, or throws ProcessEnded or ProcessTimeout.
  void receive(void* data, std::size_t bytes, const Patience& patience);

  /// From now on: that much processor time of `processors` processors. On a machine that is busy
  /// with other work that may take up to `clock_factor` times as long by the clock, as sleeping
  /// may; with 1, the clock alone decides.
  Patience within(double seconds, double clock_factor, double processors = 1) const;
  /// Processor time of the child and all that it has started, as it was seen a moment ago. What
  /// hides from its parents is not in it. 0 until something has been waited for that has limits.
  double processor_seconds() const { return processor_seconds_; }

  /// What the child has written since this was last called; the last 2 KiB of each. Does not wait.
  struct Printed {
    std::string output, error;
  };
  Printed take_printed();

  pid_t pid() const { return pid_; }
  /// Whether the child has sent bytes that have not been received yet.
  bool has_spoken() const;

 private:
  /// The reading end of the child's standard output or error.
  struct Stream {
    int descriptor = -1;  // -1: not kept, or closed by the child
    std::string last;     // the end of all that it wrote there
    std::string recent;   // the end of what has not been taken yet
    bool cut = false;     // `recent` had a beginning
  };

  void wait_for(short events, const Patience& patience);
  void check_limits();
  [[noreturn]] void kill_for(const std::string& why, bool of_memory);
  bool drain(Stream& stream);
  std::string take(Stream& stream);
  void kill_and_reap();
  [[noreturn]] void ended();

  pid_t pid_ = -1;
  pid_t inner_ = 0;  // the first process of the wrapper's namespace, once it was seen
  bool reaped_ = false;
  int socket_ = -1;
  Stream output_, error_;
  HowEnded how_ended_;
  Limits limits_;
  /// Where the kernel counts memory; else memory_ does.
  std::unique_ptr<ControlGroup> group_;
  MemoryMeter memory_;
  bool was_over_ = false;  // at the last look
  DiskMeter disk_;
  double processor_seconds_ = 0;
  Deadline next_look_ = std::chrono::steady_clock::now();  // at memory, tasks and processor time
  bool wrapper_ = false;
};

/// That many seconds from now, or the latest time point if that is centuries away.
Process::Deadline deadline_in(double seconds);

/// Processes started from now on keep the large blocks that they free, instead of asking the system
/// for new pages at each call.
void keep_freed_memory();

/// "60 s", "0.5 s".
std::string seconds_text(double seconds);

/// All that a child needs between fork and exec, where it may not allocate.
struct ProcessStart {
  const char* program;
  char* const* arguments;
  char* const* environment;
  Process::Limits limits;
  int socket, output, error, null, report;
  int group;  // where to join a control group; -1: none
  pid_t parent;
};

/// For Process alone (start_process.cpp): the child's number, or -1 and errno. What fails in the
/// child is written to `report`, as an int.
pid_t start_process(const ProcessStart& what);

/// What a command has written to its standard output, and how it ended.
struct CommandOutput {
  std::string text;
  // -1: it could not be started; 127: there is no such program; 128 and the number: a signal.
  int exit_code = 0;
};

/// Runs a command line of /bin/sh to its end, without a limit or a sandbox.
CommandOutput command_output(const std::string& command);

}  // namespace prenorm::harness
