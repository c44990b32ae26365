// The gradebook: what is put into it comes back, points are scored anew and set by hand, and what
// is no sound gradebook is refused and left as it is. Also the table's CSV.
#include "base/text.hpp"
#include "base/temporary_folder.hpp"
#include "checks.hpp"
#include "class/class_overview.hpp"
#include "grade/grading_record.hpp"
#include "report/csv.hpp"

#include <filesystem>
#include <sqlite3.h>
#include <unistd.h>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;
namespace fs = std::filesystem;

namespace {

using Access = Gradebook::Access;
constexpr Access every_access[] = {Access::read, Access::change, Access::create};

struct Folder : TemporaryFolder {
  const fs::path file = path() / "grades.sqlite";
};

GradedCase graded(const std::string& problem, const std::string& name, Status status,
                  bool hidden = false) {
  GradedCase made;
  made.result.problem = problem;
  made.result.case_name = name;
  made.result.solution = "alice";
  made.result.status = status;
  made.result.dtype = "float32";
  made.result.repeat = "prenorm grade alice --case " + name;
  made.result.seconds = hidden ? 0 : 0.25;
  made.hidden = hidden;
  made.groups = {hidden ? "hidden" : "float32"};
  if (hidden) {
    made.secret = GradedCase::Secret{made.result, "by_hand", "x[2] -> y[2]"};
    made.secret->result.seconds = 0.5;
    made.secret->result.message = "the truth is 42";
  } else {
    made.told.sizes = "x[2, 8] -> y[2, 8]";
  }
  if (status == Status::incorrect_numerical && !hidden) {
    made.told.errors = {
        {"y", {2, 8}, 1, 2, {0.5, 1e300 * 1e10}, {1, 2, 3}, {4}, {{"seq", 2, {0, 9}}}, {7}}};
  }
  return made;
}

/// Two items of 2 points each: the first half earned, the second in full.
Grading ordinary(const std::string& name = "alice") {
  Grading grading;
  grading.submission = name;
  grading.kind = "library";
  grading.rubric = "small";
  grading.title = "A small one";
  grading.sandbox = "bubblewrap";
  grading.notes = {"a note with \"quotes\" and Zo\u00eb"};
  grading.imports = {"expf"};
  grading.seed = 18446744073709551615u;
  grading.seconds = 1.5;
  GradedItem turned{
      .name = "turned",
      .problems = {"rope"},
      .points = 2,
      .earned = 1,
      .groups = {{"float32", false, 1, 0, 2, 0, 0, false}, {"hidden", true, 1, 0, 0, 1, 1, true}},
      .cases = {graded("rope", "one", Status::incorrect_numerical),
                graded("rope", "two", Status::incorrect_numerical),
                graded("rope", "three", Status::passed, true)},
      .diagnoses = {{"rope", "halves_instead_of_neighbours", 2, 2, {"theta_fixed"}}},
      .properties = {{"rope", "y is zero everywhere", 1, 2}},
      .undiagnosed = {}};
  GradedItem right{.name = "right",
                   .problems = {"silu"},
                   .points = 2,
                   .earned = 2,
                   .groups = {{"float32", false, 1, 1, 1, 0, 0, true}},
                   .cases = {graded("silu", "one", Status::passed)},
                   .diagnoses = {},
                   .properties = {},
                   .undiagnosed = {}};
  grading.items = {turned, right};
  return grading;
}

Course course() {
  Course made{"small.toml", "small", "A small one", 7, "exam-1", {}};
  RubricItem turned{"turned", {"rope"}, 2, {}, false};
  turned.groups.resize(2);
  turned.groups[0].name = "float32";
  turned.groups[1].name = "hidden";
  turned.groups[1].hidden = true;
  RubricItem right{"right", {"silu"}, 2, {}, false};
  right.groups.resize(1);
  right.groups[0].name = "float32";
  made.items = {turned, right};
  return made;
}

Entry entry(const std::string& name = "alice") {
  return {{name, "class/" + name, "files-1"}, "exam-1", "10 s a call"};
}

/// The file of a gradebook with alice.
struct AliceFile : Folder {
  AliceFile() {
    Gradebook book(file, Access::create);
    book.set_course(course());
    book.put(entry(), ordinary());
  }
};

/// The same, opened.
struct WithAlice : AliceFile {
  Gradebook book{file, Access::change};

