// The supervisor of a submission. It reaps orphans, exits with the submission's status, and answers
// what the seccomp filter asks: whether there may be one more process, thread or socket, or more
// memory that they share; and, where there is no network namespace, for a connection between the
// submission's processes.
#pragma once

#include <cstddef>

namespace prenorm::sandbox {

/// From now on, and until it executes a program, nobody inside may open this process's memory.
///
/// Throws std::system_error.
void hide_memory();

/// Goes on in a child, while this process becomes the supervisor: the parent of all that loses its
/// own. It answers the child's filter (serve()) until the child ends, and then ends as that did.
class Supervised {
 public:
  struct Options {
    /// There is no PID namespace: the child is killed when this process ends, and this process,
    /// with all that runs in its group, when its own parent does.
    bool alone;
    std::size_t tasks;    // processes and threads that it lets there be, if the filter asks
    std::size_t shared;   // bytes that it lets them share without a file; 0: any number
    std::size_t sockets;  // that it lets there be; 0: any number
  };

  /// Returns in the child alone. Throws std::system_error.
  explicit Supervised(const Options& options);

  /// Hands over the descriptor of the child's filter, and closes it; -1: the filter asks nothing.
  /// Returns when the supervisor is confined itself. Throws std::system_error.
  void serve(int listener) const;

 private:
  int socket_ = -1;
};

}  // namespace prenorm::sandbox
