// From places in a library's code to lines of its sources, by binutils' addr2line.
#include "base/text.hpp"
#include "profile/counts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness::profile {
namespace {

using Lines = std::map<std::uint64_t, std::vector<Line>>;

/// Calls take(line) for each line that the command prints.
void read_command(const std::string& command, auto take) {
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return;
  char* text = nullptr;
  std::size_t room = 0;
  for (ssize_t got; (got = ::getline(&text, &room, pipe)) > 0;) {
    std::string_view line(text, static_cast<std::size_t>(got));
    if (line.ends_with('\n')) line.remove_suffix(1);
    take(line);
  }
  std::free(text);
  ::pclose(pipe);
}

/// "/x/cuda/rmsnorm.cu:88 (discriminator 2)"; nothing for "??:0".
std::optional<Line> parse_line(std::string_view text) {
  text = text.substr(0, text.find(" ("));
  const std::size_t colon = text.rfind(':');
  // Headers of the system are never the place that somebody looks for.
  if (colon == text.npos || text.starts_with("??") || text.starts_with("/usr/"))
    return std::nullopt;
  Line line;
  line.file = text.substr(0, colon);
  line.file = line.file.substr(line.file.rfind('/') + 1);
  const std::string_view number = text.substr(colon + 1);
  std::from_chars(number.data(), number.data() + number.size(), line.number);
  if (line.number == 0) return std::nullopt;
  return line;
}

/// The lines of some of the places: a command line has room for so many.
void ask(const std::string& library, const std::vector<std::uint64_t>& places, Lines& found) {
  std::string command = "addr2line -a -i -e " + posix_word(library);
  // What is known is where the call that counts returns to: the line is that of the call.
  for (const std::uint64_t place : places) command += fmt::format(" {:#x}", place - 1);
  std::vector<Line>* lines = nullptr;
  read_command(command + " 2>/dev/null", [&](std::string_view text) {
    if (text.starts_with("0x")) {
      std::uint64_t address = 0;
      std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
      lines = &found[address + 1];
    } else if (const auto line = parse_line(text); line && lines != nullptr) {
      lines->push_back(*line);
    }
  });
}

Lines lines_of(const std::set<std::uint64_t>& places, const std::string& library) {
  constexpr std::size_t most = 4000;
  Lines found;
  std::vector<std::uint64_t> some;
  for (const std::uint64_t place : places) {
    some.push_back(place);
    if (some.size() == most) ask(library, std::exchange(some, {}), found);
  }
  if (!some.empty()) ask(library, some, found);
  return found;
}

std::uint64_t excess(const Access& access) { return access.worst_cost - access.worst_least; }

/// A line that the compiler has unrolled is one access.
void merge(std::vector<Access>& accesses) {
  const auto key = [](const Access& a) { return std::tie(a.lines, a.space, a.kind, a.width); };
  std::ranges::stable_sort(accesses, {}, key);
  std::vector<Access> merged;
  for (Access& access : accesses) {
    const bool same = !merged.empty() && !access.lines.empty() && key(merged.back()) == key(access);
    if (!same) {
      merged.push_back(std::move(access));
      continue;
    }
    Access& into = merged.back();
    if (excess(access) > excess(into)) {
      into.worst = access.worst;
      into.worst_cost = access.worst_cost;
      into.worst_least = access.worst_least;
    }
    into.traffic.add(access.traffic);
  }
  accesses = std::move(merged);
}

}  // namespace

void merge_lines(std::vector<KernelCounts>& kernels) {
  for (KernelCounts& kernel : kernels) merge(kernel.accesses);
}

void find_lines(std::vector<KernelCounts>& kernels, const std::filesystem::path& library) {
  std::set<std::uint64_t> places;
  for (const KernelCounts& kernel : kernels) {
    for (const Access& access : kernel.accesses) {
      if (access.lines.empty()) places.insert(access.place);
    }
  }
  const Lines found = lines_of(places, library.string());
  for (KernelCounts& kernel : kernels) {
    for (Access& access : kernel.accesses) {
      if (const auto lines = found.find(access.place); lines != found.end()) {
        access.lines = lines->second;
      }
    }
  }
  merge_lines(kernels);
}

}  // namespace prenorm::harness::profile
