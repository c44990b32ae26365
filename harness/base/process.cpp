#include "base/process.hpp"

#include "base/open_file.hpp"
#include "base/proc_stat.hpp"
#include "base/socket_message.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace prenorm::harness {
namespace {

constexpr std::size_t kept_error_bytes = 4096;
constexpr std::size_t kept_printed_bytes = 2048;
/// How long a child that closed its socket may take to end.
constexpr std::chrono::milliseconds grace{500};
/// How often a child's memory and processes are checked.
constexpr std::chrono::milliseconds between_looks = 2 * Family::most_age;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Above the numbers that the child's descriptors will get; none if that failed.
OpenFile moved_up(int low) {
  OpenFile high(::fcntl(low, F_DUPFD_CLOEXEC, 10));
  ::close(low);
  return high;
}

/// Both ends of a socket or pipe. Owned from the start, so that no error leaks one.
struct Pair {
  explicit Pair(const std::array<int, 2>& ends)
      : first(moved_up(ends[0])), second(moved_up(ends[1])) {
    if (first.is_open() && second.is_open()) return;
    errno = EMFILE;  // the only possible error of fcntl() here
    fail("cannot duplicate a descriptor");
  }
  OpenFile first, second;
};

Pair socket_pair() {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail("cannot make a socket");
  }
  return Pair(ends);
}

