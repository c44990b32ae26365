// Pictures of requests: what lies in which row, and that nothing in a title can break them.
#include "checks.hpp"
#include "profile/request_picture.hpp"

#include <pugixml.hpp>

using namespace prenorm::harness;
using namespace prenorm::harness::profile;
using namespace prenorm::harness::testing;

namespace {

/// Lanes first to last - 1 access `width` bytes each, at address_of(lane).
Access access_of(Space space, std::uint64_t width, auto address_of, unsigned first = 0,
                 unsigned last = 32) {
  Access access;
  access.space = space;
  access.width = width;
  for (unsigned lane = first; lane < last; ++lane) access.worst[lane] = address_of(lane);
  return access;
}

std::vector<std::size_t> pieces_of(const std::vector<RequestRow>& rows) {
  std::vector<std::size_t> counts;
  for (const RequestRow& row : rows) counts.push_back(row.pieces.size());
  return counts;
}

std::size_t waiting(const std::vector<RequestRow>& rows) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, &RequestRow::waits));
}

using Counts = std::vector<std::size_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(request_drawing)

BOOST_AUTO_TEST_CASE(side_by_side_is_one_line_of_four_sectors) {
  const auto rows = request_rows(access_of(Space::global, 4, [](unsigned i) { return 4 * i; }));
  BOOST_TEST(pieces_of(rows) == Counts{32});
  BOOST_TEST(rows[0].sectors == (std::array{true, true, true, true}),
             boost::test_tools::per_element());
  BOOST_TEST(rows[0].pieces[5].begin == 20);
  BOOST_TEST(rows[0].pieces[5].length == 4);
  BOOST_TEST(rows[0].pieces[5].lanes == std::vector<unsigned>{5});
}

BOOST_AUTO_TEST_CASE(a_stride_touches_a_line_for_each_lane) {
  const Access access = access_of(Space::global, 4, [](unsigned i) { return 32 + 4096 * i; });
  const auto rows = request_rows(access);
  BOOST_TEST(pieces_of(rows) == Counts(32, 1));
  BOOST_TEST(rows[3].address == 3 * 4096);
  BOOST_TEST(rows[3].sectors == (std::array{false, true, false, false}),
             boost::test_tools::per_element());
  BOOST_TEST(distinct_bytes(access) == 128);
}

BOOST_AUTO_TEST_CASE(an_access_that_crosses_lines_is_in_both) {
  const auto rows = request_rows(access_of(
      Space::global, 16, [](unsigned) { return 120; }, 7, 8));
  BOOST_TEST(pieces_of(rows) == (Counts{1, 1}));
  BOOST_TEST(rows[0].pieces[0].begin == 120);
  BOOST_TEST(rows[1].pieces[0].length == 8);
  BOOST_TEST(rows[1].address == 128);
}

BOOST_AUTO_TEST_CASE(lanes_that_ask_for_the_same_share_a_piece) {
  const Access access = access_of(Space::global, 4, [](unsigned) { return 8; });
  const auto rows = request_rows(access);
  BOOST_TEST(pieces_of(rows) == Counts{1});
  BOOST_TEST(rows[0].pieces[0].lanes.size() == 32);
  BOOST_TEST(distinct_bytes(access) == 4);
}

BOOST_AUTO_TEST_CASE(banks) {
  const auto rows_of = [](std::uint64_t width, auto address_of) {
    return request_rows(access_of(Space::shared, width, address_of));
  };
  // Side by side, and all of one word: one wavefront.
  BOOST_TEST(pieces_of(rows_of(4, [](unsigned i) { return 4 * i; })) == Counts{32});
  BOOST_TEST(pieces_of(rows_of(4, [](unsigned) { return 12; })) == Counts{1});
  // A column of 32 words: all wait for one bank; of 33: nobody waits.
  const auto column = rows_of(4, [](unsigned i) { return 128 * i; });
  BOOST_TEST(pieces_of(column) == Counts(32, 1));
  BOOST_TEST(waiting(column) == 31);
  BOOST_TEST(pieces_of(rows_of(4, [](unsigned i) { return 132 * i; })) == Counts{32});
  // Two lanes take halves of a word.
  const auto halves = rows_of(2, [](unsigned i) { return 2 * i; });
  BOOST_TEST(pieces_of(halves) == Counts{16});
  BOOST_TEST(halves[0].pieces[3].lanes == (std::vector<unsigned>{6, 7}));
  // 16 bytes go by quarters of the warp, without a conflict.
  const auto wide = rows_of(16, [](unsigned i) { return 16 * i; });
  BOOST_TEST(pieces_of(wide) == Counts(4, 8));
  BOOST_TEST(wide[1].pieces[0].lanes == std::vector<unsigned>{8});
  BOOST_TEST(waiting(wide) == 0);
  // 8 bytes, two words apart from the next: each half of the warp waits once.
  const auto apart = rows_of(8, [](unsigned i) { return 16 * i; });
  BOOST_TEST(pieces_of(apart) == Counts(4, 8));
  BOOST_TEST(waiting(apart) == 2);
}

BOOST_AUTO_TEST_CASE(nothing_in_a_title_breaks_a_picture) {
  Access access = access_of(
      Space::global, 4, [](unsigned i) { return 4 * i; }, 0, 20);
  access.worst_cost = access.worst_least = 3;
  // Markup, quotes, controls, what is no UTF-8, and marks that turn the writing direction.
  const std::string evil =
      "<script>alert('x')</script>\"'&<img src=http://example.org/x onerror=1>\x1b[2J\n\x01\xff"
      "\u202egnp.exe\u2066 ]]> {} %s";
  for (const std::string& picture : {request_picture(access, evil), request_file(access, evil)}) {
    for (const char* part : {"<script", "<img", "\u202e", "\u2066"}) {
      BOOST_TEST(!contains(picture, part), part);
    }
    BOOST_TEST(
        contains(picture, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&#39;&amp;"));
    for (const char c : picture)
      BOOST_REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
    BOOST_TEST(pugi::xml_document().load_string(picture.c_str()));
    BOOST_TEST(contains(picture, "role=\"img\""));
    BOOST_TEST(contains(picture, "<desc>20 lanes read 4 bytes each, side by side: 3 sectors."));
    BOOST_TEST(contains(picture, "96 bytes, 80 asked for"));
  }
}

BOOST_AUTO_TEST_CASE(a_picture_ends_after_32_rows) {
  Access access = access_of(Space::global, 16, [](unsigned i) { return 124 + 256 * i; });
  const std::string picture = request_picture(access, "unaligned");
  BOOST_TEST(contains(picture, "and 32 more lines"));
}

BOOST_AUTO_TEST_SUITE_END()
