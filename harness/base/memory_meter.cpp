#include "base/memory_meter.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace prenorm::harness {
namespace {

/// What one end of a socket may have sent that nobody has read: the kernel's usual limit, and a
/// message of that size that it takes before the limit is reached.
constexpr std::size_t bytes_of_socket = 2 * (208u << 10);
/// What a pipe holds: the kernel gives a user that many of the usual size, and then small ones.
constexpr std::size_t bytes_of_pipe = 64u << 10, usual_pipes = 1024,
                      bytes_of_small_pipe = 10u << 10;
/// The kernel's records of a mapping: its own, and one for each process that it has been forked
/// from. The latter count where there are many mappings only: else it would be too much by far.
constexpr std::size_t bytes_of_mapping = 256, bytes_of_ancestor = 64, many_mappings = 8192;

/// How often is counted what no number of a process's own shows: the kernel's part, and what is
/// shared.
constexpr std::chrono::milliseconds between_counts{150};
/// How long a count is waited for, how long where it matters, and after which time whoever keeps
/// the kernel from answering counts as if nothing were shared.
constexpr std::chrono::milliseconds usual_wait{20}, longer_wait{300}, longest_count{1000};
/// Of the time that the last count took.
constexpr int times_of_a_count = 4;

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

  void add(pid_t process) {
    auto status = numbers_in(path_of(process, "status"));
    bytes_ += status["VmPTE"];
    add_mappings(process);
    // What cannot be read counts as the most that it may be.
    if (!add_descriptors(process)) bytes_ += bytes_of_socket * status["FDSize"];
  }

  std::size_t bytes() const {
    return bytes_ + bytes_of_socket * sockets_.size() + bytes_of_small_pipe * pipes_.size() +
           bytes_of_pipe * std::min(pipes_.size(), usual_pipes);
  }

  /// Of shared memory without a file, whoever has it in its page tables.
  std::size_t shared() const {
    std::size_t bytes = 0;
    for (const auto& [file, size] : shared_) bytes += size;
    return bytes;
  }

 private:
  /// By the numbers that the kernel gives them: several processes may have them.
  bool add_descriptors(pid_t process) {
    return visit_descriptors(process, [this](int folder, const char* link) {
      std::array<char, 64> target;
      const ssize_t got = ::readlinkat(folder, link, target.data(), target.size());
      const std::string name(target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
      if (name.starts_with("socket:")) sockets_.insert(name);
      if (name.starts_with("pipe:")) pipes_.insert(name);
    });
  }

  void add_mappings(pid_t process) {
    std::ifstream lines(path_of(process, "maps"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) add_if_shared(line);
    const bool are_many = count > many_mappings;
    bytes_ += count * (bytes_of_mapping + (are_many ? bytes_of_ancestor * members_ : 0));
  }

  /// Shared memory without a file stays when it leaves a process's page tables: its size counts.
  void add_if_shared(const std::string& line) {
    if (!line.ends_with("/dev/zero (deleted)")) return;
    // "7f10-7f20 rw-s 00000000 00:01 2049 /dev/zero (deleted)"
    std::istringstream fields(line);
    std::uint64_t begin = 0, end = 0, offset = 0;
    char dash = 0;
    std::string rights, device, inode;
    fields >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode;
    std::size_t& size = shared_[inode];
    size = std::max<std::size_t>(size, offset + (end - begin));
  }

  std::size_t members_;
  std::size_t bytes_ = 0;
  std::set<std::string> sockets_, pipes_;
  std::map<std::string, std::size_t> shared_;  // by its inode
};

struct Shared {
  std::size_t resident = 0;  // in which each process has its part of what it shares
  std::size_t memory = 0;    // of that, what is no file's on a disk
};

Shared shared_once(const Family& family) {
  Shared sum;
  for (const Family::Member& member : family.members) {
    auto part = numbers_in(path_of(member.process, "smaps_rollup"));
    const bool is_known = part.contains("Pss");
    const bool has_ended = !is_known && ::kill(member.process, 0) != 0;
    if (has_ended) continue;
    sum.resident += is_known ? part["Pss"] : member.resident;
    sum.memory += part["Pss_Shmem"];
  }
  return sum;
}

/// Shared memory counts once where that may matter.
MemoryMeter::Count count(const Family& family, std::size_t limit) {
  const auto begin = std::chrono::steady_clock::now();
  Held held(family.members.size());
  for (const Family::Member& member : family.members) {
    held.add(member.process);
    if (held.bytes() > limit) break;
  }
  MemoryMeter::Count counted{held.bytes(), family.resident, family.resident, {}};
  if (family.resident + held.bytes() + held.shared() > limit) {
    const Shared shared = shared_once(family);
    counted.exact = shared.resident;
    counted.held += held.shared() - std::min(held.shared(), shared.memory);
  }
  counted.took = std::chrono::steady_clock::now() - begin;
  return counted;
}

}  // namespace

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
  next_count_ =
      Clock::now() + std::max<Clock::duration>(between_counts, times_of_a_count * last_.took);
  return true;
}

std::size_t MemoryMeter::at_most(const Family& family) const {
  const std::size_t grown = family.resident - std::min(family.resident, last_.resident);
  return std::min(family.resident, last_.exact + grown) + last_.held;
}

}  // namespace prenorm::harness
