// Limits a submission's sockets, whose buffers are memory of the kernel's that no process has: they
// stay when their sockets are on their way in others, or wait to be accepted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace prenorm::sandbox {

/// For the supervisor, which is asked before each socket() and socketpair().
class SocketLimit {
 public:
  /// At most that many at a time, beside those that there are now. 0: any number.
  ///
  /// Counted are those of the network namespace. Where it is the machine's, sockets that others
  /// make from now on count, too, as long as they are there.
  explicit SocketLimit(std::size_t most);

  /// Whether there may be another pair; or one socket, and that by which it will be answered. Waits
  /// where the limit is reached by some that may not be made yet; a refusal that follows another
  /// costs a count only.
  bool admits();
  /// The last ones that were admitted were not made: whoever asked has been interrupted.
  void take_back();

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<std::size_t> count() const;

  std::size_t most_, left_;
  std::set<std::uint64_t> before_;  // by the kernel's numbers
  Clock::time_point last_admitted_{};
};

/// Whether a socket has that path, or nobody can say. One that was accepted shows the path of the
/// one that listened, which may be closed: connected ones do not count.
bool is_bound(const std::string& path);

}  // namespace prenorm::sandbox
