// The page of a class: what stands in it, for classes of all sizes, and that nothing from outside
// breaks it. The pages are left for test_grade_pages.py.
#include "base/digest.hpp"
#include "class/class_overview.hpp"
#include "grade/report_parts.hpp"
#include "page_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

const std::vector<std::string> names{"linear",
                                     "embedding",
                                     "rmsnorm",
                                     "silu",
                                     "swiglu",
                                     "rope",
                                     "softmax",
                                     "scaled_dot_product_attention",
                                     "multihead_self_attention",
                                     "transformer_block",
                                     "multihead_self_attention_with_rope",
                                     "gelu",
                                     "relu",
                                     "log_softmax",
                                     "cross_entropy",
                                     "layernorm",
                                     "cosine_schedule",
                                     "gradient_clipping",
                                     "adamw_step",
                                     "data_loader"};

/// A class that has handed in nothing.
Overview empty_class(std::size_t items) {
  Overview made;
  made.gradebook = "grades.sqlite";
  made.rubric = "cs336-2025";
  made.title = "CS336 2025, assignment 1: the parts of the Transformer block";
  for (std::size_t i = 0; i < items; ++i) {
    const std::string& name = names.at(i);
    made.items.push_back({name, {name}, i % 4 == 3 ? 2.5 : 1.0 + static_cast<double>(i % 2)});
    made.points += made.items.back().points;
  }
  made.histogram.assign(10, 0);
  return made;
}

/// Adds a student with `earned` of every item's points.
OverviewRow& add(Overview& overview, const std::string& name, const std::vector<double>& shares) {
  OverviewRow row;
  row.submission = "student_" + std::to_string(overview.rows.size() + 1);
  row.name = name;
  row.id = std::to_string(20250000 + overview.rows.size() * 37);
  row.graded = row.counted = true;
  for (std::size_t i = 0; i < overview.items.size(); ++i) {
    const double share = shares[i % shares.size()];
    OverviewPoints points;
    points.earned = points.graded = overview.items[i].points * share;
    row.total += points.earned;
    row.points.push_back(points);
    ++(share == 1 ? row.passed : row.failed);
  }
  overview.rows.push_back(row);
  return overview.rows.back();
}

/// One who handed in nothing.
OverviewRow& add_absent(Overview& overview, const std::string& name) {
  OverviewRow& row = add(overview, name, {0});
  row.graded = row.counted = false;
  row.failed = 0;
  row.absent = true;
  row.flags = {"nothing handed in"};
  return row;
}

void set_by_hand(OverviewRow& row, std::size_t item, double points, const std::string& why) {
  OverviewPoints& set = row.points.at(item);
  row.total += points - set.earned;
  set.earned = points;
  set.set_by_hand = true;
  set.why = why;
  row.flags.emplace_back("set by hand");
}

/// Counts what follows from the rows.
Overview counted_up(Overview overview) {
  std::vector<double> totals;
  for (const OverviewRow& row : overview.rows) {
    if (row.graded) totals.push_back(row.total);
  }
  for (std::size_t i = 0; i < overview.items.size(); ++i) {
    OverviewItem& item = overview.items[i];
    for (const OverviewRow& row : overview.rows) {
      if (!row.counted || i >= row.points.size()) continue;
      item.earned += row.points[i].earned;
      item.full += row.points[i].earned >= item.points ? 1 : 0;
      ++item.rows;
    }
  }
  if (totals.empty()) return overview;
  for (const double total : totals) {
    const double bin = overview.points > 0 ? 10 * total / overview.points : 0;
    ++overview.histogram[static_cast<std::size_t>(std::clamp(bin, 0.0, 9.0))];
  }
  std::ranges::sort(totals);
  overview.mean =
      std::accumulate(totals.begin(), totals.end(), 0.0) / static_cast<double>(totals.size());
  overview.median = (totals[totals.size() / 2] + totals[(totals.size() - 1) / 2]) / 2;
  return overview;
}

Overview one_student() {
  Overview made = empty_class(1);
  add(made, "Ada Lovelace", {1});
  return counted_up(made);
}

Overview five_students() {
  Overview made = empty_class(6);
  add(made, "Ada Lovelace", {1});
  add(made, "Alan Turing", {1, 1, .5, 0, 1, 1});
  OverviewRow& third = add(made, "Grace Hopper", {1, 0, .5, 0, 1, 0});
  set_by_hand(third, 1, 1.5, "eps was told wrongly in the lecture of 3 May");
  add_absent(made, "Emmy Noether");
  OverviewRow& other = add(made, "", {0});
  other.id.clear();
  other.flags = {"COMPILE_ERROR", "not in the roster"};
  made.mistakes = {{"rmsnorm", "no_eps", 2}, {"rmsnorm", "eps_outside_of_the_root", 1}};
  return counted_up(made);
}

