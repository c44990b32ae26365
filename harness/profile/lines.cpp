// From places in a library's code to lines of its sources, by binutils' addr2line.
#include "base/process.hpp"
#include "base/text.hpp"
#include "profile/counts.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness::profile {
namespace {

/// What stands at a place: lines and functions, from the innermost on.
struct PlacedIn {
  std::vector<Line> lines;
  std::vector<std::string> functions;
};
using Sources = std::map<std::uint64_t, PlacedIn>;

/// "/x/cuda/rmsnorm.cu:88 (discriminator 2)"; nothing for "??:0".
std::optional<Line> parse_addr2line(std::string_view text) {
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

/// The sources of some of the places: a command line has room for so many.
void ask(const std::string& library, const std::vector<std::uint64_t>& places, Sources& found) {
  std::string command = "addr2line -a -f -i -e " + posix_word(library);
  // What is known is where the call that counts returns to: the line is that of the call.
  for (const std::uint64_t place : places) command += fmt::format(" {:#x}", place - 1);
  PlacedIn* source = nullptr;
  bool is_function = true;  // of each two lines that follow an address the first one
  for (const std::string& text : lines_of(command_output(command + " 2>/dev/null").text)) {
    if (text.starts_with("0x")) {
      std::uint64_t address = 0;
      std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
      source = &found[address + 1];
      is_function = true;
      continue;
    }
    if (source == nullptr) continue;
    if (is_function) {
      source->functions.emplace_back(text);
    } else if (const auto line = parse_addr2line(text)) {
      source->lines.push_back(*line);
    }
    is_function = !is_function;
  }
}

Sources sources_of(const std::set<std::uint64_t>& places, const std::string& library) {
  constexpr std::size_t most = 4000;
  Sources found;
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
    for (const Access& access : kernel.accesses) places.insert(access.place);
  }
  const Sources found = sources_of(places, library.string());
  for (KernelCounts& kernel : kernels) {
    for (Access& access : kernel.accesses) {
      const auto source = found.find(access.place);
      if (source == found.end()) continue;
      if (access.lines.empty()) access.lines = source->second.lines;
      kernel.functions.insert(source->second.functions.begin(), source->second.functions.end());
    }
  }
  merge_lines(kernels);
}

}  // namespace prenorm::harness::profile
