// A control group (cgroup v2) for a child process and all that it starts. The kernel counts in it
// what no reading of /proc shows: buffers of sockets, names of files, page tables, files in memory.
#pragma once

#include "base/open_file.hpp"
#include "base/paths.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace prenorm::harness {

class ControlGroup {
 public:
  struct Limits {
    std::size_t memory = 0;  // bytes; 0: none
    std::size_t tasks = 0;   // processes and threads; 0: none
  };

  /// Nothing where this process may make no group that limits memory: see availability().
  static std::unique_ptr<ControlGroup> make(const Limits& limits);

  /// What groups do here ("memory, tasks and processors are limited"), or why there are none.
  struct Availability {
    bool available;
    std::string what;
  };
  static Availability availability();

  /// Kills what is in it, and removes it.
  ~ControlGroup();
  ControlGroup(ControlGroup&&) = delete;  // nor copied

  /// A descriptor: a process that writes "0" there joins the group.
  int entrance() const { return entrance_.get(); }
  /// Whether the kernel has ended what is in it, for it took more memory than it may.
  bool ran_out_of_memory() const;
  void kill() const;

 private:
  explicit ControlGroup(const fs::path& folder);

  fs::path folder_;
  OpenFile entrance_;
};

}  // namespace prenorm::harness
