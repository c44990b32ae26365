#include "base/memory_meter.hpp"

#include "base/open_file.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <sys/socket.h>
#include <system_error>

namespace prenorm::harness {
namespace {

/// What a pipe holds: the kernel gives a user that many of the usual size, and then small ones.
constexpr std::size_t bytes_of_pipe = 64u << 10, usual_pipes = 1024,
                      bytes_of_small_pipe = 10u << 10;
/// What the kernel keeps of a file in /proc that is being read.
constexpr std::size_t bytes_of_proc_file = 256u << 10;
/// The kernel's record of a descriptor that an epoll descriptor watches. It does not say how many
/// there are: each may watch all that its process has.
constexpr std::size_t bytes_of_watch = 256;
/// The kernel's records of a mapping: its own, and one for each process that it has been forked
/// from. The latter count where there are many mappings only: else it would be too much by far.
constexpr std::size_t bytes_of_mapping = 256, bytes_of_ancestor = 64, many_mappings = 8192;

/// How often is counted what no number of a process's own shows: the kernel's part, and what is
/// shared.
constexpr std::chrono::milliseconds between_counts{150};
/// How long a count is waited for, how long where it matters, and after which time whoever keeps
/// the kernel from answering counts as if nothing were shared.
constexpr std::chrono::milliseconds usual_wait{20}, longer_wait{300}, longest_count{1000};

std::string path_of(pid_t process, const char* file) {
  return "/proc/" + std::to_string(process) + "/" + file;
}

/// "Pss:  1234 kB" in a file of /proc, in bytes; or a plain number.
std::map<std::string, std::size_t> numbers_in(const std::string& path) {
  std::map<std::string, std::size_t> numbers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::size_t number = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
    numbers[line.substr(0, colon)] = line.ends_with("kB") ? number << 10 : number;
  }
  return numbers;
}

/// What the kernel holds for a family, and no process's own memory shows.
class Held {
 public:
  explicit Held(std::size_t members) : members_(members) {}

  void add_status(pid_t process) {
    auto status = numbers_in(path_of(process, "status"));
    bytes_ += status["VmPTE"];
    // What cannot be read counts as the most that it may be.
    if (!add_descriptors(process)) bytes_ += bytes_of_socket_ * status["FDSize"];
  }

  void add_mappings(pid_t process) {
    std::ifstream lines(path_of(process, "maps"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    const bool are_many = count > many_mappings;
    bytes_ += count * (bytes_of_mapping + (are_many ? bytes_of_ancestor * members_ : 0));
  }

  std::size_t bytes() const {
    return bytes_ + bytes_of_socket_ * sockets_.size() + bytes_of_small_pipe * pipes_.size() +
           bytes_of_pipe * std::min(pipes_.size(), usual_pipes);
  }

 private:
  /// By the numbers that the kernel gives them: several processes may have them.
  bool add_descriptors(pid_t process) {
    std::size_t epolls = 0, all = 0;
    const bool is_seen = visit_descriptors(process, [&](int folder, const char* link) {
      std::array<char, 64> target;
      const ssize_t got = ::readlinkat(folder, link, target.data(), target.size());
      const std::string name(target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
      if (name.starts_with("socket:")) sockets_.insert(name);
      if (name.starts_with("pipe:")) pipes_.insert(name);
      if (name.starts_with("/proc/")) bytes_ += bytes_of_proc_file;
      epolls += name == "anon_inode:[eventpoll]" ? 1 : 0;
      ++all;
    });
    bytes_ += epolls * all * bytes_of_watch;
    return is_seen;
  }

  std::size_t bytes_of_socket_ = MemoryMeter::bytes_of_socket();
  std::size_t members_;
  std::size_t bytes_ = 0;
  std::set<std::string> sockets_, pipes_;
};

/// Each process with its part of what it shares.
std::size_t resident_shared_once(const Family& family) {
  std::size_t sum = 0;
  for (const Family::Member& member : family.members) {
    auto part = numbers_in(path_of(member.process, "smaps_rollup"));
    const bool is_known = part.contains("Pss");
    const bool has_ended = !is_known && ::kill(member.process, 0) != 0;
    if (!has_ended) sum += is_known ? part["Pss"] : member.resident;
  }
  return sum;
}

MemoryMeter::Count count(const Family& family, std::size_t limit) {
  const auto begin = std::chrono::steady_clock::now();
  Held held(family.members.size());
  // What can grow fastest first.
  for (const Family::Member& member : family.members) held.add_status(member.process);
  for (const Family::Member& member : family.members) {
    if (held.bytes() > limit) break;
    held.add_mappings(member.process);
  }
  const bool may_be_too_much = family.resident + held.bytes() > limit;
  MemoryMeter::Count counted{held.bytes(),
                             may_be_too_much ? resident_shared_once(family) : family.resident,
                             family.resident,
                             {}};
  counted.took = std::chrono::steady_clock::now() - begin;
  return counted;
}

}  // namespace

std::size_t MemoryMeter::bytes_of_socket() {
  // Asked of a socket: not every network namespace shows /proc/sys/net/core/wmem_default.
  static const std::size_t bytes = [] {
    constexpr int usual = 208 << 10;
    const OpenFile socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int room = 0;
    socklen_t size = sizeof room;
    const bool is_known =
        ::getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &room, &size) == 0 && room > 0;
    return 2 * static_cast<std::size_t>(is_known ? room : usual);
  }();
  return bytes;
}

std::size_t MemoryMeter::bytes(const Family& family, std::size_t limit) {
  if (!counting_.valid() && Clock::now() >= next_count_) begin_count(family, limit);
  if (take_count(usual_wait) || at_most(family) <= limit) return at_most(family);
  // By that it is too much. More exactly:
  if (!counting_.valid()) begin_count(family, limit);
  if (take_count(longer_wait)) return at_most(family);
  const bool is_late = Clock::now() - count_began_ > longest_count;
  return is_late ? family.resident + last_.held : limit;
}

void MemoryMeter::begin_count(const Family& family, std::size_t limit) {
  count_began_ = Clock::now();
  try {
    counting_ = std::async(std::launch::async, [family, limit] { return count(family, limit); });
  } catch (const std::system_error&) {
    // There may be no other thread now: later.
  }
}

bool MemoryMeter::take_count(std::chrono::milliseconds wait) {
  if (!counting_.valid() || counting_.wait_for(wait) != std::future_status::ready) return false;
  last_ = counting_.get();
  next_count_ = Clock::now() + std::max<Clock::duration>(between_counts, last_.took);
  return true;
}

std::size_t MemoryMeter::at_most(const Family& family) const {
  const std::size_t grown = family.resident - std::min(family.resident, last_.resident);
  return std::min(family.resident, last_.exact + grown) + last_.held;
}

}  // namespace prenorm::harness
