// The supervisor a submission's: it reaps whatever loses its parent, ends as the submission
// does, and answers what the filter asks it: whether there may be another process or thread, and,
// where there is no network namespace, for a connection between its processes.
#pragma once

#include <cstddef>

namespace prenorm::sandbox {

/// From now on, and until it executes a program, nobody inside may open this process's memory.
///
/// Throws std::system_error.
void hide_memory();

/// Goes on in a child, while this process becomes the parent of all that loses its own. It serves
/// the child's filter (serve()) until the child ends, and then ends as that did.
class Supervised {
 public:
  struct Options {
    /// There is no PID namespace: the child is killed when this process ends, and this process,
    /// with all that runs in its group, when its own parent does.
    bool alone;
    std::size_t tasks;  // processes and threads that there may be below; 0: any number
  };

  /// Returns in the child alone. Throws std::system_error.
  explicit Supervised(const Options& options);

  /// Hands over the descriptor of the child's filter, and closes it. Returns when the supervisor
  /// is confined itself.
  void serve(int listener) const;

 private:
  int socket_ = -1;
};

}  // namespace prenorm::sandbox