/// Most do well, some nothing, each kind of flag.
Overview large(std::size_t items, std::size_t students = 300) {
  Overview made = empty_class(items);
  const std::vector<std::string> first{"Ada",    "Björk",    "Chidi",    "Dorothea", "Émile",
                                       "Fatima", "Giovanni", "Hyun-woo", "Ingrid",   "João Pedro"};
  const std::vector<std::string> last{"Okonkwo", "van der Meer",
                                      "Nguyễn",  "O'Brien",
                                      "Schmidt", "Fernández de la Vega y Ortega-Villanueva",
                                      "李",      "Ivanova"};
  std::uint32_t state = 7;
  const auto draw = [&state](std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  for (std::size_t i = 0; i < students; ++i) {
    const std::string name = first[i % first.size()] + " " + last[draw(8)];
    if (i % 41 == 40) {
      add_absent(made, name);
      continue;
    }
    const std::uint32_t skill = draw(10) + 1;
    std::vector<double> shares;
    for (std::size_t k = 0; k < items; ++k) {
      shares.push_back(draw(10) < skill ? 1.0 : draw(2) == 0 ? 0.0 : .5);
    }
    OverviewRow& row = add(made, name, i % 67 == 5 ? std::vector<double>{0} : shares);
    if (i % 67 == 5) row.flags = {"SANDBOX_VIOLATION", "graded by an earlier rubric"};
    if (i % 50 == 3) row.flags = {"graded with other limits"};
    if (i % 90 == 7) {
      set_by_hand(row, 0, .75, "handed in late, by a day");
      row.flags.emplace_back("not graded: the grader was killed by signal 9 while it was built");
    }
  }
  const std::vector<std::string> words{"halves_instead_of_neighbours",
                                       "no_scale",
                                       "wrong_axis",
                                       "mask_inverted",
                                       "transposed_weight",
                                       "one_step_late",
                                       "mean_instead_of_sum"};
  for (std::int64_t count = std::ssize(made.rows) / 5; count > 0; count -= 2) {
    const std::string &problem = names[draw(static_cast<std::uint32_t>(items))],
                      &word = words[draw(7)];
    const bool known = std::ranges::any_of(made.mistakes, [&](const OverviewMistake& mistake) {
      return mistake.problem == problem && mistake.mistake == word;
    });
    if (!known) made.mistakes.push_back({problem, word, count});
  }
  return counted_up(made);
}

Overview nobody_graded() {
  Overview made = empty_class(6);
  for (const char* name : {"Ada Lovelace", "Alan Turing"}) add_absent(made, name);
  return counted_up(made);
}

Overview full_marks() {
  Overview made = empty_class(6);
  for (int i = 0; i < 40; ++i) add(made, "Student " + std::to_string(i + 1), {1});
  return counted_up(made);
}

/// Submissions alone: no roster says who they are.
Overview without_roster() {
  Overview made = large(6, 12);
  for (OverviewRow& row : made.rows) row.name = row.id = row.email = "";
  return made;
}

/// With a page for each who is graded, and a deadline that some have missed.
Overview linked() {
  Overview made = large(6, 40);
  made.deadline = 1'791'244'740;
  for (std::size_t i = 0; i < made.rows.size(); ++i) {
    OverviewRow& row = made.rows[i];
    if (!row.graded) continue;
    row.page = "pages/" + row.submission + ".html";
    const std::int64_t time = *made.deadline + static_cast<std::int64_t>(i % 5) * 50000 - 60000;
    if (i % 7 != 3) row.handed_in = time;
  }
  return made;
}

/// Everything that can come from outside is hostile, and very long.
Overview hostile() {
  const std::string text = evil + std::string(20000, 'w') + "<b>end</b>";
  Overview made = empty_class(1);
  made.gradebook = made.rubric = made.title = text;
  made.items = {{text, {text}, 1}, {evil, {evil}, 2}};
  made.points = 3;
  made.mistakes = {{text, text, 2}, {text, evil, 1}, {evil, text, 1}};
  for (int i = 0; i < 3; ++i) {
    OverviewRow row;
    row.submission = row.name = row.id = row.email = i == 0 ? text : evil;
    row.flags = {text, evil};
    row.graded = row.counted = true;
    row.points = {{.earned = .5, .set_by_hand = true, .graded = 0, .why = text}};
    row.points.resize(i == 1 ? 1 : 2);
    row.total = .5;
    made.rows.push_back(row);
  }
  made.rows[2].name =
      "\u202eevoL adA\u202c, \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd8\xb3\xd9\x84\xd8\xa7\xd9\x85";
  return counted_up(made);
}

const std::vector<std::pair<std::string, Overview>>& all() {
  static const std::vector<std::pair<std::string, Overview>> made{
      {"class_0", empty_class(1)},
      {"class_0_of_20", empty_class(20)},
      {"class_1", one_student()},
      {"class_5", five_students()},
      {"class_300_of_1", large(1)},
      {"class_300_of_20", large(20)},
      {"class_ungraded", nobody_graded()},
      {"class_full_marks", full_marks()},
      {"class_no_roster", without_roster()},
      {"class_linked", linked()},
      {"class_hostile", hostile()}};
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(class_page)

BOOST_AUTO_TEST_CASE(every_class_has_a_page_that_needs_nothing_beside_itself) {
  for (const auto& [name, overview] : all()) {
    BOOST_TEST_CONTEXT(name) {
      const std::string page = class_html(overview);
      leave(name + ".html", page);
      check_needs_nothing(page, 1);
      check_elements_end_in_order(page);
      // A row for each, and a cell for each item, total and flags.
      const std::size_t rows = overview.rows.size();
      if (rows == 0) continue;
      const std::string table = page.substr(page.find("<div class=\"students\""));
      BOOST_TEST(occurrences(table, "<tr>") + occurrences(table, "<tr ") == rows + 1);
      const std::size_t late = overview.deadline ? 1 : 0;
      BOOST_TEST(occurrences(table, "<td") == rows * (overview.items.size() + 2 + late));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_page_says_how_it_went) {
  const std::string page = class_html(five_students());
  BOOST_TEST(contains(page,
                      "<title>CS336 2025, assignment 1: the parts of the Transformer block: 5 "
                      "students</title>"));
  BOOST_TEST(contains(page, "rubric <bdi>cs336-2025</bdi>, gradebook <bdi>grades.sqlite</bdi>"));
  for (const char* fact : {"<dt>students</dt><dd>5</dd>", "<dt>submissions</dt><dd>4</dd>",
                           "<dt>graded</dt><dd>4</dd>", "<dt>not graded</dt><dd>0</dd>",
                           // (9.5 + 6.5 + 4 + 0) / 4, and half way between 6.5 and 4.
                           "<dt>mean</dt><dd>5 <small>of 9.5 points</small></dd>",
                           "<dt>median</dt><dd>5.25 <small>of 9.5 points</small></dd>"}) {
    BOOST_TEST(contains(page, fact), fact);
  }
  BOOST_TEST(contains(page, "1 submission is in no roster"));
  Overview failed = five_students();
  failed.rows[1].graded = false;
  failed.rows[1].flags = {"not graded: the grader was killed"};
  BOOST_TEST(contains(class_html(failed), "<dt>graded</dt><dd>3</dd>"));
  BOOST_TEST(contains(class_html(failed), "<dt>not graded</dt><dd>1</dd>"));
  // Three of four earned the first item. Of the second's 8 points: 2, 2, 1.5 by hand, 0.
  BOOST_TEST(contains(page, "<b>75%</b>, 3 of 4 full"));
  BOOST_TEST(contains(page, "<b>69%</b>, 2 of 4 full"));
  BOOST_TEST(contains(page, "<bdi>eps outside of the root</bdi></td><td class=\"number\">1<"));
  BOOST_TEST(contains(page, "colspan=\"2\"><bdi>rmsnorm</bdi>"));
}

BOOST_AUTO_TEST_CASE(the_histogram_has_a_bar_for_each_bin_with_somebody) {
  Overview overview = one_student();
  std::string page = class_html(overview);
  BOOST_TEST(occurrences(page, "<i style=\"height:0%\"></i>") == 9u);
  BOOST_TEST(contains(page,
                      "<div title=\"1 student: 0.9 to 1 points\"><span>1</span>"
                      "<i style=\"height:100%\"></i>"));
  BOOST_TEST(contains(page, "<span class=\"left\">mean and median 1</span>"));
  overview.points = 20;
  overview.histogram = {1, 0, 0, 12, 0, 0, 0, 0, 0, 7};
  overview.mean = 8;
  overview.median = 6.5;
  page = class_html(overview);
  BOOST_TEST(occurrences(page, "<i style=\"height:0%\"></i>") == 7u);
  BOOST_TEST(
      contains(page, "12 students: 6 to under 8 points\"><span>12</span><i style=\"height:100%"));
  BOOST_TEST(
      contains(page, "7 students: 18 to 20 points\"><span>7</span><i style=\"height:58.33%"));
  BOOST_TEST(contains(page, "<b class=\"mean\" style=\"left:40%\"><span>mean 8</span></b>"));
  BOOST_TEST(contains(
      page, "<b class=\"median\" style=\"left:32.5%\"><span class=\"left\">median 6.5</span></b>"));
  BOOST_TEST(contains(page, "<span style=\"left:30%\">6</span>"));
  for (const Overview& none : {nobody_graded(), Overview(), empty_class(1)}) {
    BOOST_TEST(!contains(class_html(none), "class=\"histogram\""));
  }
}

BOOST_AUTO_TEST_CASE(points_set_by_hand_are_marked_with_the_reason) {
  const std::string page = class_html(five_students());
  BOOST_TEST(contains(page,
                      "<span class=\"hand\" title=\"set by hand to 1.5, graded 0: eps was told "
                      "wrongly in the lecture of 3 May\">1.5*</span>"));
  BOOST_TEST(contains(page,
                      "<b><bdi>Grace Hopper</bdi></b>, <bdi>embedding</bdi>: set by hand to 1.5, "
                      "graded 0: <bdi>eps was told"));
  BOOST_TEST(!contains(class_html(full_marks()), "class=\"hand\""));
}

BOOST_AUTO_TEST_CASE(who_was_not_graded_has_no_points_but_those_set_by_hand) {
  Overview overview = nobody_graded();
  BOOST_TEST(occurrences(class_html(overview), "quiet\">–</span></td>") == 12u);
  BOOST_TEST(occurrences(class_html(overview), "skipped\">–</td>") == 2u);
  set_by_hand(overview.rows[0], 2, 1, "handed in by mail");
  const std::string page = class_html(overview);
  BOOST_TEST(occurrences(page, "quiet\">–</span></td>") == 11u);
  BOOST_TEST(contains(page, "skipped\">1</td>"));
}

BOOST_AUTO_TEST_CASE(names_without_a_roster_are_those_of_submissions) {
  const std::string page = class_html(without_roster());
  BOOST_TEST(contains(page, "12 submissions</h2>"));
  BOOST_TEST(contains(page, "<div class=\"who\" title=\"student_1\"><bdi>student_1</bdi></div>"));
  BOOST_TEST(!contains(page, "<dt>students</dt>"));
}

BOOST_AUTO_TEST_CASE(rows_link_to_reports_and_tell_of_days_late) {
  const std::string page = class_html(linked());
  BOOST_TEST(contains(page, "<a href=\"pages/student_1.html\"><bdi>Ada "));
  BOOST_TEST(contains(page, "<th scope=\"col\" class=\"number\">days late</th>"));
  // 40000, 90000 and 140000 seconds after the deadline; in time; and a time that nobody knows.
  BOOST_TEST(contains(page, "title=\"2026-10-06T11:05:40Z\">1</td>"));
  BOOST_TEST(contains(page, "title=\"2026-10-07T00:59:00Z\">2</td>"));
  BOOST_TEST(contains(page, "title=\"2026-10-05T07:19:00Z\">0</td>"));
  BOOST_TEST(contains(page, "title=\"\">–</td>"));
  BOOST_TEST(!contains(class_html(five_students()), "days late"));
  BOOST_TEST(!contains(class_html(five_students()), "<a "));
}

BOOST_AUTO_TEST_CASE(the_policy_names_the_one_script) {
  const std::string page = class_html(five_students());
  const std::size_t begin = page.find("<script>") + 8, end = page.find("</script>");
  BOOST_REQUIRE(end > begin);
  Digest digest;
  digest.add_bytes(std::string_view(page).substr(begin, end - begin));
  BOOST_TEST(contains(page, "script-src &#39;sha256-" + digest.base64() + "&#39;"));
}

BOOST_AUTO_TEST_CASE(the_page_escapes_all_that_comes_from_outside) {
  const std::string page = class_html(hostile());
  check_is_escaped(page, 1);
  BOOST_TEST(page.size() < 100000u);
  BOOST_TEST(!contains(page, std::string(1001, 'w')));
}

BOOST_AUTO_TEST_CASE(points_have_at_most_two_digits_behind_the_point) {
  for (const auto& [points, text] :
       std::vector<std::pair<double, std::string>>{{0, "0"},
                                                   {1, "1"},
                                                   {100, "100"},
                                                   {.5, "0.5"},
                                                   {1.0 / 3, "0.33"},
                                                   {-.001, "0"},
                                                   {12345.25, "12345.25"},
                                                   {1000000, "1000000"}}) {
    BOOST_TEST(points_text(points) == text);
  }
  BOOST_TEST(per_cent(0, 300) == "0 %");
  BOOST_TEST(per_cent(1, 300) == "1 %");
  BOOST_TEST(per_cent(299, 300) == "99 %");
  BOOST_TEST(per_cent(300, 300) == "100 %");
  BOOST_TEST(of_points(1) == "1 point");
  BOOST_TEST(of_points(.5) == "0.5 points");
}

BOOST_AUTO_TEST_SUITE_END()
