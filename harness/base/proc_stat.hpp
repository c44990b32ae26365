// What /proc says of a process in a line. Only a header: programs that link no floor use it, too.
#pragma once

#include "base/open_file.hpp"

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/types.h>
#include <unistd.h>

namespace prenorm::harness {

struct ProcStat {
  char state;  // 'Z': a zombie
  pid_t parent, group;
  std::size_t threads, resident_pages;
  /// Of processor time, of all its threads and of the children that it has waited for.
  std::uint64_t ticks;
};

/// Of the folder of a process or thread; nothing if it has ended, even during the read.
inline std::optional<ProcStat> read_proc_stat(const std::string& folder) {
  const OpenFile file(::open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::array<char, 1024> text;
  const ssize_t got = ::read(file.get(), text.data(), text.size() - 1);
  if (got <= 0) return std::nullopt;
  text[static_cast<std::size_t>(got)] = '\0';
  // The second field, a name in parentheses, may contain anything, even line breaks.
  const char* name_end = std::strrchr(text.data(), ')');
  ProcStat stat{};
  std::uint64_t user = 0, system = 0;
  std::int64_t user_of_children = 0, system_of_children = 0;
  const bool is_whole =
      name_end != nullptr &&
      std::sscanf(name_end + 1,
                  " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNd64
                  " %" SCNd64 " %*d %*d %zu %*d %*u %*u %zu",
                  &stat.state, &stat.parent, &stat.group, &user, &system, &user_of_children,
                  &system_of_children, &stat.threads, &stat.resident_pages) == 9;
  stat.ticks = user + system + static_cast<std::uint64_t>(user_of_children + system_of_children);
  return is_whole ? std::optional(stat) : std::nullopt;
}

}  // namespace prenorm::harness
