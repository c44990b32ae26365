// One warp's request in words.
#include "base/text.hpp"
#include "profile/profile_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness::profile {
namespace {

std::vector<std::uint64_t> present(const LaneAddresses& lanes) {
  std::vector<std::uint64_t> addresses;
  for (const auto& address : lanes) {
    if (address) addresses.push_back(*address);
  }
  return addresses;
}

/// The distance from each lane to the next, if it is the same for all.
std::optional<std::int64_t> stride_of(const std::vector<std::uint64_t>& addresses) {
  if (addresses.size() < 2) return std::nullopt;
  const auto stride = static_cast<std::int64_t>(addresses[1] - addresses[0]);
  for (std::size_t i = 2; i < addresses.size(); ++i) {
    if (static_cast<std::int64_t>(addresses[i] - addresses[i - 1]) != stride) return std::nullopt;
  }
  return stride;
}

std::string where_of(const std::vector<std::uint64_t>& addresses, std::uint64_t width) {
  if (addresses.size() < 2) return "";
  const std::set<std::uint64_t> different(addresses.begin(), addresses.end());
  if (different.size() == 1) return ", all the same ones";
  if (const auto stride = stride_of(addresses)) {
    if (static_cast<std::uint64_t>(std::abs(*stride)) == width) return ", side by side";
    return fmt::format(", {} bytes apart", std::abs(*stride));
  }
  const std::uint64_t span = *different.rbegin() - *different.begin() + width;
  const bool side_by_side = different.size() * width == span;
  if (side_by_side && different.size() == addresses.size())
    return ", side by side in another order";
  return fmt::format(" at {} {} places", different.size(),
                     side_by_side ? "neighbouring" : "different");
}

}  // namespace

std::string pattern_of(const Access& access) {
  static const std::map<Kind, std::string> verbs{
      {Kind::load, "read"}, {Kind::store, "write"}, {Kind::atomic, "change"}, {Kind::copy, "copy"}};
  const std::vector<std::uint64_t> addresses = present(access.worst);
  const std::string lanes =
      addresses.size() == 1 ? "1 lane " : fmt::format("{} lanes ", addresses.size());
  std::string text = lanes + verbs.at(access.kind) + (addresses.size() == 1 ? "s " : " ") +
                     counted(access.width, "byte") + (addresses.size() == 1 ? "" : " each") +
                     where_of(addresses, access.width);
  const bool global = access.space == Space::global;
  text += ": " + counted(access.worst_cost, global ? "sector" : "wavefront");
  if (access.worst_cost > access.worst_least)
    text += fmt::format(", {} would do", access.worst_least);
  if (access.kind == Kind::atomic && access.traffic.requests > 0) {
    text += fmt::format("; {:.3g} lanes meet at one address",
                        static_cast<double>(access.traffic.at_one_address) /
                            static_cast<double>(access.traffic.requests));
  }
  return text;
}

std::string place_text(const Access& access) {
  if (access.lines.empty()) return fmt::format("at {:#x}", access.place);
  const auto text = [](const Line& line) { return fmt::format("{}:{}", line.file, line.number); };
  const auto kernel = std::ranges::find_if(
      access.lines, [](const Line& line) { return line.file.ends_with(".cu"); });
  if (kernel == access.lines.end() || kernel == access.lines.begin()) {
    return text(access.lines.front());
  }
  return text(*kernel) + ", in " + text(access.lines.front());
}

}  // namespace prenorm::harness::profile
