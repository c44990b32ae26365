#include "profile/counts.hpp"

#include "base/process.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace prenorm::harness::profile {
namespace {

constexpr std::array<std::string_view, 2> spaces{"global", "shared"};
constexpr std::array<std::string_view, 4> kinds{"load", "store", "atomic", "copy"};

/// As they are called in the library's text, which has no bytes.
constexpr std::pair<const char*, std::uint64_t Traffic::*> traffic_counts[] = {
    {"requests", &Traffic::requests},
    {"lanes", &Traffic::lanes},
    {"sectors", &Traffic::sectors},
    {"lines", &Traffic::lines},
    {"ideal_sectors", &Traffic::ideal_sectors},
    {"wavefronts", &Traffic::wavefronts},
    {"ideal_wavefronts", &Traffic::ideal_wavefronts},
    {"at_one_address", &Traffic::at_one_address}};

/// mma.sync m16n8k16: a multiplication and an addition each.
constexpr std::uint64_t flops_of_mma = 2 * 16 * 8 * 16;

template <class Enum, std::size_t n>
Enum enum_of(const Json& value, const std::array<std::string_view, n>& names) {
  const auto text = value.get<std::string>();
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) throw BadCounts("unknown word " + printable(text, 40));
  return static_cast<Enum>(found - names.begin());
}

std::uint64_t at(const Json& object, const char* key) {
  return object.value(key, std::uint64_t{0});
}

std::array<std::uint64_t, 3> triple(const Json& value) {
  return value.get<std::array<std::uint64_t, 3>>();
}

/// "/x/mine.cu:88"; nothing without a colon.
std::optional<Line> parse_line(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const std::string_view path = text.substr(0, colon), number = text.substr(colon + 1);
  Line line{std::string(path.substr(path.rfind('/') + 1))};
  std::from_chars(number.data(), number.data() + number.size(), line.number);
  return line;
}

Access parse_access(const Json& object) {
  Access access;
  access.place = object.at("place").get<std::uint64_t>();
  access.space = enum_of<Space>(object.at("space"), spaces);
  access.kind = enum_of<Kind>(object.at("kind"), kinds);
  access.width = object.at("width").get<std::uint64_t>();
  for (const auto& [key, count] : traffic_counts) access.traffic.*count = at(object, key);
  access.traffic.bytes = access.traffic.lanes * access.width;
  access.worst_cost = at(object, "worst_cost");
  access.worst_least = at(object, "worst_least");
  const Json& worst = object.at("worst");
  for (std::size_t lane = 0; lane < access.worst.size(); ++lane) {
    if (!worst.at(lane).is_null()) access.worst[lane] = worst.at(lane).get<std::uint64_t>();
  }
  for (const Json& source : object.value("source", Json::array())) {
    const auto text = source.get<std::string>();
    const auto line = parse_line(text);
    if (!line) throw BadCounts("not a line of a source: " + printable(text, 100));
    access.lines.push_back({printable(line->file, 100), line->number});
  }
  return access;
}

KernelCounts parse_kernel(const Json& object) {
  KernelCounts counts;
  counts.kernel = printable(object.at("kernel").get<std::string>(), 200);
  counts.grid = triple(object.at("grid"));
  counts.block = triple(object.at("block"));
  counts.shared_bytes = at(object, "shared_bytes");
  counts.launches = at(object, "launches");
  counts.barriers = at(object, "barriers");
  counts.sectors_read = at(object, "sectors_read");
  counts.sectors_written = at(object, "sectors_written");
  for (const auto& [word, count] : object.at("operations").items()) {
    counts.operations[printable(word, 100)] = count.get<std::uint64_t>();
  }
  for (const Json& place : object.at("places")) counts.accesses.push_back(parse_access(place));
  return counts;
}

Traffic sum_of(const KernelCounts& counts, Space space, std::initializer_list<Kind> which) {
  Traffic sum;
  for (const Access& access : counts.accesses) {
    const bool wanted = std::ranges::find(which, access.kind) != which.end();
    if (access.space == space && wanted) sum.add(access.traffic);
  }
  return sum;
}

/// What stands at a place: lines and functions, from the innermost on.
struct PlacedIn {
  std::vector<Line> lines;
  std::vector<std::string> functions;
};
using Sources = std::map<std::uint64_t, PlacedIn>;

/// "/x/cuda/rmsnorm.cu:88 (discriminator 2)"; nothing for "??:0".
std::optional<Line> parse_addr2line(std::string_view text) {
  // Headers of the system and the emulator are never the place that somebody looks for.
  for (const char* other : {"??", "/usr/", "/prenorm-emulator/"}) {
    if (text.starts_with(other)) return std::nullopt;
  }
  const auto line = parse_line(text.substr(0, text.find(" (")));
  return line && line->number != 0 ? line : std::nullopt;
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

std::string_view name(Space space) { return spaces[static_cast<std::size_t>(space)]; }
std::string_view name(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

void Traffic::add(const Traffic& other) {
  bytes += other.bytes;
  for (const auto& [key, count] : traffic_counts) this->*count += other.*count;
}

Traffic KernelCounts::loads(Space space) const {
  if (space == Space::shared) return sum_of(*this, space, {Kind::load});
  return sum_of(*this, space, {Kind::load, Kind::copy});
}
Traffic KernelCounts::loads_without_copies() const {
  return sum_of(*this, Space::global, {Kind::load});
}
Traffic KernelCounts::stores(Space space) const {
  if (space == Space::global) return sum_of(*this, space, {Kind::store});
  return sum_of(*this, space, {Kind::store, Kind::copy});
}
Traffic KernelCounts::atomics(Space space) const { return sum_of(*this, space, {Kind::atomic}); }
Traffic KernelCounts::shared() const {
  return sum_of(*this, Space::shared, {Kind::load, Kind::store, Kind::atomic, Kind::copy});
}

std::uint64_t KernelCounts::operations_named(std::string_view beginning) const {
  std::uint64_t sum = 0;
  for (const auto& [word, count] : operations) {
    if (word.starts_with(beginning)) sum += count;
  }
  return sum;
}
std::uint64_t KernelCounts::shuffles() const { return operations_named("__shfl"); }
std::uint64_t KernelCounts::votes() const {
  return operations_named("__ballot") + operations_named("__any") + operations_named("__all");
}
std::uint64_t KernelCounts::tensor_flops() const {
  return flops_of_mma * operations_named("mma.sync");
}

std::vector<KernelCounts> parse_counts(const std::string& text) try {
  const Json root = parse_json(text);
  if (root.at("version") != 1) throw BadCounts("unknown version of prenorm_counts");
  std::vector<KernelCounts> kernels;
  for (const Json& kernel : root.at("kernels")) kernels.push_back(parse_kernel(kernel));
  return kernels;
} catch (const Json::exception& error) {
  throw BadCounts("prenorm_counts: " + printable(error.what(), 300));
}

void merge_lines(std::vector<KernelCounts>& kernels) {
  for (KernelCounts& kernel : kernels) merge(kernel.accesses);
}

void find_lines(std::vector<KernelCounts>& kernels, const fs::path& library) {
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
