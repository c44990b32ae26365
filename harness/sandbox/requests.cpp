#include "sandbox/requests.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace prenorm::sandbox {
namespace {

using harness::OpenFile;

constexpr unsigned thread_too = 0x80;  // PIDFD_THREAD: pidfd_open() takes a thread's number
/// How often a connection is tried that finds no room.
constexpr std::chrono::milliseconds between_tries{5};
/// Long enough for the grader to see that the limit is reached, and to report it.
constexpr std::chrono::milliseconds before_refusal{300};

/// When a socket's own limit (SO_SNDTIMEO) is over.
std::chrono::steady_clock::time_point end_of_waiting(int socket) {
  timeval limit{};
  socklen_t size = sizeof limit;
  const bool known = ::getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) == 0;
  const auto most = std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec);
  constexpr std::chrono::hours longest{24};
  if (!known || most.count() <= 0 || most > longest)
    return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::now() + most;
}

/// 0, or why not: EAGAIN where the other end has no room. The caller's own socket may block, which
/// this process may not.
int connect_at_once(int socket, const sockaddr_un& name, socklen_t bytes) {
  const int flags = ::fcntl(socket, F_GETFL);
  const bool blocks = (flags & O_NONBLOCK) == 0;
  if (blocks) ::fcntl(socket, F_SETFL, flags | O_NONBLOCK);
  const bool done = ::connect(socket, reinterpret_cast<const sockaddr*>(&name), bytes) == 0;
  const int reason = errno;
  if (blocks) ::fcntl(socket, F_SETFL, flags);
  return done ? 0 : reason;
}

}  // namespace

Requests::Requests(int listener, const Scratch& scratch, const TaskLimit& tasks, std::size_t shared)
    : listener_(listener),
      scratch_(scratch),
      tasks_(tasks),
      shared_left_(shared > 0 ? shared : std::numeric_limits<std::uint64_t>::max()) {
  const int failed = ::seccomp_notify_alloc(&asked_, &reply_);
  if (failed != 0) throw std::system_error(-failed, std::generic_category(), "no notifications");
}

void Requests::take() {
  *asked_ = {};
  if (::seccomp_notify_receive(listener_, asked_) != 0) return;  // whoever asked has ended
  if (asked_->data.nr == SYS_connect) {
    connect();
  } else if (asked_->data.nr == SYS_mmap) {
    const bool may = may_share(asked_->data.args[1]);
    answer(asked_->id, may ? 0 : ENOMEM, may ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0);
  } else if (tasks_.admits()) {  // all others make a process or a thread
    answer(asked_->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
  } else {
    waiting_.push_back({asked_->id, Clock::now() + before_refusal, OpenFile(), {}});
  }
}

/// Of all that was ever shared: when it is given back, nobody tells.
bool Requests::may_share(std::uint64_t bytes) {
  if (bytes > shared_left_) return false;
  shared_left_ -= bytes;
  return true;
}

void Requests::look_again() {
  std::vector<Waiting> others;
  for (Waiting& each : std::exchange(waiting_, {})) {
    if (Clock::now() < each.next) {
      others.push_back(std::move(each));
    } else if (!each.socket.is_open()) {
      answer(each.id, EAGAIN);
    } else if (::seccomp_notify_id_valid(listener_, each.id) == 0) {
      const int result = connect_to(each.address, each.socket.get());
      each.next = Clock::now() + between_tries;
      if (result == EAGAIN && Clock::now() < each.end) {
        others.push_back(std::move(each));
      } else {
        answer(each.id, result);
      }
    }
  }
  waiting_ = std::move(others);
}

int Requests::milliseconds_left() const {
  if (waiting_.empty()) return -1;
  const auto first = std::ranges::min_element(waiting_, {}, &Waiting::next);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first->next - Clock::now());
  return static_cast<int>(std::max<long long>(0, left.count()));
}

void Requests::connect() {
  Address address;
  if (const int reason = read_address(address)) return answer(asked_->id, reason);
  OpenFile socket = socket_of_caller();
  if (!socket.is_open()) return answer(asked_->id, EBADF);
  const int result = connect_to(address, socket.get());
  const bool blocks = (::fcntl(socket.get(), F_GETFL) & O_NONBLOCK) == 0;
  if (result != EAGAIN || !blocks) return answer(asked_->id, result);
  const Clock::time_point end = end_of_waiting(socket.get());
  waiting_.push_back({asked_->id, Clock::now() + between_tries, std::move(socket), address, end});
}

/// Copies the address, so that nobody can change it afterwards. 0, or why not.
int Requests::read_address(Address& address) const {
  const std::uint64_t bytes = asked_->data.args[2];
  if (bytes <= offsetof(sockaddr_un, sun_path) || bytes > sizeof address.name) return EINVAL;
  iovec here{&address.name, bytes};
  iovec there{reinterpret_cast<void*>(asked_->data.args[1]), bytes};
  const auto caller = static_cast<pid_t>(asked_->pid);
  if (::process_vm_readv(caller, &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes)) {
    return EFAULT;
  }
  address.bytes = static_cast<socklen_t>(bytes);
  return address.name.sun_family == AF_UNIX ? 0 : EACCES;
}

/// A duplicate of the descriptor that is to be connected.
OpenFile Requests::socket_of_caller() const {
  const OpenFile process(::syscall(SYS_pidfd_open, static_cast<pid_t>(asked_->pid), thread_too));
  // The number may be another thread's by now.
  if (!process.is_open() || ::seccomp_notify_id_valid(listener_, asked_->id) != 0) {
    return OpenFile();
  }
  return OpenFile(
      ::syscall(SYS_pidfd_getfd, process.get(), static_cast<int>(asked_->data.args[0]), 0));
}

/// Landlock lets this process connect to abstract sockets of its own domain only, which are those
/// of its children. It does not ask about others: these must lie in the scratch folder. 0, or why
/// not.
int Requests::connect_to(const Address& address, int socket) const {
  if (address.name.sun_path[0] == '\0') return connect_at_once(socket, address.name, address.bytes);
  const std::size_t most = address.bytes - offsetof(sockaddr_un, sun_path);
  const std::string path(address.name.sun_path, ::strnlen(address.name.sun_path, most));
  if (!path.starts_with(scratch_.path)) return EACCES;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* inside = path.c_str() + scratch_.path.size();
  const OpenFile file(::syscall(SYS_openat2, scratch_.folder, inside, &how, sizeof how));
  if (!file.is_open()) return errno;
  sockaddr_un opened{};
  opened.sun_family = AF_UNIX;
  std::snprintf(opened.sun_path, sizeof opened.sun_path, "/proc/self/fd/%d", file.get());
  return connect_at_once(socket, opened, sizeof opened);
}

void Requests::answer(std::uint64_t id, int error, std::uint32_t flags) {
  *reply_ = {};
  reply_->id = id;
  reply_->error = -error;
  reply_->flags = flags;
  ::seccomp_notify_respond(listener_, reply_);
}

}  // namespace prenorm::sandbox
