// A message through a Unix socket that passes a descriptor on. Only a header: programs that link no
// floor use it, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

namespace prenorm::harness {

/// Bytes to send or to receive through a Unix socket, with at most one descriptor.
class SocketMessage {
 public:
  SocketMessage(void* data, std::size_t bytes) : part_{data, bytes} {
    header_.msg_iov = &part_;
    header_.msg_iovlen = 1;
  }
  SocketMessage(SocketMessage&&) = delete;  // nor copied

  /// As sendmsg() does.
  ssize_t send(int socket, int descriptor, int flags) {
    if (descriptor >= 0) {
      make_room();
      cmsghdr* control = CMSG_FIRSTHDR(&header_);
      control->cmsg_level = SOL_SOCKET;
      control->cmsg_type = SCM_RIGHTS;
      control->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
    }
    return ::sendmsg(socket, &header_, flags);
  }

  /// As recvmsg() does; descriptor() is what came with the bytes.
  ssize_t receive(int socket) {
    make_room();
    const ssize_t got = ::recvmsg(socket, &header_, MSG_CMSG_CLOEXEC);
    const cmsghdr* control = got > 0 ? CMSG_FIRSTHDR(&header_) : nullptr;
    if (control != nullptr && control->cmsg_type == SCM_RIGHTS &&
        control->cmsg_len == CMSG_LEN(sizeof(int))) {
      std::memcpy(&descriptor_, CMSG_DATA(control), sizeof(int));
    }
    return got;
  }
  int descriptor() const { return descriptor_; }

 private:
  void make_room() {
    header_.msg_control = control_.data();
    header_.msg_controllen = control_.size();
  }

  iovec part_;
  msghdr header_{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  int descriptor_ = -1;
};

}  // namespace prenorm::harness
