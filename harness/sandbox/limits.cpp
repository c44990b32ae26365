#include "base/proc_stat.hpp"
#include "sandbox/confine.hpp"

#include <algorithm>
#include <dirent.h>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace prenorm::sandbox {
namespace {

struct GroupProcess {
  pid_t process;
  std::size_t threads;
  bool operator==(const GroupProcess&) const = default;
};

/// All of that process group, which none of them can leave, but this one; where the PID namespace
/// is theirs alone, the group is 0, and it is all there are. Throws std::system_error.
std::vector<GroupProcess> processes_of(pid_t group) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir("/proc"), &::closedir);
  check(listing != nullptr, "/proc");
  std::vector<GroupProcess> found;
  const std::string self = std::to_string(::getpid());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != name.npos || name == self) continue;
    const auto stat = harness::read_proc_stat("/proc/" + name);
    if (stat && (group == 0 || stat->group == group)) {
      found.push_back({std::stoi(name), static_cast<std::size_t>(stat->threads)});
    }
  }
  return found;
}

constexpr std::chrono::milliseconds between_counts{10};
/// One of so many parts of the room is given away at once: on a busy machine those admitted take
/// longer to appear.
constexpr std::size_t part = 4;

std::size_t tasks_of(pid_t group) {
  std::size_t count = 0;
  for (const GroupProcess& each : processes_of(group)) count += each.threads;
  return count;
}

/// Whether the process certainly maps no memory that is shared without a file.
bool maps_none(pid_t process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::string line;
  bool any = false;
  while (std::getline(maps, line)) {
    if (line.ends_with("/dev/zero (deleted)")) return false;
    any = true;
  }
  return any;  // else it could not be read
}

/// The same of all, none of which began or ended meanwhile: it could have handed its mapping on.
bool none_is_left(pid_t group) {
  const auto before = processes_of(group);
  for (const GroupProcess& each : before) {
    if (!maps_none(each.process)) return false;
  }
  return processes_of(group) == before;
}

/// So long, and those that were admitted are there to be counted.
constexpr std::chrono::milliseconds until_made{10};

struct Socket {
  std::uint64_t inode;  // 0: it waits to be accepted
  bool is_connected;
  std::string path;
};

/// "0000000012345678: ", where a socket's line begins.
bool begins_record(const std::string& line) {
  const std::size_t colon = line.find_first_not_of("0123456789abcdef");
  return colon != line.npos && colon >= 8 && line.compare(colon, 2, ": ") == 0;
}

/// Nothing where they cannot be read.
std::optional<std::vector<Socket>> sockets_of_namespace() {
  constexpr const char* unconnected = "01";
  std::ifstream file("/proc/net/unix");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;  // the heads of its columns
  std::vector<Socket> sockets;
  while (std::getline(file, line)) {
    if (!begins_record(line)) continue;  // the rest of a name with line breaks
    std::istringstream words(line);
    std::string address, references, protocol, flags, type, state;
    std::uint64_t inode = 0;
    words >> address >> references >> protocol >> flags >> type >> state >> inode;
    std::string path;
    std::getline(words >> std::ws, path);
    sockets.push_back({inode, state != unconnected, path});
  }
  return sockets;
}

}  // namespace

bool TaskLimit::admits() {
  if (left_ == 0) {
    std::this_thread::sleep_until(next_count_);  // those admitted since the last count exist then
    const std::size_t room = most_ - std::min(most_, tasks_of(group_));
    left_ = (room + part - 1) / part;
    next_count_ = Clock::now() + between_counts;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

SharedLimit::SharedLimit(std::uint64_t most, pid_t group)
    : most_(most > 0 ? most : std::numeric_limits<std::uint64_t>::max()),
      left_(most_),
      group_(group) {}

bool SharedLimit::admits(std::uint64_t bytes, std::uint64_t flags) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if ((flags & MAP_HUGETLB) != 0 || bytes > most_ - page) return false;
  last_ = (bytes + page - 1) / page * page;
  if (last_ > left_ && none_is_left(group_)) left_ = most_;
  if (last_ > left_) return false;
  left_ -= last_;
  return true;
}

void SharedLimit::take_back() { left_ += last_; }

SocketLimit::SocketLimit(std::size_t most)
    : most_(most > 0 ? most : std::numeric_limits<std::size_t>::max()), left_(most_) {
  for (const Socket& each : sockets_of_namespace().value_or(std::vector<Socket>())) {
    if (each.inode != 0) before_.insert(each.inode);
  }
}

bool SocketLimit::admits() {
  if (left_ < 2) {
    std::this_thread::sleep_until(last_admitted_ + until_made);
    left_ = most_ - std::min(most_, count().value_or(most_));
  }
  if (left_ < 2) return false;
  left_ -= 2;
  last_admitted_ = Clock::now();
  return true;
}

void SocketLimit::take_back() { left_ += 2; }

/// Of one that is not connected yet, the other end is to come.
std::optional<std::size_t> SocketLimit::count() const {
  const auto sockets = sockets_of_namespace();
  if (!sockets) return std::nullopt;
  std::size_t number = 0;
  for (const Socket& each : *sockets) {
    if (!before_.contains(each.inode)) number += each.is_connected ? 1 : 2;
  }
  return number;
}

bool is_bound(const std::string& path) {
  const auto sockets = sockets_of_namespace();
  return !sockets || std::ranges::any_of(*sockets, [&path](const Socket& each) {
    return !each.is_connected && each.path == path;
  });
}

}  // namespace prenorm::sandbox
