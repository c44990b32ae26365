#include "base/times.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace prenorm::harness {
namespace {

struct Time {
  std::int64_t seconds = 0;
  bool exact = false;  // the text tells the seconds
};

std::optional<Time> time_in(const std::string& text) {
  struct Format {
    const char* pattern;
    bool has_zone, has_seconds;
  };
  constexpr std::array<Format, 11> formats{{{"%Y-%m-%dT%H:%M:%S%z", true, true},
                                            {"%Y-%m-%dT%H:%M%z", true, false},
                                            {"%Y-%m-%dT%H:%M:%S", false, true},
                                            {"%Y-%m-%dT%H:%M", false, false},
                                            {"%Y-%m-%d %H:%M:%S%z", true, true},
                                            {"%Y-%m-%d %H:%M%z", true, false},
                                            {"%Y-%m-%d %H:%M:%S", false, true},
                                            {"%Y-%m-%d %H:%M", false, false},
                                            {"%A, %d %B %Y, %I:%M %p", false, false},
                                            {"%A, %d %B %Y, %H:%M", false, false},
                                            {"%A, %B %d, %Y, %I:%M %p", false, false}}};
  for (const Format& format : formats) {
    std::tm parts{};
    parts.tm_isdst = -1;
    const char* end = ::strptime(text.c_str(), format.pattern, &parts);
    if (end == nullptr || *end != '\0') continue;
    const std::tm read = parts;  // mktime() and timegm() write their own
    const std::time_t seconds =
        format.has_zone ? ::timegm(&parts) - read.tm_gmtoff : std::mktime(&parts);
    // They read 31 February as 3 March.
    const bool exists = parts.tm_mon == read.tm_mon && parts.tm_mday == read.tm_mday;
    if (!exists || seconds < 0) return std::nullopt;
    return Time{static_cast<std::int64_t>(seconds), format.has_seconds};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> seconds_since_1970(const std::string& text) {
  const std::optional<Time> time = time_in(text);
  return time ? std::optional(time->seconds) : std::nullopt;
}

std::optional<std::int64_t> deadline_of(const std::string& text) {
  std::optional<Time> time = time_in(text);
  if (!time) time = time_in(text + "T23:59");  // a date lasts to its end
  return time ? std::optional(time->seconds + (time->exact ? 0 : 59)) : std::nullopt;
}

std::string time_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::int64_t days_late(std::int64_t handed_in, std::int64_t deadline) {
  if (handed_in <= deadline) return 0;
  const auto begin = static_cast<std::time_t>(deadline);
  std::tm local{};
  ::localtime_r(&begin, &local);
  const auto ends = [&local](std::int64_t days) {
    std::tm day = local;
    day.tm_mday += static_cast<int>(days);
    day.tm_isdst = -1;  // to be looked up anew
    return std::int64_t{std::mktime(&day)};
  };
  // Near to it: clocks are set back or forth by less than a day.
  std::int64_t days = std::max<std::int64_t>(1, (handed_in - deadline) / 86400 - 1);
  while (handed_in > ends(days)) ++days;
  return days;
}

}  // namespace prenorm::harness
