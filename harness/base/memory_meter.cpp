#include "base/memory_meter.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

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
constexpr std::size_t bytes_of_mapping = 256, bytes_of_ancestor = 64, many_mappings = 8192,
                      most_mappings = 65530;
/// How often is counted what no number of a process's own shows: the kernel's part, and what is
/// shared.
constexpr std::chrono::milliseconds between_counts{150};
/// How long a count is waited for, and how long where it matters.
constexpr std::chrono::milliseconds usual_wait{20}, longest_wait{300};
/// Of the time that the last count took.
constexpr int times_of_a_count = 4;

std::string path_of(pid_t process, const char* file) {
  return "/proc/" + std::to_string(process) + "/" + file;
}

/// "Pss:  1234 kB" in a file of /proc, in bytes; or a plain number.
std::optional<std::size_t> number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t number = std::strtoull(line.c_str() + key.size(), nullptr, 10);
    return line.ends_with("kB") ? number << 10 : number;
  }
  return std::nullopt;
}

/// What the kernel holds for a family, and no process's own memory shows.
class Held {
 public:
  explicit Held(std::size_t members) : members_(members) {}

  void add(pid_t process) {
    const std::string status = path_of(process, "status");
    const auto number = [&status](const char* key) { return number_in(status, key).value_or(0); };
    bytes_ += number("VmPTE:");
    add_mappings(process);
    most_shared_ = std::max(most_shared_, number("RssShmem:"));
    // What cannot be read counts as the most that it may be.
    if (!add_descriptors(process)) bytes_ += bytes_of_socket * number("FDSize:");
  }

  std::size_t bytes() const {
    std::size_t shared = 0;
    for (const auto& [file, size] : shared_) shared += size;
    return bytes_ + bytes_of_socket * sockets_.size() + bytes_of_small_pipe * pipes_.size() +
           bytes_of_pipe * std::min(pipes_.size(), usual_pipes) + shared -
           std::min(shared, most_shared_);
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

  /// Reading many takes long: more than some count as the most that there may be.
  void add_mappings(pid_t process) {
    std::ifstream file(path_of(process, "maps"), std::ios::binary);
    std::string text(512u << 10, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const bool is_cut = static_cast<std::size_t>(file.gcount()) == text.size();
    text.resize(static_cast<std::size_t>(file.gcount()));
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) add_if_shared(line);
    if (is_cut) {
      count = most_mappings;
      const std::string status = path_of(process, "status");
      shared_["of " + std::to_string(process)] =
          number_in(status, "VmSize:").value_or(0) - number_in(status, "VmData:").value_or(0);
    }
    bytes_ +=
        count * (bytes_of_mapping + (count > many_mappings ? bytes_of_ancestor * members_ : 0));
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
  std::size_t most_shared_ = 0;                // that one process has in its page tables
};

/// No longer counted where it is `enough`.
std::size_t held_for(const Family& family, std::size_t enough) {
  Held held(family.members.size());
  for (const Family::Member& member : family.members) {
    held.add(member.process);
    if (held.bytes() > enough) break;
  }
  return held.bytes();
}

/// Resident memory, in which each process has its part of what it shares.
std::size_t shared_once(const Family& family) {
  std::size_t bytes = 0;
  for (const Family::Member& member : family.members) {
    const auto own_part = number_in(path_of(member.process, "smaps_rollup"), "Pss:");
    const bool has_ended = !own_part && ::kill(member.process, 0) != 0;
    if (!has_ended) bytes += own_part.value_or(member.resident);
  }
  return bytes;
}

/// Shared memory counts once where that may matter.
MemoryMeter::Count count(const Family& family, std::size_t limit) {
  const auto begin = std::chrono::steady_clock::now();
  MemoryMeter::Count counted{held_for(family, limit), family.resident, family.resident, {}};
  if (family.resident + counted.held > limit) counted.exact = shared_once(family);
  counted.took = std::chrono::steady_clock::now() - begin;
  return counted;
}

}  // namespace

std::size_t MemoryMeter::bytes(const Family& family, std::size_t limit) {
  if (!counting_.valid() && Clock::now() >= next_count_) begin_count(family, limit);
  take_count(usual_wait);
  if (at_most(family) <= limit) return at_most(family);
  // By that it is too much. More exactly:
  if (!counting_.valid()) begin_count(family, limit);
  if (take_count(longest_wait)) return at_most(family);
  return family.resident + last_.held;
}

void MemoryMeter::begin_count(const Family& family, std::size_t limit) {
  counting_ = std::async(std::launch::async, [family, limit] { return count(family, limit); });
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
