// What /proc says of a process in a line. Only a header: programs that link no floor use it, too.
#pragma once

#include "base/open_file.hpp"

#include <array>
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
  const bool is_whole =
      name_end != nullptr &&
      std::sscanf(name_end + 1,
                  " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %zu %*d %*u "
                  "%*u %zu",
                  &stat.state, &stat.parent, &stat.group, &stat.threads, &stat.resident_pages) == 5;
  return is_whole ? std::optional(stat) : std::nullopt;
}

}  // namespace prenorm::harness
