// prenorm-worker: the process that loads a solution's library and calls its functions. It never
// sees an expected output, and judges nothing. The protocol on descriptor 3: protocol.md.
#include "base/socket_message.hpp"
#include "worker/library.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace prenorm::harness;

constexpr int socket_descriptor = 3;

/// What the signal handler reports about the current call.
protocol::Fault last_words;

void send_all(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = ::send(socket_descriptor, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) ::_exit(0);  // the program is gone
    if (sent > 0) {
      data += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
}

void send_all(const std::string& message) { send_all(message.data(), message.size()); }

pid_t worker = 0;  // this process, and none that a solution has forked

/// Reports the address of an invalid access. The same access, repeated when this handler
/// returns, ends the process.
void on_fault(int number, siginfo_t* info, void*) {
  if (info->si_code <= 0) {  // sent by a program: there is no access to repeat
    ::raise(number);
    return;
  }
  if (::getpid() != worker) return;
  last_words.signal = number;
  last_words.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  send_all(reinterpret_cast<const char*>(&last_words), sizeof last_words);
}

void catch_faults() {
  worker = ::getpid();
  static std::array<std::byte, 1 << 16>
      stack;  // a separate stack: the fault may be a stack overflow
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  last_words.header = {static_cast<std::uint32_t>(protocol::Kind::fault),
                       sizeof last_words - sizeof last_words.header};
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS}) ::sigaction(number, &action, nullptr);
  // A sanitizer's handlers would turn these into an exit.
  for (const int number : {SIGFPE, SIGILL, SIGABRT}) ::signal(number, SIG_DFL);
}

/// If memory runs out, the kernel shall kill this process rather than the judging program.
void volunteer_for_the_oom_killer() { std::ofstream("/proc/self/oom_score_adj") << "1000"; }

/// Limits the address space to its current size plus some bytes.
class MemoryLimit {
 public:
  /// For this process, from now on; 0: none.
  explicit MemoryLimit(std::uint64_t more) : set_(more > 0) {
    if (!set_) return;
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    limit_.rlim_cur = std::min(before_.rlim_max, pages * page_size() + more);
    limit_.rlim_max = before_.rlim_max;
    ::setrlimit(RLIMIT_AS, &limit_);
  }

  /// From now on, nothing in this process can change it.
  void keep() {
    if (!set_) return;
    limit_.rlim_max = limit_.rlim_cur;
    ::setrlimit(RLIMIT_AS, &limit_);
  }

  void lift() {
    if (set_) ::setrlimit(RLIMIT_AS, &before_);
  }

 private:
  static rlim_t page_size() { return static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)); }

  bool set_;
  rlimit before_{}, limit_{};
};

struct Message {
  protocol::Kind kind{};
  std::string payload;
  int descriptor = -1;  // that came with it
};

void receive_all(void* data, std::size_t bytes, int* descriptor) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    SocketMessage message(next, bytes);
    const ssize_t got = message.receive(socket_descriptor);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(0);  // no more work; the library's exit handlers do not run
    if (message.descriptor() >= 0) *descriptor = message.descriptor();
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

Message receive() {
  Message message;
  protocol::Header header;
  receive_all(&header, sizeof header, &message.descriptor);
  if (header.bytes > protocol::largest_message) throw protocol::Malformed("too long a message");
  message.kind = static_cast<protocol::Kind>(header.kind);
  message.payload.resize(header.bytes);
  receive_all(message.payload.data(), header.bytes, &message.descriptor);
  return message;
}

std::unique_ptr<Library> load(const std::string& payload) {
  const protocol::Load request = protocol::decode<protocol::Load>(payload);
  MemoryLimit limit(request.memory);
  try {
    auto library = std::make_unique<Library>(request.library);
    if (library->description().device == kDLCPU) {
      limit.keep();
    } else {
      // A device's driver maps all of its memory, and as much of the host's as there may ever be,
      // into one space of addresses: hundreds of gigabytes that nobody uses. No limit on addresses
      // fits that, and what such a solution takes of the host's own memory is little. Where it is
      // not, the kernel ends this process first.
      limit.lift();
    }
    library->open_device();
    send_all(encode(library->description()));
    return library;
  } catch (const std::exception& error) {
    send_all(encode(protocol::LoadFailed{error.what()}));
    return nullptr;
  }
}

std::unique_ptr<GuardedMemory> map(const Layout& layout, int descriptor) {
  std::unique_ptr<GuardedMemory> memory;
  try {
    memory = std::make_unique<GuardedMemory>(layout, descriptor);
  } catch (const std::bad_alloc&) {  // nothing, then
  }
  ::close(descriptor);
  return memory;
}

void call(const Library& library, const std::string& payload, int descriptor) {
  const protocol::CallMessage request = protocol::decode<protocol::CallMessage>(payload);
  std::unique_ptr<GuardedMemory> memory = map(request.layout(), descriptor);
  protocol::Returned answer;
  if (memory) {
    last_words.number = request.number;
    last_words.base = reinterpret_cast<std::uint64_t>(memory->base());
    answer = library.call(request, *memory);
    std::cout.flush();  // what it printed belongs to this call
    std::fflush(nullptr);
    last_words.number = last_words.base = 0;
    memory.reset();  // inaccessible to the solution before the program checks it
  } else {
    answer.number = request.number;
    answer.how = protocol::Returned::How::out_of_memory;
    answer.what = "no memory for the tensors of the call";
  }
  send_all(encode(answer));
}

[[noreturn]] void serve() {
  std::unique_ptr<Library> library;
  while (true) {
    const Message message = receive();
    if (message.kind == protocol::Kind::load && !library) {
      library = load(message.payload);
    } else if (message.kind == protocol::Kind::call && library && message.descriptor >= 0) {
      call(*library, message.payload, message.descriptor);
    } else if (message.kind == protocol::Kind::measure_copy && library) {
      send_all(encode(library->copy_bandwidth()));
    } else if (message.kind == protocol::Kind::take_counts && library) {
      send_all(encode(library->take_counts()));
    } else {
      throw protocol::Malformed("a message out of turn");
    }
  }
}

}  // namespace

int main() {
  try {
    volunteer_for_the_oom_killer();
    catch_faults();
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a crash loses no whole line
    serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "prenorm-worker: %s\n", error.what());
    std::_Exit(70);
  }
}
