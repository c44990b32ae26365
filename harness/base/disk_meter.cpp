#include "base/disk_meter.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <utility>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration between_looks = std::chrono::milliseconds(150);
/// Of the time that the last look took.
constexpr int times_of_a_look = 10;
constexpr Clock::duration longest_between_looks = std::chrono::seconds(1);
/// A part of the limit that is worth a look, however near the limit is: others write there, too.
constexpr std::size_t least_part = 32;
constexpr std::size_t bytes_of_block = 512;
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
std::uintmax_t free_bytes(const std::vector<std::filesystem::path>& folders) {
  std::uintmax_t sum = 0;
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    if (!error) sum += space.free;
  }
  return sum;
}

}  // namespace

std::optional<std::string> DiskMeter::exceeded(const Family& family,
                                               const std::vector<std::filesystem::path>& folders,
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
  for (const std::filesystem::path& folder : folders) {
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
      end + std::clamp(times_of_a_look * (end - begin), between_looks, longest_between_looks);
  return why;
}

}  // namespace prenorm::harness