Pair pipe_pair() {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
  return Pair(ends);
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> kept;
  for (const char* name :
       {"PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PRENORM_CUDA_DRIVER",
        "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "OMP_WAIT_POLICY",
        "OMP_PROC_BIND", "MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "ASAN_OPTIONS",
        "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) kept.push_back(std::string(name) + "=" + value);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

HowEnded describe(const siginfo_t& info, bool wrapper) {
  int signal = info.si_status;
  if (info.si_code == CLD_EXITED) {
    if (!wrapper || signal <= 128) return {"exit code " + std::to_string(signal), signal};
    signal -= 128;
  }
  const char* name = ::sigabbrev_np(signal);
  return {"killed by " +
              (name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal)),
          -1, signal};
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(children), {}};
}

/// The first process of the namespace that a wrapper has made, whose group is another; 0: none.
pid_t first_of_namespace(pid_t wrapper) {
  for (const pid_t child : children_of(wrapper)) {
    const auto stat = read_proc_stat("/proc/" + std::to_string(child));
    if (stat && stat->group != wrapper) return child;
  }
  return 0;
}

/// Ends what a wrapper has started and waits until the wrapper notices: the first process of a
/// namespace is gone only when all the others in it are.
void end_namespace(pid_t wrapper) {
  bool any = false;
  for (const pid_t child : children_of(wrapper)) any = ::kill(child, SIGKILL) == 0 || any;
  const auto end = std::chrono::steady_clock::now() + grace;
  siginfo_t info{};
  while (any &&
         ::waitid(P_PID, static_cast<id_t>(wrapper), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string too_much_memory(std::size_t limit) {
  return fmt::format("took more than {:.3g} GiB of memory", static_cast<double>(limit) / 0x1p30);
}

/// Of a group whose first process has been reaped: those that have lost their parents, and are this
/// process's own by now.
void reap_group(pid_t group) {
  constexpr std::chrono::seconds longest{10};  // many that end at once, on a busy machine
  const auto end = std::chrono::steady_clock::now() + longest;
  pid_t ended = 0;
  while ((ended = ::waitpid(-group, nullptr, WNOHANG)) >= 0 || errno == EINTR) {
    if (std::chrono::steady_clock::now() > end) return;
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int milliseconds_until(Process::Deadline deadline) {
  if (deadline == Process::Deadline::max()) return -1;
  const auto left = deadline - std::chrono::steady_clock::now();
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<long long>(count, 0, std::numeric_limits<int>::max()));
}

}  // namespace

void keep_freed_memory() {
  ::setenv("MALLOC_MMAP_MAX_", "0", 1);
  ::setenv("MALLOC_TRIM_THRESHOLD_", "1099511627776", 1);
}

Process::Deadline deadline_in(double seconds) {
  constexpr double for_ever = 1e9;  // well within the clock's 64 bits
  if (!(seconds < for_ever)) return Process::Deadline::max();
  using Clock = std::chrono::steady_clock;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string seconds_text(double seconds) { return fmt::format("{:g} s", seconds); }

Process::Process(const Command& command) : limits_(command.limits), wrapper_(command.wrapper) {
  std::vector<std::string> words{command.program.string()};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> variables =
      command.environment ? *command.environment : inherited_environment();
  const std::vector<char*> argument_list = pointers(words);
  const std::vector<char*> variable_list = pointers(variables);

  Pair sockets = socket_pair();
  Pair outputs = pipe_pair();
  Pair errors = pipe_pair();
  Pair reports = pipe_pair();  // carries errno if exec fails; closes silently if it succeeds
  const int opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (opened < 0) fail("cannot open /dev/null");
  const OpenFile null = moved_up(opened);
  if (!null.is_open()) fail("cannot duplicate a descriptor");
  for (const Pair* pair : {&outputs, &errors}) ::fcntl(pair->first.get(), F_SETFL, O_NONBLOCK);

  // The sandbox has some tasks of its own; check_limits() counts them exactly.
  constexpr std::size_t more_tasks = 8;
  if (limits_.resident > 0) {
    group_ =
        ControlGroup::make({limits_.resident, limits_.tasks == 0 ? 0 : limits_.tasks + more_tasks});
  }
  const std::string name = command.program.string();
  pid_ = start_process(
      {name.c_str(), argument_list.data(), variable_list.data(), limits_, sockets.second.get(),
       command.keep_output ? outputs.second.get() : null.get(), errors.second.get(), null.get(),
       reports.second.get(), group_ ? group_->entrance() : -1, ::getpid()});
  if (pid_ < 0) fail("cannot start " + name);
  reports.second.close();
  int reason = 0;
  ssize_t got = 0;
  do got = ::read(reports.first.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got == sizeof reason) {
    kill_and_reap();
    errno = reason;
    fail("cannot start " + name);
  }
  socket_ = sockets.first.release();
  error_.descriptor = errors.first.release();
  output_.descriptor = outputs.first.release();
}

Process::~Process() {
  kill_and_reap();
  ::close(socket_);
  ::close(output_.descriptor);
  ::close(error_.descriptor);
}

void Process::kill_and_reap() {
  if (reaped_) return;
  if (wrapper_) end_namespace(pid_);
  if (group_) group_->kill();
  ::kill(-pid_, SIGKILL);  // the group: includes what the child has started
  ::kill(pid_, SIGKILL);   // in case it has not created its group yet
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  reap_group(pid_);
  if (inner_ > 0) reap_group(inner_);  // where the kernel has ended the wrapper first
  reaped_ = true;
}

/// Reads what lies in the pipe, and keeps the end of it. False if there was nothing.
bool Process::drain(Stream& stream) {
  if (stream.descriptor < 0) return false;
  std::array<char, 65536> part;  // what a pipe holds, unless the child enlarges it
  const ssize_t got = ::read(stream.descriptor, part.data(), part.size());
  if (got == 0) {  // closed by the child: poll would report that forever
    ::close(stream.descriptor);
    stream.descriptor = -1;
  }
  if (got <= 0) return false;
  const auto keep = [&](std::string& text, std::size_t most) {
    text.append(part.data(), static_cast<std::size_t>(got));
    const bool cut = text.size() > most;
    if (cut) text.erase(0, text.size() - most);
    return cut;
  };
  keep(stream.last, kept_error_bytes);
  stream.cut = keep(stream.recent, kept_printed_bytes) || stream.cut;
  return true;
}

std::string Process::take(Stream& stream) {
  constexpr int most_reads = 16;  // a child that never stops must not keep this process
  for (int reads = 0; reads < most_reads && drain(stream);) ++reads;
  std::string text = std::exchange(stream.recent, "");
  if (std::exchange(stream.cut, false)) {  // at a line's end, if there is one
    const std::size_t end = text.find('\n');
    text = "...\n" + text.substr(end == text.npos ? 0 : end + 1);
  }
  return text;
}

Process::Printed Process::take_printed() { return {take(output_), take(error_)}; }

void Process::ended() {
  if (!reaped_) {
    siginfo_t info{};
    const auto end = std::chrono::steady_clock::now() + grace;
    // WNOWAIT: as long as the zombie exists, its group's number is not reused.
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (group_ && group_->ran_out_of_memory()) kill_for(too_much_memory(limits_.resident), true);
    how_ended_ =
        info.si_pid == 0 ? HowEnded{"closed its socket and went on"} : describe(info, wrapper_);
    kill_and_reap();
    drain(error_);
  }
  std::string text = error_.last;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  throw ProcessEnded(how_ended_, text);
}

void Process::check_limits() {
  Family family = Family::of(pid_);
  processor_seconds_ = std::max(processor_seconds_, family.processor_seconds);
  if (wrapper_ && inner_ == 0) inner_ = first_of_namespace(pid_);
  // What is our own may not be asked what it has open.
  if (wrapper_) {
    std::erase_if(family.members, [this](const Family::Member& member) {
      return member.process == pid_ || member.process == inner_;
    });
  }
  const std::size_t most = limits_.resident;
  // Twice: a child that is about to execute a program is counted with the memory of its parent.
  const bool is_over = !group_ && most > 0 && memory_.bytes(family, most) > most;
  if (is_over && std::exchange(was_over_, true)) kill_for(too_much_memory(most), true);
  if (!is_over) was_over_ = false;
  if (limits_.tasks > 0 && family.tasks > limits_.tasks) {
    kill_for(fmt::format("had more than {} processes and threads", limits_.tasks), false);
  }
  if (const auto why = disk_.exceeded(family, limits_.folders, limits_.disk)) {
    kill_for("wrote to a folder that " + *why, false);
  }
}

void Process::kill_for(const std::string& why, bool of_memory) {
  how_ended_ = {"killed: it " + why};
  kill_and_reap();
  throw ProcessOverLimit(why, of_memory);
}

void Process::wait_for(short events, const Patience& patience) {
  const bool limited =
      limits_.resident > 0 || limits_.tasks > 0 || patience.latest > patience.soonest;
  while (true) {
    std::array<pollfd, 3> watched{
        {{socket_, events, 0}, {error_.descriptor, POLLIN, 0}, {output_.descriptor, POLLIN, 0}}};
    const Deadline until = limited ? std::min(patience.latest, next_look_) : patience.latest;
    const int ready = ::poll(watched.data(), watched.size(), milliseconds_until(until));
    if (ready < 0 && errno != EINTR) fail("cannot wait for a child process");
    if (limited && std::chrono::steady_clock::now() >= next_look_) {
      check_limits();
      next_look_ = std::chrono::steady_clock::now() + between_looks;
    }
    if (ready > 0 && watched[1].revents != 0) drain(error_);
    if (ready > 0 && watched[2].revents != 0) drain(output_);
    // Bytes that come one by one put off no deadline.
    const Deadline now = std::chrono::steady_clock::now();
    const bool late = now >= patience.latest ||
                      (now >= patience.soonest && processor_seconds_ >= patience.processor_seconds);
    if (ready > 0 && watched[0].revents != 0 && !late) return;
    if (late) {
      how_ended_ = {"killed: it did not answer in time"};
      kill_and_reap();
      throw ProcessTimeout("no answer within the time limit");
    }
  }
}

void Process::send(const void* data, std::size_t bytes, int descriptor, const Patience& patience) {
  if (reaped_) ended();
  const auto* next = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    SocketMessage message(const_cast<std::byte*>(next), bytes);
    const ssize_t sent = message.send(socket_, descriptor, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      next += sent;
      bytes -= static_cast<std::size_t>(sent);
      descriptor = -1;  // it went with the first bytes
    } else if (errno == EAGAIN || errno == EINTR) {
      wait_for(POLLOUT, patience);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      ended();
    } else {
      fail("cannot send to a child process");
    }
  }
}

Process::Patience Process::within(double seconds, double clock_factor, double processors) const {
  const Deadline soonest = deadline_in(seconds);
  return {soonest, processor_seconds_ + seconds * processors,
          clock_factor > 1 ? deadline_in(seconds * clock_factor) : soonest};
}

bool Process::has_spoken() const {
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void Process::receive(void* data, std::size_t bytes, const Patience& patience) {
  if (reaped_) ended();
  auto* next = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket_, next, bytes, MSG_DONTWAIT);
    if (got > 0) {
      next += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got == 0 || errno == ECONNRESET) {
      ended();
    } else if (errno == EAGAIN || errno == EINTR) {
      wait_for(POLLIN, patience);
    } else {
      fail("cannot receive from a child process");
    }
  }
}

CommandOutput command_output(const std::string& command) {
  CommandOutput output;
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return {"", -1};
  std::array<char, 1 << 14> some{};
  for (std::size_t got; (got = std::fread(some.data(), 1, some.size(), pipe)) > 0;) {
    output.text.append(some.data(), got);
  }
  const int status = ::pclose(pipe);
  output.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return output;
}

}  // namespace prenorm::harness
