#include "base/family.hpp"

#include "base/open_file.hpp"
#include "base/proc_stat.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// All processes of the machine at one time.
struct Processes {
  struct One {
    pid_t parent, group;
    std::size_t tasks, pages;
    std::uint64_t ticks;
    pid_t alive;  // one of its threads
    bool has_ended = false;
  };
  std::map<pid_t, One> all;
  std::multimap<pid_t, pid_t> children;
};

pid_t number_of(const fs::path& folder) { return std::atoi(folder.filename().c_str()); }

/// The first thread of a process has ended, and what is said of the process is nothing: what is
/// said of another thread.
void look_at_thread(const fs::path& process, Processes::One& one) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "task", error)) {
    const auto stat = read_proc_stat(entry.path());
    if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
    one.alive = number_of(entry.path());
    one.has_ended = false;
    one.pages = stat->resident_pages;
    return;
  }
}

Processes read_processes() {
  Processes found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const auto stat = read_proc_stat(entry.path());
    if (!stat) continue;
    const pid_t pid = number_of(entry.path());
    Processes::One one{stat->parent,         stat->group, stat->threads,
                       stat->resident_pages, stat->ticks, pid};
    one.has_ended = stat->state == 'Z' || stat->state == 'X';
    if (stat->state == 'Z' && one.tasks > 1) look_at_thread(entry.path(), one);
    found.all[pid] = one;
    found.children.emplace(stat->parent, pid);
  }
  return found;
}

/// The last reading, or a new one if that is too old.
std::shared_ptr<const Processes> recent_processes() {
  static std::mutex mutex;
  static std::shared_ptr<const Processes> last;
  static Clock::time_point read_at;
  const std::lock_guard lock(mutex);
  if (!last || Clock::now() - read_at > Family::most_age) {
    last = std::make_shared<const Processes>(read_processes());
    read_at = Clock::now();
  }
  return last;
}

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

/// How often the kernel's part and shared memory are counted: no number of a process shows them.
constexpr std::chrono::milliseconds between_counts{150};
/// How long to wait for a count; how long where it decides; and how old an unfinished count may be
/// before the family counts as if it shared nothing: a process can keep the kernel from answering.
constexpr std::chrono::milliseconds usual_wait{20}, longer_wait{300}, longest_count{1000};

std::string path_of(pid_t process, const char* file) {
  return "/proc/" + std::to_string(process) + "/" + file;
}

/// Calls `visit(FOLDER, NAME)` for each descriptor of a process: an open folder of /proc, and the
/// link's name in it. False: they cannot be read.
bool visit_descriptors(pid_t process, auto visit) {
  DIR* const listing = ::opendir(path_of(process, "fd").c_str());
  if (listing == nullptr) return false;
  while (const dirent* entry = ::readdir(listing)) visit(::dirfd(listing), entry->d_name);
  ::closedir(listing);
  return true;
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
class KernelMemory {
 public:
  explicit KernelMemory(std::size_t members) : members_(members) {}

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
  KernelMemory held(family.members.size());
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

constexpr Clock::duration between_disk_looks = std::chrono::milliseconds(150);
/// Of the time that the last look took.
constexpr int times_of_a_look = 10;
constexpr Clock::duration longest_between_looks = std::chrono::seconds(1);
/// A part of the limit that is worth a look, however near the limit is: others write there, too.
constexpr std::size_t least_part = 32;
constexpr int most_unseen_looks = 10;

struct Nameless {
  std::size_t bytes = 0;
  std::set<pid_t> unseen;  // processes that may not be asked what they have open
};

/// Files that have no name any more and are still open.
Nameless nameless_files(const Family& family) {
  std::map<std::pair<dev_t, ino_t>, std::size_t> files;
  Nameless found;
  for (const Family::Member& member : family.members) {
    if (member.has_ended) continue;
    const bool is_seen = visit_descriptors(member.process, [&files](int folder, const char* link) {
      struct stat info {};
      if (::fstatat(folder, link, &info, 0) != 0) return;
      if (!S_ISREG(info.st_mode) || info.st_nlink > 0) return;
      files[{info.st_dev, info.st_ino}] = static_cast<std::size_t>(info.st_blocks) * bytes_of_block;
    });
    if (!is_seen && errno == EACCES) found.unseen.insert(member.process);
  }
  for (const auto& [file, bytes] : files) found.bytes += bytes;
  return found;
}

/// Bytes that the file systems of these folders have left. One of two folders counts twice: what is
/// written there is seen the sooner.
std::uintmax_t free_bytes(const std::vector<fs::path>& folders) {
  std::uintmax_t sum = 0;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    if (!error) sum += space.free;
  }
  return sum;
}

}  // namespace

Family Family::of(pid_t ancestor) {
  const std::shared_ptr<const Processes> processes = recent_processes();
  // Its process group too: a process whose parent has ended gets another parent.
  std::vector<pid_t> rest{ancestor};
  for (const auto& [pid, one] : processes->all) {
    if (one.group == ancestor) rest.push_back(pid);
  }
  static const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  static const auto ticks_in_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  Family family;
  std::set<pid_t> counted;
  while (!rest.empty()) {
    const pid_t pid = rest.back();
    rest.pop_back();
    if (!counted.insert(pid).second) continue;
    const auto [first, last] = processes->children.equal_range(pid);
    for (auto child = first; child != last; ++child) rest.push_back(child->second);
    const auto one = processes->all.find(pid);
    if (one == processes->all.end()) continue;
    family.tasks += one->second.tasks;
    family.resident += one->second.pages * page_bytes;
    family.processor_seconds += static_cast<double>(one->second.ticks) / ticks_in_a_second;
    family.members.push_back(
        {one->second.alive, one->second.pages * page_bytes, one->second.has_ended});
  }
  return family;
}

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
  // More than the limit by a count that may be too old: it counts when a new one says so too.
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
    // No thread can be started now: try later.
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

std::optional<std::string> DiskMeter::exceeded(const Family& family,
                                               const std::vector<fs::path>& folders,
                                               const TreeLimits& limits) {
  const Clock::time_point begin = Clock::now();
  if (folders.empty() || begin < soonest_look_) return std::nullopt;
  const std::uintmax_t free = free_bytes(folders);
  if (begin < next_look_ && free + much_ > free_) return std::nullopt;
  std::optional<std::string> why;
  TreeLimits left = limits;
  const Nameless nameless = nameless_files(family);
  left.bytes -= std::min(left.bytes, nameless.bytes);
  // Before a process executes its program, it cannot be asked either: that takes a moment only.
  std::map<pid_t, int> unseen;
  for (const pid_t process : nameless.unseen) {
    unseen[process] = unseen_[process] + 1;
    if (unseen[process] == most_unseen_looks) why = "has files open that cannot be seen";
  }
  unseen_ = std::move(unseen);
  for (const fs::path& folder : folders) {
    const TreeUsage usage = usage_of(folder, left);
    const bool is_too_much = usage.bytes > left.bytes;
    if (!why && is_too_much) why = fmt::format("has more than {} bytes", limits.bytes);
    if (!why) why = usage.exceeded;
    left.bytes -= std::min(left.bytes, usage.bytes);
    left.entries -= std::min(left.entries, usage.entries);
    if (why) break;
  }
  free_ = free;
  much_ = std::max(left.bytes / 2, limits.bytes / least_part);
  const Clock::time_point end = Clock::now();
  soonest_look_ = end + (end - begin);  // half of the time for looks at most
  next_look_ =
      end + std::clamp(times_of_a_look * (end - begin), between_disk_looks, longest_between_looks);
  return why;
}

}  // namespace prenorm::harness
