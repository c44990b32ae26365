// When something was handed in: dates as people and learning platforms write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace prenorm::harness {

/// Seconds since 1970 of "2026-10-05T23:59", also with a blank for the T, with seconds, and with a
/// time zone ("Z", "+02:00", " -0700"); or of "Monday, 5 October 2026, 11:59 PM", also with 23:59,
/// and with October 5. Without a zone: by this machine's clock. Nothing for any other text, for a
/// day that no calendar has, and for times before 1970.
std::optional<std::int64_t> seconds_since_1970(const std::string& text);

/// The last second of it: of a time that tells no seconds, its minute's end.
std::optional<std::int64_t> deadline_of(const std::string& text);

/// "2026-10-05T21:59:00Z".
std::string time_text(std::int64_t seconds);

/// Begun days after the deadline; 0 up to it. By this machine's calendar, where a day may have 23
/// or 25 hours.
std::int64_t days_late(std::int64_t handed_in, std::int64_t deadline);

}  // namespace prenorm::harness
