// The process above a submission's: it reaps whatever loses its parent, ends as the submission
// does, and, where there is no network namespace, makes connections between its processes.
#pragma once

#include <sys/types.h>

namespace prenorm::sandbox {

/// From now on, and until it executes a program, nobody inside may open this process's memory.
///
/// Throws std::system_error.
void hide_memory();

/// Goes on in a child, while this process, as confined as the child, stays the first of its PID
/// namespace.
///
/// Throws std::system_error.
void stay_first();

/// Goes on in a child, which is killed when this process ends, while this process becomes the
/// parent of all that loses its own. It serves the child's filter (serve()) until the child ends.
class Supervised {
 public:
  /// Returns in the child alone. Throws std::system_error.
  Supervised();

  /// Hands over the descriptor of the child's filter, or -1: there is nothing to serve. Closes it.
  /// Returns when this process's guardian is confined itself.
  void serve(int listener) const;

 private:
  int socket_ = -1;
};

}  // namespace prenorm::sandbox