  OverviewRow row(std::size_t number = 0) const { return overview(book).rows.at(number); }
};

const std::string composed = "Jos\u00e9", decomposed = "Jose\u0301";

/// The message of a refusal; the file is as it was.
std::string refusal(const fs::path& file, Access access) {
  const bool is_file = fs::is_regular_file(file);
  const std::string before = is_file ? bytes_of(file) : "";
  const std::string message = message_of<UsageError>([&] { Gradebook(file, access); });
  if (is_file) BOOST_TEST(bytes_of(file) == before, file << " was changed");
  BOOST_TEST(!fs::exists(file.string() + ".lock"));
  return message;
}

/// As another program would.
void change(const fs::path& book, const char* sql) {
  sqlite3* other = nullptr;
  BOOST_TEST(::sqlite3_open(book.c_str(), &other) == SQLITE_OK);
  BOOST_TEST(::sqlite3_exec(other, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  ::sqlite3_close(other);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradebook)

BOOST_FIXTURE_TEST_CASE(what_is_put_comes_back, AliceFile) {
  const Gradebook book(file, Access::read);
  BOOST_TEST(grading_record(book.grading("alice")) == grading_record(ordinary()));
  BOOST_TEST(book.entries().at("alice").path == "class/alice");
  BOOST_TEST(book.entries().at("alice").files == "files-1");
  BOOST_TEST(book.course()->seed == 7u);
  BOOST_TEST(book.course()->items[0].groups[1].hidden);
  BOOST_TEST(book.outline("alice").items[0].cases.empty());
  BOOST_TEST(book.statuses().at("alice").at(Status::incorrect_numerical) == 2);
  BOOST_TEST(book.statuses().at("alice").at(Status::passed) == 2);
  BOOST_CHECK_THROW(book.grading("bob"), UsageError);
}

BOOST_FIXTURE_TEST_CASE(errors_of_the_first_failing_cases_are_kept, Folder) {
  Grading grading = ordinary();
  grading.items[0].cases.resize(1);
  grading.items[0].cases.resize(most_pictured + 3, grading.items[0].cases[0]);
  Gradebook book(file, Access::create);
  book.put(entry(), grading);
  const auto cases = book.grading("alice").items[0].cases;
  BOOST_TEST(cases.size() == most_pictured + 3);
  BOOST_TEST(!cases[most_pictured - 1].told.errors.empty());
  BOOST_TEST(cases[most_pictured].told.errors.empty());
}

BOOST_FIXTURE_TEST_CASE(a_change_of_points_scores_anew, WithAlice) {
  BOOST_TEST(book.set_course(course()) == 0u);
  Course changed = course();
  changed.items[0].points = 10;
  changed.items[0].groups[1].share = 4;
  BOOST_TEST(book.set_course(changed) == 1u);
  BOOST_TEST(book.grading("alice").items[0].points == 10);
  BOOST_TEST(book.grading("alice").items[0].earned == 8);
  BOOST_TEST(book.grading("alice").items[1].earned == 2);
  // Graded by another exam: its points stay.
  changed.exam = "exam-2";
  changed.items[0].points = 20;
  BOOST_TEST(book.set_course(changed) == 0u);
  BOOST_TEST(book.grading("alice").items[0].points == 10);
}

BOOST_FIXTURE_TEST_CASE(the_class_at_a_glance, WithAlice) {
  Grading broken = ordinary("bob");
  broken.status = Status::compile_error;
  broken.items[0].earned = broken.items[1].earned = 0;
  broken.items[1].undiagnosed = {"right"};
  broken.items[1].properties = {{"right", "y is zero everywhere", 1, 1}};
  for (GradedItem& item : broken.items) {
    item.diagnoses.clear();
    for (GradedCase& each : item.cases) each.result.status = Status::compile_error;
  }
  book.put(entry("bob"), broken);
  Entry lost = entry("carol");
  lost.failure = "the grader was ended by signal 9";
  book.put_failure(lost);
  book.set_roster({{"dave", "Dave", "4", "d@x"}, {"alice", "Alice A.", "1", "a@x"}});
  const Overview made = overview(book);
  BOOST_TEST(made.points == 4);
  BOOST_REQUIRE_EQUAL(made.rows.size(), 4u);
  BOOST_TEST(made.rows[0].submission == "dave");
  BOOST_TEST(!made.rows[0].graded);
  BOOST_TEST(made.rows[0].flags == std::vector<std::string>{"nothing handed in"});
  BOOST_TEST(made.rows[1].name == "Alice A.");
  BOOST_TEST(made.rows[1].total == 3);
  BOOST_TEST(made.rows[1].passed == 2);
  BOOST_TEST(made.rows[1].failed == 2);
  BOOST_TEST(made.rows[1].flags.empty());
  BOOST_TEST(made.rows[2].flags == std::vector<std::string>{"COMPILE_ERROR"});
  BOOST_TEST(made.rows[3].flags ==
             std::vector<std::string>{"not graded: the grader was ended by signal 9"});
  BOOST_REQUIRE_EQUAL(made.items.size(), 2u);
  BOOST_TEST(made.items[0].full == 0);
  BOOST_TEST(made.items[0].earned == 1);
  BOOST_TEST(made.items[0].share() == .25);
  BOOST_TEST(made.items[1].name == "right");
  BOOST_TEST(made.items[1].full == 1);
  BOOST_TEST(made.items[1].rows == 2);
  BOOST_REQUIRE_EQUAL(made.mistakes.size(), 2u);  // they give the same numbers
  BOOST_TEST(made.mistakes[0].submissions == 1);
  BOOST_TEST(made.mistakes[0].lost == 1);
  BOOST_TEST(made.mistakes[0].who == std::vector<std::string>{"Alice A."});
  BOOST_REQUIRE_EQUAL(made.unnamed.size(), 1u);
  BOOST_TEST(made.unnamed[0].unnamed == "y is zero everywhere");
  BOOST_TEST(made.unnamed[0].lost == 2);
  broken.items[1].clues = {
      {.problem = "right", .law = "scale", .terms = {}, .heading = "it scales"}};
  book.put(entry("bob"), broken);
  BOOST_TEST(overview(book).unnamed[0].unnamed == "it scales");
  BOOST_TEST(
      contains(class_html(made), "y is zero everywhere</bdi> <small class=\"quiet\"><bdi>bob"));
  BOOST_TEST(made.decisions.empty());  // one alone
  broken.items[0].groups[0] = {"float32", false, 1, 1, 2, 0, 0, false, "two"};
  for (const char* name : {"bob", "eve"}) book.put(entry(name), broken);
  const Overview decided = overview(book);
  BOOST_REQUIRE_EQUAL(decided.decisions.size(), 1u);
  const std::string sentence =
      "turned, float32: 2 of 3 submissions that lose this group pass all but two";
  BOOST_TEST(decision_text(decided.decisions[0]) == sentence);
  BOOST_TEST(contains(class_html(decided), sentence));
  BOOST_TEST(contains(class_summary(decided, false, 80), sentence));
  BOOST_TEST(made.histogram[0] == 1);
  BOOST_TEST(made.histogram[7] == 1);
  BOOST_TEST(made.mean == 1.5);
  BOOST_TEST(made.median == 1.5);
}

BOOST_FIXTURE_TEST_CASE(each_student_of_a_submission_has_a_row, WithAlice) {
  book.set_roster({{"alice", "Alice", "1", "a@x", 400}, {"alice", "Bob", "2", "b@x", 300}});
  const Overview made = overview(book);
  BOOST_REQUIRE_EQUAL(made.rows.size(), 2u);
  for (const OverviewRow& row : made.rows) {
    BOOST_TEST(row.submission == "alice");
    BOOST_TEST(row.total == 3);
    BOOST_TEST(row.handed_in.value() == 400);
  }
  BOOST_TEST(made.rows[1].name == "Bob");
  BOOST_TEST(made.mean == 3);
  BOOST_TEST(made.mistakes.at(0).submissions == 1);
  // test_class_page.py reads the page; this is for AddressSanitizer.
  const std::string hostile = std::string(20000, '<') + "\x1b\xff\0&";
  book.set_roster({{"alice", hostile, "1", "a@x", 400}, {"alice", "Bob", hostile, "b@x", 300}});
  BOOST_TEST(!contains(class_html(overview(book)), hostile));
}

BOOST_FIXTURE_TEST_CASE(accents_of_a_later_submission_may_be_spelled_differently, WithAlice) {
  const std::string other = "Bjo\u0308rk";
  book.set_roster({{composed, "Jo", "1", "", 400}, {"Bj\u00f6rk", "B", "2", ""}});
  BOOST_TEST(row().flags.front() == "nothing handed in");
  book.put(entry(decomposed), ordinary());
  Entry lost = entry(other);
  lost.failure = "lost";
  book.put_failure(lost);
  BOOST_TEST(row().submission == decomposed);
  BOOST_TEST(row().total == 3);
  BOOST_TEST(row().handed_in.value() == 400);
  BOOST_TEST(row(1).flags.front() == "not graded: lost");
  book.put(entry(composed), ordinary());
  BOOST_TEST(row().submission == decomposed);  // that was there first
  book.set_roster({{composed, "Jo", "1", ""}, {decomposed, "Jo II", "3", ""}});
  BOOST_TEST(row().submission == composed);
  book.remove(composed);
  book.set_roster({{composed, "Jo", "1", "", 500}});
  BOOST_TEST(row().submission == decomposed);
  BOOST_TEST(row().handed_in.value() == 500);
}

BOOST_FIXTURE_TEST_CASE(a_roster_follows_accents_either_way, WithAlice) {
  book.set_roster({{decomposed, "Jo", "1", "", 400}});
  book.set_points(decomposed, {"turned", 1.5, "appeal"});
  book.put(entry(composed), ordinary(composed));
  BOOST_TEST(row().submission == composed);
  BOOST_TEST(row().total == 3.5);
  BOOST_TEST(row().handed_in.value() == 400);
  book.remove(composed);
  book.put(entry(decomposed), ordinary(decomposed));
  BOOST_TEST(row().submission == decomposed);
  BOOST_TEST(row().total == 3.5);
  // Two of the roster are two, though one of them alone handed something in.
  book.set_roster({{composed, "Jo", "1", ""}, {decomposed, "Jo II", "3", ""}});
  book.put(entry(decomposed), ordinary(decomposed));
  BOOST_TEST(row().submission == composed);
}

BOOST_FIXTURE_TEST_CASE(a_time_of_earlier_files_is_flagged, WithAlice) {
  book.set_roster({{"alice", "", "", "", 400}});
  book.put(entry(), ordinary());
  BOOST_TEST(row().flags.empty());
  Entry later = entry();
  later.files = "files-2";
  later.changed = 900;
  book.put(later, ordinary());
  BOOST_TEST(row().flags == std::vector<std::string>{"changed since the roster was stored"});
  BOOST_TEST(row().handed_in.value() == 400);
  book.put(later, ordinary());
  BOOST_TEST(row().flags.size() == 1u);
  book.set_roster({{"alice", "", "", "", 800}});
  BOOST_TEST(row().flags.empty());
  BOOST_TEST(row().handed_in.value() == 800);
  book.set_roster({{"alice", "", "", ""}});
  BOOST_TEST(row().handed_in.value() == 900);
}

BOOST_FIXTURE_TEST_CASE(full_marks_are_in_the_last_bin, WithAlice) {
  for (const double points : {2, 9}) {
    book.set_points("alice", {"turned", points, "appeal"});
    BOOST_TEST(overview(book).histogram.back() == 1);
  }
}

BOOST_AUTO_TEST_CASE(the_same_gradings_give_the_same_json) {
  const auto json = [](double seconds, const char* place) {
    const Folder folder;
    Grading grading = ordinary();
    grading.seconds = seconds;
    grading.items[0].cases[0].result.seconds = seconds;
    grading.items[0].cases[0].result.repeat = place;
    Entry where = entry();
    where.path = place;
    Gradebook book(folder.file, Access::create);
    book.set_course(course());
    book.put(where, grading);
    std::string text;
    class_json(overview(book), book, [&text](const std::string& part) { text += part; });
    return text;
  };
  const std::string text = json(1, "here/alice");
  BOOST_TEST(text == json(2, "/there/alice"));
  const auto object = nlohmann::json::parse(text);
  BOOST_TEST(object.at("students").at(0).at("results").size() == 4u);
  BOOST_TEST(contains(text, "the truth is 42"));
}

BOOST_FIXTURE_TEST_CASE(one_changes_it_others_read, WithAlice) {
  check_has(message_of<UsageError>([&] { Gradebook(file, Access::change); }),
            {"another grader is at work on it", std::to_string(::getpid())});
  const Gradebook reader(file, Access::read);
  BOOST_TEST(reader.entries().size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_gradebook_is_refused, Folder) {
  const fs::path text = path() / "notes.txt", empty = path() / "empty.sqlite";
  write(text, std::string(5000, 'x'));
  write(empty, "");
  for (const Access access : every_access) {
    BOOST_TEST(contains(refusal(text, access), "not a gradebook"));
    BOOST_TEST(contains(refusal(path(), access), "is a folder"));
  }
  for (const Access access : {Access::read, Access::change}) {
    BOOST_TEST(contains(refusal(empty, access), "is empty"));
    BOOST_TEST(contains(refusal(path() / "none", access), "no such gradebook"));
    BOOST_TEST(!fs::exists(path() / "none"));
  }
}

BOOST_FIXTURE_TEST_CASE(another_version_is_refused, AliceFile) {
  std::string changed = bytes_of(file);
  changed[63] = 9;  // user_version, SQLite's file format 1.3
  write(file, changed);
  for (const Access access : every_access) {
    BOOST_TEST(contains(refusal(file, access), "version 9; this program knows"));
  }
  changed[71] = 9;  // application_id
  write(file, changed);
  for (const Access access : every_access) {
    BOOST_TEST(contains(refusal(file, access), "something else"));
  }
}

BOOST_FIXTURE_TEST_CASE(a_damaged_one_is_refused, AliceFile) {
  const std::string sound = bytes_of(file);
  for (const std::size_t size : {std::size_t{50}, sound.size() / 2, sound.size() - 4096}) {
    write(file, sound.substr(0, size));
    BOOST_TEST(contains(refusal(file, Access::create), "damaged"), "cut to " << size);
  }
  std::string flipped = sound;
  for (std::size_t at = 4096; at < flipped.size(); at += 512) {
    for (std::size_t i = 0; i < 16; ++i) flipped[at + i] = static_cast<char>(~flipped[at + i]);
  }
  write(file, flipped);
  for (const Access access : every_access) {
    BOOST_TEST(contains(refusal(file, access), "damaged"));
  }
}

BOOST_FIXTURE_TEST_CASE(what_is_in_it_stays_whatever_goes_wrong, Folder) {
  {
    Gradebook book(file, Access::create);
    book.set_course(course());
    change(file, "DROP TABLE course");  // so that the course cannot be read any more
  }
  BOOST_TEST(fs::exists(file));
  { const Gradebook book(path() / "other.sqlite", Access::create); }
  BOOST_TEST(!fs::exists(path() / "other.sqlite"));
}

BOOST_FIXTURE_TEST_CASE(damage_inside_is_told_when_it_is_met, AliceFile) {
  std::string changed = bytes_of(file);
  const std::size_t at = changed.find(R"({"result":)");
  BOOST_REQUIRE(at != std::string::npos);
  changed[at] = '!';
  write(file, changed);
  const Gradebook book(file, Access::read);
  const std::string message = message_of<UsageError>([&] { book.grading("alice"); });
  check_has(message, {"grades.sqlite: is damaged"});
  check_lacks(message, {"\n"});
}

BOOST_AUTO_TEST_CASE(formulas_are_made_harmless) {
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\"=1", "'=1",
                           "\uff1d1", "\uff20x", "\u3000=1"}) {
    BOOST_TEST(CsvRows().text(text).take().substr(0, 2) == "\"'", "not guarded: " << text);
  }
  // A spreadsheet may take these for the end of a cell.
  BOOST_TEST(CsvRows().text("a;=1").take() == "\"a;'=1\"");
  BOOST_TEST(CsvRows().text("a; \"@x\tb\t-1").take() == "\"a;' \"\"@x\tb\t'-1\"");
  for (const char* text : {"Anna", "1=1", "a-b", "", "Zo\u00eb", "O'Brien", "a;b=1", "a; b"}) {
    BOOST_TEST(CsvRows().text(text).take() == '"' + std::string(text) + '"');
  }
  BOOST_TEST(CsvRows().text("say \"hello\"").take() == R"("say ""hello""")");
  BOOST_TEST(CsvRows().number(1.5).number(2).number(1.0 / 3).take() == "1.5,2,0.3333");
}

BOOST_AUTO_TEST_CASE(csv_is_read) {
  const auto rows = csv_rows(
      "\xef\xbb\xbf"
      "a,b\r\n\r\n\"x, \"\"y\"\"\",\"two\nlines\"\r\n1,2");
  BOOST_REQUIRE_EQUAL(rows.size(), 3u);
  BOOST_TEST(rows[0].cells[0] == "a");
  BOOST_TEST(rows[1].line == 3u);
  BOOST_TEST(rows[1].cells[0] == "x, \"y\"");
  BOOST_TEST(rows[1].cells[1] == "two\nlines");
  BOOST_TEST(rows[2].line == 5u);
  BOOST_TEST(csv_rows("a;b\n1;2,5\n")[1].cells[1] == "2,5");
  BOOST_TEST(csv_rows("\"a,\n,\";b;c,d\n1;2;3\n")[1].cells.size() == 3u);
  BOOST_TEST(csv_rows("\"a;;;\",b\n1,2\n")[1].cells.size() == 2u);
  BOOST_TEST(csv_rows("a,b\r1,2\r")[1].line == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
