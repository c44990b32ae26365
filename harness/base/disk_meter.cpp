#include "base/disk_meter.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <sys/stat.h>
#include <utility>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration between_looks = std::chrono::milliseconds(150);
/// Of the time that the last look took.
constexpr int times_of_a_look = 10;
constexpr std::size_t bytes_of_block = 512;

/// Bytes of files that have no name any more and are still open.
std::size_t nameless_bytes(const Family& family) {
  std::map<std::pair<dev_t, ino_t>, std::size_t> files;
  for (const Family::Member& member : family.members) {
    visit_descriptors(member.process, [&files](int folder, const char* link) {
      struct stat info {};
      if (::fstatat(folder, link, &info, 0) != 0) return;
      if (!S_ISREG(info.st_mode) || info.st_nlink > 0) return;
      files[{info.st_dev, info.st_ino}] = static_cast<std::size_t>(info.st_blocks) * bytes_of_block;
    });
  }
  const auto add = [](std::size_t sum, const auto& file) { return sum + file.second; };
  return std::accumulate(files.begin(), files.end(), std::size_t{0}, add);
}

}  // namespace

std::optional<std::string> DiskMeter::exceeded(const Family& family,
                                               const std::vector<std::filesystem::path>& folders,
                                               const TreeLimits& limits) {
  const Clock::time_point begin = Clock::now();
  if (folders.empty() || begin < next_look_) return std::nullopt;
  std::optional<std::string> why;
  TreeLimits left = limits;
  left.bytes -= std::min(left.bytes, nameless_bytes(family));
  for (const std::filesystem::path& folder : folders) {
    const TreeUsage usage = usage_of(folder, left);
    left.bytes -= std::min(left.bytes, usage.bytes);
    left.entries -= std::min(left.entries, usage.entries);
    why = usage.exceeded;
    if (why) break;
  }
  const Clock::time_point end = Clock::now();
  next_look_ = end + std::max(between_looks, times_of_a_look * (end - begin));
  return why;
}

}  // namespace prenorm::harness
