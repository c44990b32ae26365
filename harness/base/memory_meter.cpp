#include "base/memory_meter.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace prenorm::harness {
namespace {

/// The kernel's usual limit of what one end of a socket has sent, and nobody has read.
constexpr std::size_t bytes_of_socket = 208u << 10;
/// How often is counted what no number of a process's own shows: the kernel's part, and what is
/// shared.
constexpr std::chrono::milliseconds between_counts{150};
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

/// Adds the sockets of a process, by the numbers that the kernel gives them. False: they cannot be
/// read.
bool add_sockets(pid_t process, std::set<std::string>& sockets) {
  return visit_descriptors(process, [&sockets](int folder, const char* link) {
    std::array<char, 64> target;
    const ssize_t got = ::readlinkat(folder, link, target.data(), target.size());
    const std::string name(target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    if (name.starts_with("socket:")) sockets.insert(name);
  });
}

/// The kernel's records of a process's mappings. Reading many takes long: more than some count as
/// the most that there may be.
std::size_t mappings_of(pid_t process) {
  constexpr std::size_t bytes_of_mapping = 256, most_mappings = 65530;
  std::ifstream file(path_of(process, "maps"), std::ios::binary);
  std::vector<char> text(512u << 10);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  const auto got = static_cast<std::size_t>(file.gcount());
  if (got == text.size()) return most_mappings * bytes_of_mapping;
  return bytes_of_mapping *
         static_cast<std::size_t>(std::count(text.begin(), text.begin() + file.gcount(), '\n'));
}

/// Page tables, mappings and sockets; no longer counted where that is `enough`.
std::size_t held_for(const Family& family, std::size_t enough) {
  std::size_t bytes = 0;
  std::set<std::string> sockets;
  for (const Family::Member& member : family.members) {
    if (bytes > enough) break;
    const std::string status = path_of(member.process, "status");
    bytes += number_in(status, "VmPTE:").value_or(0) + mappings_of(member.process);
    if (add_sockets(member.process, sockets)) continue;
    bytes += bytes_of_socket * number_in(status, "FDSize:").value_or(0);
  }
  return bytes + bytes_of_socket * sockets.size();
}

/// Resident memory, in which each process has its part of what it shares.
std::size_t shared_once(const Family& family) {
  std::size_t bytes = 0;
  for (const Family::Member& member : family.members) {
    bytes += number_in(path_of(member.process, "smaps_rollup"), "Pss:").value_or(member.resident);
  }
  return bytes;
}

}  // namespace

std::size_t MemoryMeter::bytes(const Family& family, std::size_t limit) {
  const auto count_shared = [&] {
    exact_ = shared_once(family);
    resident_then_ = family.resident;
  };
  if (const Clock::time_point begin = Clock::now(); begin >= next_count_) {
    held_ = held_for(family, limit);
    // Even if no more than then: memory that was shared may be their own by now.
    if (family.resident + held_ > limit) count_shared();
    const Clock::time_point end = Clock::now();
    next_count_ = end + std::max<Clock::duration>(between_counts, times_of_a_count * (end - begin));
  }
  const auto at_most = [&] {
    const std::size_t grown = family.resident - std::min(family.resident, resident_then_);
    return std::min(family.resident, exact_ + grown) + held_;
  };
  if (at_most() > limit) count_shared();
  return at_most();
}

}  // namespace prenorm::harness
