// The connection to a worker process.
#pragma once

#include "base/process.hpp"
#include "worker/protocol.hpp"

#include <memory>
#include <string>
#include <utility>

namespace prenorm::harness {

/// The worker sent a fault message instead of an answer.
struct Faulted {
  protocol::Fault fault;
};

/// The connection to a worker process: one message out, one in.
class WorkerConnection {
 public:
  /// `belongings` are released when the process has ended.
  WorkerConnection(const Process::Command& worker, std::shared_ptr<const void> belongings)
      : belongings_(std::move(belongings)), process_(worker) {}

  /// False if the process has ended since its last answer, or has sent something unasked, which
  /// would be taken for the answer to another call.
  bool alive() const;

  /// Sends and waits for the answer's payload, which must be of one of two kinds.
  ///
  /// Throws Faulted, protocol::Malformed, and the exceptions of Process.
  std::pair<protocol::Kind, std::string> ask(const std::string& message, int descriptor,
                                             Process::Deadline deadline);

  /// The end of what the process has printed since this was last called, safe to show. Without
  /// standard error where a message has it already: that of a process that ended.
  std::string take_printed(bool error_is_told = false);

 private:
  std::shared_ptr<const void> belongings_;
  Process process_;
};

}  // namespace prenorm::harness
