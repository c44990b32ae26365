// Times as people and learning platforms write them, deadlines, and days after these.
#include "base/times.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>

using namespace prenorm::harness;

BOOST_AUTO_TEST_SUITE(times)

BOOST_AUTO_TEST_CASE(times_are_of_the_machine_where_no_zone_is_told) {
  ::setenv("TZ", "UTC-2", 1);  // east of Greenwich, in POSIX's way
  BOOST_TEST(time_text(seconds_since_1970("2026-10-05T23:59").value()) == "2026-10-05T21:59:00Z");
  BOOST_TEST(time_text(seconds_since_1970("Monday, 5 October 2026, 11:59 PM").value()) ==
             "2026-10-05T21:59:00Z");
  ::unsetenv("TZ");
  for (const char* text : {"", "-", "2026-10-05", "23:59", "2026-10-05T23:59 by mail"}) {
    BOOST_TEST(!seconds_since_1970(text).has_value(), text);
  }
  BOOST_TEST(days_late(100, 100) == 0);
  BOOST_TEST(days_late(101, 100) == 1);
  BOOST_TEST(days_late(100 + 86400, 100) == 1);
  BOOST_TEST(days_late(101 + 86400, 100) == 2);
  BOOST_TEST(days_late(101 + 1000 * 86400, 100) == 1001);
}

BOOST_AUTO_TEST_CASE(platforms_write_times_in_several_ways) {
  const auto time = seconds_since_1970("2026-10-05T23:59").value();
  for (const char* text : {"Monday, 5 October 2026, 23:59", "Monday, October 5, 2026, 11:59 PM"}) {
    BOOST_TEST(seconds_since_1970(text).value_or(0) == time, text);
  }
  for (const char* text : {"2026-02-31T23:59", "2026-02-31T23:59Z", "0026-10-05T23:59",
                           "1969-12-31 12:00Z", "Monday, 31 November 2026, 11:59 PM"}) {
    BOOST_TEST(!seconds_since_1970(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_CASE(a_deadline_lasts_for_its_minute) {
  BOOST_TEST(time_text(deadline_of("2026-10-05T23:59Z").value()) == "2026-10-05T23:59:59Z");
  BOOST_TEST(time_text(deadline_of("2026-10-05T23:59:00Z").value()) == "2026-10-05T23:59:00Z");
  BOOST_TEST(!deadline_of("tomorrow").has_value());
}

BOOST_AUTO_TEST_CASE(a_late_day_may_have_25_hours) {
  ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  const auto late = [](const char* handed_in, const char* deadline) {
    return days_late(seconds_since_1970(handed_in).value(), seconds_since_1970(deadline).value());
  };
  BOOST_TEST(late("2026-10-25T23:59", "2026-10-24T23:59") == 1);
  BOOST_TEST(late("2026-10-26T00:00", "2026-10-24T23:59") == 2);
  BOOST_TEST(late("2026-03-29T23:59", "2026-03-28T23:59") == 1);  // of 23
  BOOST_TEST(late("2026-03-30T00:00", "2026-03-28T23:59") == 2);
  ::unsetenv("TZ");
}

BOOST_AUTO_TEST_SUITE_END()
