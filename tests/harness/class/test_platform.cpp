// What Canvas, Moodle and Gradescope export: as rosters, and filled with grades.
#include "base/error.hpp"
#include "class/fill.hpp"
#include "class/platform.hpp"
#include "class/roster.hpp"
#include "class/times.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace prenorm::harness;
namespace fs = std::filesystem;

namespace {

const std::string canvas =
    "\xef\xbb\xbf"
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (11111),Homework 2 (12345),Final "
    "Score\r\n"
    ",,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,10,21,(read only)\r\n"
    "\"Lovelace, Ada\",4711,u100,ada,\"CS 336, A\",9,,90\r\n"
    "\"Turing, Alan\",4712,u101,alan@example.edu,\"CS 336, A\",,,\r\n"
    "\"Noether, Emmy\",4713,u102,emmy,\"CS 336, B\",8,7,80\r\n"
    "\"Student, Test\",9999,,0a1b2c3d,\"CS 336, A\",,,\r\n";

const std::string moodle =
    "Identifier,\"Full name\",\"Email address\",Status,Grade,\"Maximum Grade\","
    "\"Grade can be changed\",\"Last modified (submission)\",\"Last modified (grade)\","
    "\"Feedback comments\"\n"
    "\"Participant 501\",\"Ada Lovelace\",ada@example.edu,\"Submitted for grading\",,21.00,Yes,"
    "\"Monday, 5 October 2026, 11:58 PM\",-,\n"
    "\"Participant 502\",\"Alan Turing\",alan@example.edu,\"No submission\",,21.00,Yes,-,-,\n";

const std::string gradescope =
    "First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,"
    "Submission Time,Lateness (H:M:S),View Count,Submission Count\n"
    "Ada,Lovelace,100,ada@example.edu,A,,21.0,Graded,7001,2026-10-05 23:59:30 -0700,00:00:00,0,1\n"
    "Alan,Turing,101,alan@example.edu,A,,21.0,Missing,,,,,\n";

/// What is read from such a text.
Roster whole_roster(const std::string& text, const std::set<std::string>& submissions = {}) {
  std::string name = (fs::temp_directory_path() / "prenorm-roster-XXXXXX").string();
  BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
  const fs::path folder = name;
  std::ofstream(folder / "r.csv", std::ios::binary) << text;
  try {
    auto read = read_roster(folder / "r.csv", submissions);
    fs::remove_all(folder);
    return read;
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
}

std::vector<Student> roster(const std::string& text,
                            const std::set<std::string>& submissions = {}) {
  return whole_roster(text, submissions).students;
}

std::string refusal(const std::string& text, const std::set<std::string>& submissions = {}) {
  try {
    roster(text, submissions);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

std::string submissions_in(const std::vector<Student>& students) {
  std::string all;
  for (const Student& student : students) all += student.submission + " ";
  return all;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

OverviewRow row(const std::string& submission, const std::string& id, double total) {
  OverviewRow made;
  made.submission = submission;
  made.id = id;
  made.graded = made.counted = true;
  made.points.resize(1);
  made.points[0].earned = total;
  made.total = total;
  return made;
}

Overview class_of(std::vector<OverviewRow> rows) {
  Overview made;
  made.points = 21;
  made.rows = std::move(rows);
  return made;
}

std::string complaint(const std::string& csv, const std::string& column) {
  try {
    fill(csv, column, class_of({row("ada", "", 1)}));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(platform)

BOOST_AUTO_TEST_CASE(canvas_is_read_as_a_roster) {
  const auto students = roster(canvas);
  BOOST_REQUIRE_EQUAL(students.size(), 3u);
  BOOST_TEST(students[0].name == "Lovelace, Ada");
  BOOST_TEST(students[0].id == "u100");
  BOOST_TEST(submissions_in(students) == "ada alan@example.edu emmy ");
}

BOOST_AUTO_TEST_CASE(a_submission_may_be_called_by_any_column_that_identifies) {
  BOOST_TEST(submissions_in(roster(canvas, {"4711", "4713"})) == "4711 4712 4713 ");
  BOOST_TEST(submissions_in(roster(canvas, {"U100.so", "u101.so"})) == "U100.so u101.so u102 ");
  BOOST_TEST(submissions_in(roster(canvas, {"alan"})) == "ada alan emmy ");
  // As Canvas, Moodle and Gradescope name what one downloads.
  BOOST_TEST(
      submissions_in(roster(canvas, {"lovelaceada_LATE_4711_88_hw", "turingalan_4712_89_hw"})) ==
      "lovelaceada_LATE_4711_88_hw turingalan_4712_89_hw emmy ");
  BOOST_TEST(submissions_in(roster(moodle, {"Alan Turing_502_assignsubmission_file"})) ==
             "ada@example.edu Alan Turing_502_assignsubmission_file ");
  BOOST_TEST(submissions_in(roster(gradescope, {"submission_7001"})) == "submission_7001 101 ");
}

BOOST_AUTO_TEST_CASE(one_number_of_two_kinds_is_whose_most_are) {
  // Canvas's own number of one is the student number of the other.
  const std::string text =
      "Student,ID,SIS User ID,Section\nA,200,100,x\nB,300,200,x\nC,400,300,x\n";
  BOOST_TEST(submissions_in(roster(text, {"100", "200", "300"})) == "100 200 300 ");
}

BOOST_AUTO_TEST_CASE(a_part_of_a_name_finds_only_where_it_means_something) {
  // No ending of a file, and no number that a platform has put there.
  for (const char* name : {"ada.lovelace", "hw_4711", "team_4711_hw", "x/ada"}) {
    BOOST_TEST(contains(refusal(canvas, {name}), "none of the 1 submission"), name);
  }
  for (const char* name : {"ada.zip", "u100.py", "lovelaceada_4711_88_hw.zip"}) {
    BOOST_TEST(roster(canvas, {name}).at(0).submission == name);
  }
  // The whole name comes first.
  const std::string text = "Student,ID,SIS Login ID,Section\nA,1,ann.so,x\nB,2,ann,x\n";
  BOOST_TEST(submissions_in(roster(text, {"ann.so"})) == "ann.so ann ");
}

BOOST_AUTO_TEST_CASE(who_is_not_there_has_a_name_of_their_own) {
  const std::string text =
      "Name,SID,Email,Total Score\nA,1,ann@a.edu,\nB,2,ann@b.edu,\nC,3,cy@a.edu,\n";
  BOOST_TEST(submissions_in(roster(text, {"cy"})) == "1 2 cy ");
}

BOOST_AUTO_TEST_CASE(moodle_and_gradescope_are_read_with_their_times) {
  const auto students = roster(moodle);
  BOOST_REQUIRE_EQUAL(students.size(), 2u);
  BOOST_TEST(students[0].name == "Ada Lovelace");
  BOOST_TEST(students[0].id == "Participant 501");
  BOOST_TEST(students[0].email == "ada@example.edu");
  BOOST_TEST(students[0].handed_in.has_value());
  BOOST_TEST(!students[1].handed_in.has_value());
  const auto others = roster(gradescope);
  BOOST_TEST(others[0].name == "Ada Lovelace");
  BOOST_TEST(others[0].id == "100");
  BOOST_TEST(time_text(others[0].handed_in.value()) == "2026-10-06T06:59:30Z");
  BOOST_TEST(!others[1].handed_in.has_value());
  const auto course = roster(
      "First name,Last name,ID number,Institution,Department,Email address,Quiz (Real)\n"
      "Ada,Lovelace,100,,,ada@example.edu,-\n");
  BOOST_TEST(course.at(0).submission == "ada@example.edu");
  BOOST_TEST(course.at(0).id == "100");
  std::string german = moodle;
  german.replace(german.find("Monday, 5 October"), 17, "Montag, 5. Oktober");
  BOOST_TEST(whole_roster(german).note ==
             "1 time not understood, as 'Montag, 5. Oktober 2026, 11:58 PM'");
  BOOST_TEST(whole_roster(moodle).note.empty());
}

BOOST_AUTO_TEST_CASE(a_roster_that_fits_nobody_is_refused) {
  const std::string told = refusal(canvas, {"octocat", "zoe"});
  BOOST_TEST(contains(told, "r.csv, line 1: none of the 2 submissions ('octocat', ...)"), told);
  BOOST_TEST(contains(told, "would be 'ada'"), told);
  BOOST_TEST(contains(refusal("submission,name\nann,Ann\n", {"ben"}), "none of the 1 submission"));
  BOOST_TEST(contains(refusal("Student,Section\nA,B\n"), "no column 'submission'"));
  BOOST_TEST(contains(refusal("Student,ID,Section\nA,,B\n"), "line 2: Canvas's columns"));
  BOOST_TEST(submissions_in(roster("Name,SID,Email,Total Score\n,,,\nA,1,,\n")) == "1 ");
  // A column `submission` makes it the teacher's own table, whatever else is in it.
  BOOST_TEST(submissions_in(roster("Student,ID,Section,submission\nA,1,x,ann\n")) == "ann ");
}

BOOST_AUTO_TEST_CASE(a_column_of_times_is_read) {
  const auto students =
      roster("submission,submitted\nann,2026-10-05T23:59Z\nben,\ncy,2026-10-05 23:59:01+02:00\n");
  BOOST_TEST(time_text(students[0].handed_in.value()) == "2026-10-05T23:59:00Z");
  BOOST_TEST(!students[1].handed_in.has_value());
  BOOST_TEST(time_text(students[2].handed_in.value()) == "2026-10-05T21:59:01Z");
  BOOST_TEST(
      contains(refusal("submission,submitted\nann,yesterday\n"), "'yesterday' is not a time"));
}

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

BOOST_AUTO_TEST_CASE(grades_go_to_whom_they_belong) {
  // In another order than the export's.
  const Filled made = fill(canvas, "Homework 2 (12345)",
                           class_of({row("emmy", "u102", 8.5), row("ada", "u100", 1.0 / 3)}));
  BOOST_TEST(made.platform == "Canvas");
  BOOST_TEST(made.grades == 2u);
  std::string expected = canvas;
  const auto put = [&expected](const std::string& before, const std::string& after) {
    BOOST_REQUIRE(contains(expected, before));
    expected.replace(expected.find(before), before.size(), after);
  };
  put("\"CS 336, A\",9,,90", "\"CS 336, A\",9,0.3333,90");
  put("\"CS 336, B\",8,7,80", "\"CS 336, B\",8,8.5,80");
  // Blanks at the begin are kept, in quotes.
  put("    Points Possible", "\"    Points Possible\"");
  BOOST_TEST(made.text == expected);
  BOOST_TEST(made.unknown == std::vector<std::string>{"Turing, Alan (u101)"});
  BOOST_TEST(made.note.empty());
  BOOST_TEST(!made.complete());
}

BOOST_AUTO_TEST_CASE(who_is_left_out_is_told) {
  OverviewRow ungraded = row("emmy", "", 0);
  ungraded.graded = ungraded.counted = false;
  ungraded.flags = {"not graded: the grader was killed"};
  OverviewRow absent = row("alan", "", 0);
  absent.graded = absent.counted = false;
  absent.flags = {"nothing handed in"};
  const Filled made = fill(canvas, "Homework 1 (11111)",
                           class_of({ungraded, absent, row("octocat", "", 3), row("4711", "", 4)}));
  BOOST_TEST(made.ungraded == std::vector<std::string>{"emmy"});
  BOOST_TEST(made.missing == std::vector<std::string>{"octocat"});
  BOOST_TEST(made.unknown.empty());
  BOOST_TEST(made.grades == 2u);  // who handed nothing in has 0
  BOOST_TEST(contains(made.text, "\"CS 336, A\",4,,90"));
  BOOST_TEST(contains(made.text, "alan@example.edu,\"CS 336, A\",0,,"));
  BOOST_TEST(contains(made.text, "emmy,\"CS 336, B\",8,7,80"));
  BOOST_TEST(made.note == "the column is of 10 points, the rubric of 21");
}

BOOST_AUTO_TEST_CASE(two_that_cannot_be_told_apart_get_nothing) {
  const std::string twice = "Student,ID,Section,Quiz (1)\nA,1,x,\nA,1,y,\nB,2,x,\n";
  const Filled made = fill(twice, "", class_of({row("1", "", 5), row("2", "", 6)}));
  BOOST_TEST(made.grades == 1u);
  BOOST_TEST(made.unknown.size() == 2u);
  BOOST_TEST(made.missing == std::vector<std::string>{"1"});
  BOOST_TEST(contains(made.text, "A,1,x,\nA,1,y,\nB,2,x,6\n"));
}

BOOST_AUTO_TEST_CASE(the_rosters_id_comes_before_the_submissions_name) {
  // Of two folders the names are swapped; most are right.
  const std::string text =
      "Student,ID,SIS User ID,SIS Login ID,Section,Quiz (1)\n"
      "A,1,u1,ann,x,\nB,2,u2,ben,x,\nC,3,u3,cy,x,\nD,4,u4,dee,x,\n";
  const Filled made = fill(
      text, "",
      class_of({row("ann", "u2", 1), row("ben", "u1", 2), row("cy", "", 3), row("dee", "", 4)}));
  BOOST_TEST(made.complete());
  BOOST_TEST(contains(made.text, "u1,ann,x,2\nB,2,u2,ben,x,1\nC,3,u3,cy,x,3\nD,4,u4,dee,x,4\n"));
  // Two rows say that they are A: neither is, nor anybody else by its name.
  const Filled twice = fill(text, "", class_of({row("x", "u1", 1), row("ben", "u1", 2)}));
  BOOST_TEST(twice.grades == 0u);
  BOOST_TEST(twice.missing.size() == 2u);
}

BOOST_AUTO_TEST_CASE(who_handed_in_after_the_roster_was_stored_has_not_0) {
  OverviewRow before = row("ada", "u100", 0);
  before.graded = before.counted = false;
  before.flags = {"nothing handed in"};
  for (const char* late : {"lovelaceada_LATE_4711_88_hw", "4711"}) {
    const Filled made = fill(canvas, "Homework 1 (11111)", class_of({before, row(late, "", 20)}));
    BOOST_TEST(contains(made.text, "\"CS 336, A\",9,,90"), late);
    BOOST_TEST(made.unknown.front() == "Lovelace, Ada (u100)");
  }
}

BOOST_AUTO_TEST_CASE(who_is_excused_stays_so) {
  OverviewRow absent = row("ada", "u100", 0);
  absent.graded = absent.counted = false;
  absent.flags = {"nothing handed in"};
  for (const auto& [cell, written] :
       {std::pair("EX", "EX"), std::pair("-", "0"), std::pair("9", "0")}) {
    const std::string text = "Student,ID,Section,Quiz (1)\nA,ada,x,";
    const Filled made = fill(text + cell + "\n", "", class_of({absent}));
    BOOST_TEST(made.text == text + written + "\n");
    BOOST_TEST(made.excused.size() == (std::string(cell) == "EX" ? 1u : 0u));
  }
  // A grade is a grade.
  BOOST_TEST(fill("Student,ID,Section,Quiz (1)\nA,ada,x,EX\n", "", class_of({row("ada", "", 5)}))
                 .text.ends_with(",5\n"));
}

BOOST_AUTO_TEST_CASE(moodle_and_gradescope_are_filled) {
  const Filled one = fill(moodle, "", class_of({row("ada", "", 20)}));
  BOOST_TEST(one.column == "Grade");
  BOOST_TEST(contains(one.text, "Submitted for grading,20,21.00"));
  BOOST_TEST(one.note.empty());
  std::string of_100 = moodle;
  of_100.replace(of_100.find("21.00"), 5, "\"100,00\"");
  BOOST_TEST(fill(of_100, "", class_of({row("ada", "", 20)})).note ==
             "the column is of 100,00 points, the rubric of 21");
  const Filled other = fill(gradescope, "", class_of({row("101", "", 3), row("100", "", 20)}));
  BOOST_TEST(other.complete());
  BOOST_TEST(contains(other.text, "ada@example.edu,A,20,21.0"));
  BOOST_TEST(contains(other.text, "alan@example.edu,A,3,21.0"));
  std::string semicolons = moodle;
  std::ranges::replace(semicolons, ',', ';');
  BOOST_TEST(contains(fill(semicolons, "", class_of({row("ada", "", 20)})).text, ";20;21.00;"));
}

BOOST_AUTO_TEST_CASE(a_wrong_export_or_column_is_refused) {
  BOOST_TEST(
      contains(complaint("a,b\n1,2\n", ""), "is not an export of Canvas, Moodle or Gradescope"));
  BOOST_TEST(contains(complaint("", ""), "is empty"));
  BOOST_TEST(contains(complaint(canvas, ""), "2 columns for grades; --column NAME"));
  BOOST_TEST(
      contains(complaint(canvas, "Homework 2 (12346)"), "did you mean 'Homework 2 (12345)'"));
  for (const char* column : {"SIS User ID", "Section", "Final Score"}) {
    BOOST_TEST(contains(complaint(canvas, column), "no grades go into the column '"), column);
  }
  for (const char* column : {"Full name", "Email address", "Identifier", "Maximum Grade"}) {
    BOOST_TEST(contains(complaint(moodle, column), "no grades go into the column '"), column);
  }
  BOOST_TEST(complaint(moodle, "Feedback comments") == "none");
  BOOST_TEST(contains(complaint(canvas, "Homework 3"), "Homework 1 (11111), Homework 2 (12345)"));
}

BOOST_AUTO_TEST_SUITE_END()
