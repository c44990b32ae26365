#include "profile/counts.hpp"

#include "base/printable.hpp"

#include <algorithm>
#include <charconv>

namespace prenorm::harness::profile {
namespace {

constexpr std::array<std::string_view, 2> spaces{"global", "shared"};
constexpr std::array<std::string_view, 4> kinds{"load", "store", "atomic", "copy"};

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

/// "/x/mine.cu:88"
Line parse_line(const std::string& text) {
  Line line;
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) throw BadCounts("not a line of a source: " + printable(text, 100));
  line.file = printable(text.substr(0, colon).substr(text.substr(0, colon).rfind('/') + 1), 100);
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), line.number);
  return line;
}

Access parse_access(const Json& object) {
  Access access;
  access.place = object.at("place").get<std::uint64_t>();
  access.space = enum_of<Space>(object.at("space"), spaces);
  access.kind = enum_of<Kind>(object.at("kind"), kinds);
  access.width = object.at("width").get<std::uint64_t>();
  access.traffic = {.requests = at(object, "requests"),
                    .lanes = at(object, "lanes"),
                    .bytes = at(object, "lanes") * access.width,
                    .sectors = at(object, "sectors"),
                    .lines = at(object, "lines"),
                    .ideal_sectors = at(object, "ideal_sectors"),
                    .wavefronts = at(object, "wavefronts"),
                    .ideal_wavefronts = at(object, "ideal_wavefronts"),
                    .at_one_address = at(object, "at_one_address")};
  access.worst_cost = at(object, "worst_cost");
  access.worst_least = at(object, "worst_least");
  const Json& worst = object.at("worst");
  for (std::size_t lane = 0; lane < access.worst.size(); ++lane) {
    if (!worst.at(lane).is_null()) access.worst[lane] = worst.at(lane).get<std::uint64_t>();
  }
  for (const Json& line : object.value("source", Json::array())) {
    access.lines.push_back(parse_line(line.get<std::string>()));
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

}  // namespace

std::string_view name(Space space) { return spaces[static_cast<std::size_t>(space)]; }
std::string_view name(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

void Traffic::add(const Traffic& other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  lines += other.lines;
  ideal_sectors += other.ideal_sectors;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  at_one_address += other.at_one_address;
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

}  // namespace prenorm::harness::profile
