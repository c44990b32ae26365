#include "class/times.hpp"

#include <array>
#include <ctime>

namespace prenorm::harness {

std::optional<std::int64_t> seconds_since_1970(const std::string& text) {
  struct Format {
    const char* pattern;
    bool has_zone;
  };
  constexpr std::array<Format, 9> formats{{{"%Y-%m-%dT%H:%M:%S%z", true},
                                           {"%Y-%m-%dT%H:%M%z", true},
                                           {"%Y-%m-%dT%H:%M:%S", false},
                                           {"%Y-%m-%dT%H:%M", false},
                                           {"%Y-%m-%d %H:%M:%S%z", true},
                                           {"%Y-%m-%d %H:%M%z", true},
                                           {"%Y-%m-%d %H:%M:%S", false},
                                           {"%Y-%m-%d %H:%M", false},
                                           {"%A, %d %B %Y, %I:%M %p", false}}};
  for (const Format& format : formats) {
    std::tm parts{};
    parts.tm_isdst = -1;
    const char* end = ::strptime(text.c_str(), format.pattern, &parts);
    if (end == nullptr || *end != '\0') continue;
    const long east = parts.tm_gmtoff;  // mktime() and timegm() write their own
    const std::time_t seconds = format.has_zone ? ::timegm(&parts) - east : std::mktime(&parts);
    return static_cast<std::int64_t>(seconds);
  }
  return std::nullopt;
}

std::string time_text(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::int64_t days_late(std::int64_t handed_in, std::int64_t deadline) {
  constexpr std::int64_t day = 86400;
  return handed_in <= deadline ? 0 : (handed_in - deadline + day - 1) / day;
}

}  // namespace prenorm::harness
