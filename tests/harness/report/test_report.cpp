// Reports: the table's layout, JSON's fields, JUnit and HTML that nothing in a message can break.
#include "base/text.hpp"
#include "checks.hpp"
#include "explain/failures_report.hpp"
#include "grade/report_parts.hpp"
#include "report/page.hpp"
#include "report/report.hpp"
#include "report/svg.hpp"
#include "report/table.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Result result(const std::string& problem, const std::string& case_name, const std::string& solution,
              Status status, const std::string& message = "") {
  Result made;
  made.fixture = problem + ".h5";
  made.problem = problem;
  made.case_name = case_name;
  made.solution = solution;
  made.status = status;
  made.message = message;
  made.dtype = "float32";
  made.seconds = 0.001;
  made.repeat = "prenorm verify --case " + case_name;
  return made;
}

Result unreadable(const std::string& path) {
  Result made;
  made.fixture = path;
  made.status = Status::bad_fixture;
  made.message = path + ": no HDF5";
  return made;
}

Report report_of(std::vector<Result> results, std::vector<std::string> solutions = {"one", "two"}) {
  Report report;
  report.command = "verify";
  report.solutions = std::move(solutions);
  report.results = std::move(results);
  report.seconds = 1.5;
  return report;
}

std::string failures(const Report& report, bool colour = false) {
  return explained_failures(report, {}, colour, 0, false);
}

/// The table's texts, one line per row.
std::string cells(const Report& report) {
  std::string text;
  for (const auto& row : overview(report).rows) {
    for (const Cell& cell : row) text += cell.text + " | ";
    text.replace(text.size() - 3, 3, "\n");
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(columns_are_aligned_and_lines_end_without_blanks) {
  Table table{{"name", "value"}, {{{"a"}, {"1"}}, {{"much longer"}, {"22"}}, {{"alone"}}}};
  BOOST_TEST(render(table, false) ==
             "name         value\n"
             "-----------  -----\n"
             "a            1\n"
             "much longer  22\n"
             "alone\n");
  // Characters are counted, not bytes; colours take no width.
  table.rows = {{{"\xc3\xa9\xc3\xa9", Tone::good}, {"x", Tone::bad}}};
  BOOST_TEST(contains(render(table, false), "\xc3\xa9\xc3\xa9    x\n"));
  BOOST_TEST(
      contains(render(table, true), "\x1b[32m\xc3\xa9\xc3\xa9\x1b[0m    \x1b[1;31mx\x1b[0m"));
}

BOOST_AUTO_TEST_CASE(wide_characters_take_two_columns_and_combining_marks_none) {
  for (const auto& [text, width] : std::map<std::string, std::size_t>{{"", 0},
                                                                      {"李小龍", 6},
                                                                      {"さくら", 6},
                                                                      {"김연아", 6},
                                                                      {"ｗ", 2},
                                                                      {"José", 4},
                                                                      {"Jose\u0301", 4},
                                                                      {"\u200d", 0},
                                                                      {"a\xffz", 3}}) {
    BOOST_TEST_CONTEXT(text) { BOOST_TEST(display_width(text) == width); }
  }
  const Table table{{"name", "points"},
                    {{{"李小龍"}, {"1"}}, {{"Jose\u0301"}, {"2"}}, {{"김"}, {"3"}}}};
  BOOST_TEST(render(table, false) ==
             "name    points\n"
             "------  ------\n"
             "李小龍  1\n"
             "Jose\u0301    2\n"
             "김      3\n");
  BOOST_TEST(padded("김", 4) == "김  ");
  BOOST_TEST(shortened("abcdefghij", 8) == "abcd...j");
  BOOST_TEST(shortened("李小龍李小龍", 12) == "李小龍李小龍");
  BOOST_TEST(shortened("李小龍李小龍", 10) == "李小...龍");  // never half of one
  BOOST_TEST(shortened("abcde\u0301fghij", 9) == "abcd...ij");
}

BOOST_AUTO_TEST_CASE(columns_that_do_not_fit_go_below) {
  const Table table{{"name", "one", "two", "three"},
                    {{{"a"}, {"1"}, {"22"}, {"333"}}, {{"longer"}, {"1"}, {}, {"3"}}}};
  const std::string together =
      "name    one  two  three\n"
      "------  ---  ---  -----\n"
      "a       1    22   333\n"
      "longer  1         3\n";
  BOOST_TEST(render(table, false) == together);
  BOOST_TEST(render(table, false, 23) == together);
  BOOST_TEST(render(table, false, 22) ==
             "name    one  two\n"
             "------  ---  ---\n"
             "a       1    22\n"
             "longer  1\n"
             "\n"
             "name    three\n"
             "------  -----\n"
             "a       333\n"
             "longer  3\n");
  // A column that fits nowhere stands alone.
  BOOST_TEST(occurrences(render(table, false, 5), "------") == 3u);
  BOOST_TEST(render({{"only"}, {{{"x"}}}}, false, 2) == "only\n----\nx\n");
}

BOOST_AUTO_TEST_CASE(a_cell_says_what_became_of_the_cases) {
  const Report report = report_of({
      result("p", "a", "one", Status::passed),
      result("p", "a", "two", Status::passed),
      result("p", "b", "one", Status::passed),
      result("p", "b", "two", Status::incorrect_numerical),
      result("q", "a", "one", Status::not_implemented),
      result("q", "a", "two", Status::skipped, "no CUDA device"),
      result("r", "a", "one", Status::load_error, "no such file"),
      result("r", "a", "two", Status::skipped, "a reason that is far too long for a column"),
      result("s", "a", "one", Status::passed),
      result("s", "b", "one", Status::skipped, "large for the emulator"),
      result("t", "a", "one", Status::not_implemented),  // a stub
      result("t", "b", "one", Status::skipped, "large for the emulator"),
  });
  BOOST_TEST(cells(report) ==
             "p | PASSED 2/2 | FAILED 1/2\n"
             "q | NOT_IMPLEMENTED | SKIPPED (no CUDA device)\n"
             "r | LOAD_ERROR | SKIPPED\n"
             "s | PASSED 1/1 | \n"
             "t | NOT_IMPLEMENTED | \n");
  const std::string left_out = omissions(report);
  check_has(left_out,
            {"one: 1 case SKIPPED: large for the emulator", "a reason that is far too long"});
  check_lacks(left_out, {"no CUDA device"});  // the cell says it
}

/// A record of solution `dev` with these cases of problem p.
Record record_of(const std::map<std::string, Status>& cases) {
  Record record;
  record.solution = "dev";
  record.device.name = "Some Device";
  record.date = "2025-01-02";
  for (const auto& [case_name, status] : cases) {
    record.problems["p"][case_name].status = name(status);
  }
  return record;
}

BOOST_AUTO_TEST_CASE(a_record_of_a_failure_says_so) {
  // What else is said of records, and where: test_records.py.
  Report report = report_of({result("p", "a", "one", Status::passed),
                             result("p", "a", "dev", Status::skipped, "no CUDA device"),
                             result("p", "b", "dev", Status::skipped, "no CUDA device"),
                             result("q", "a", "dev", Status::skipped, "no CUDA device")},
                            {"one", "dev"});
  NotHere& known = report.not_here["dev"];
  known.record = record_of({{"a", Status::passed}, {"b", Status::out_of_bounds}});
  BOOST_TEST(cells(report) == "p | PASSED 1/1 | recorded FAILED 1/2\nq |  | not yet run\n");
  BOOST_TEST((overview(report).rows[0][2].tone == Tone::quiet));
  known.changed = true;
  BOOST_TEST(overview(report).rows[0][2].text == "recorded FAILED 1/2 *");
  check_lacks(to_json(report), {"recorded"});
}

BOOST_AUTO_TEST_CASE(the_record_of_these_sources_comes_first_then_the_latest) {
  Records records;
  for (const auto& [sources, date] : {std::pair{"old", "2025-03-03"},
                                      {"new", "2025-01-01"},
                                      {"new", "2025-02-02"},
                                      {"old", "2025-01-01"}}) {
    records.all.push_back(record_of({}));
    records.all.back().sources = sources;
    records.all.back().date = date;
  }
  BOOST_TEST(records.of("dev", "new")->date == "2025-02-02");
  BOOST_TEST(records.of("dev", "newer")->date == "2025-03-03");
  BOOST_TEST(records.of("other", "new") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_bad_file_fills_its_row_and_is_told_once) {
  Result damaged_case = result("p", "b", "", Status::bad_fixture, "p.h5: damaged");
  const Report report = report_of({unreadable("bad.h5"), result("p", "a", "one", Status::passed),
                                   result("p", "a", "two", Status::passed), damaged_case});
  BOOST_TEST(cells(report) ==
             "bad.h5 | BAD_FIXTURE | BAD_FIXTURE\n"
             "p | BAD_FIXTURE 1/2 | BAD_FIXTURE 1/2\n");
  BOOST_TEST(occurrences(failures(report), "BAD_FIXTURE") == 2u);
  check_has(summary_line(report, false), {"2 passed, 2 failed, 0 skipped in 1.50 s"});
}

BOOST_AUTO_TEST_CASE(a_library_that_cannot_be_loaded_is_told_once) {
  const auto told = [](std::size_t cases) {
    const Result one = result("p", "a", "one", Status::load_error, "no library");
    return failures(report_of(std::vector<Result>(cases, one)));
  };
  BOOST_TEST(contains(told(1), "LOAD_ERROR\n    no library\n"));
  BOOST_TEST(contains(told(3), "LOAD_ERROR  all 3 cases\n"));
  BOOST_TEST(occurrences(told(3), "LOAD_ERROR") == 1u);
}

BOOST_AUTO_TEST_CASE(two_files_of_one_problem_are_told_apart) {
  Result other = result("p", "a", "one", Status::passed);
  other.fixture = "elsewhere/p.h5";
  const Report report = report_of({result("p", "a", "one", Status::passed), other});
  BOOST_TEST(cells(report) == "p (p.h5) | PASSED 1/1 | \np (elsewhere/p.h5) | PASSED 1/1 | \n");
}

BOOST_AUTO_TEST_CASE(every_failure_has_the_line_that_repeats_it) {
  const Report report = report_of({
      result("p", "a", "one", Status::incorrect_numerical, "y: 1 of 3 elements wrong"),
      result("p", "b", "one", Status::timeout, "no answer within 1 s"),
      result("p", "c", "one", Status::passed),
  });
  const std::string text = failures(report);
  check_has(text, {"INCORRECT_NUMERICAL  a  float32\n"
                   "    y: 1 of 3 elements wrong\n"
                   "    repeat: prenorm verify --case a\n",
                   "TIMEOUT  b"});
  check_lacks(text, {"--case c"});
}

BOOST_AUTO_TEST_CASE(messages_stay_on_their_line) {
  const Report report =
      report_of({result("p", "a", "one", Status::runtime_error, "\x1b[2Jgone\nsecond\r\xff")});
  for (const std::string& text : {failures(report, true), every_case(report, true)}) {
    check_lacks(text, {"\x1b[2J", "\xff", "\r"});
  }
  BOOST_TEST(occurrences(failures(report), "\n") == 4u);
}

BOOST_AUTO_TEST_CASE(json_has_the_fields_and_nulls) {
  Result wrong = result("p", "a", "one", Status::incorrect_numerical, "\xff\x1b \"quoted\"");
  OutputReport output;
  output.name = "y";
  output.max_abs_error = infinity;
  output.max_rel_error = std::nan("");
  output.worst_expected = -infinity;
  output.worst_actual = 0.1;
  output.worst_index = {1, 2};
  output.mismatches = 1;
  output.elements = 6;
  output.atol = 1e-3;
  OutputReport nothing;
  nothing.name = "z";
  wrong.outputs = {output, nothing};
  wrong.batch_invariant = false;
  const auto object = nlohmann::json::parse(
      to_json(report_of({wrong, unreadable("bad.h5"), result("p", "b", "one", Status::skipped)})));
  check_members(object, R"({"version": 1, "command": "verify",
                            "summary": {"failed": 2, "passed": 0, "skipped": 1}})"_json);
  BOOST_TEST(object["environment"].is_object());
  const auto& first = object["results"][0];
  BOOST_TEST(first.size() == 11u);
  check_members(first, R"({"status": "INCORRECT_NUMERICAL", "seconds": 0.001,
                           "batch_invariant": false})"_json);
  BOOST_TEST(first["outputs"][0].size() == 16u);
  check_members(
      first["outputs"][0],
      R"({"max_abs_error": "Infinity", "max_rel_error": "NaN", "worst_expected": "-Infinity",
                    "worst_actual": 0.1, "worst_index": [1, 2], "max_ulp_error": null})"_json);
  check_members(first["outputs"][1],
                R"({"worst_index": null, "mismatches": null, "max_abs_error": null})"_json);
  check_members(object["results"][1], R"({"case": null, "problem": null, "solution": null,
                                          "batch_invariant": null})"_json);
}

BOOST_AUTO_TEST_CASE(junit_is_well_formed_whatever_the_message) {
  const std::string text = to_junit(report_of({
      result("p", "a", "one", Status::passed),
      result("p", "b", "one", Status::runtime_error, "<&>\"' ]]> \x01\x1b\xff\n"),
      result("p", "a", "two", Status::skipped, "no device"),
      unreadable("bad.h5"),
  }));
  pugi::xml_document document;
  BOOST_REQUIRE(document.load_string(text.c_str()));
  const pugi::xml_node root = document.child("testsuites");
  BOOST_TEST(root.attribute("tests").as_int() == 4);
  BOOST_TEST(root.attribute("failures").as_int() == 1);
  BOOST_TEST(root.attribute("errors").as_int() == 1);
  const pugi::xml_node suite = root.child("testsuite");
  BOOST_TEST(std::string(suite.attribute("name").value()) == "p.h5 one");
  const pugi::xml_node failing = suite.child("testcase").next_sibling("testcase");
  BOOST_TEST(std::string(failing.attribute("name").value()) == "b");
  const pugi::xml_node failure = failing.child("failure");
  BOOST_TEST(std::string(failure.attribute("type").value()) == "RUNTIME_ERROR");
  BOOST_TEST(contains(failure.attribute("message").value(), "<&>\"' ]]>"));
  for (const char c : text) BOOST_TEST((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

BOOST_AUTO_TEST_CASE(html_escapes) {
  const std::string page = explained_html(
      report_of({result("p", "<script>", "a\"b", Status::runtime_error, "<img src=x> & 'more'")},
                {"a\"b"}),
      {});
  check_lacks(page, {"<script>", "<img", "\\n"});  // nor an escape of a line break of ours
  check_has(page, {"&lt;img src=x&gt; &amp; &#39;more&#39;", "a&quot;b", "FAILED 0/1"});
}

BOOST_AUTO_TEST_CASE(colour_only_where_wanted) {
  const Report report = report_of(
      {result("p", "a", "one", Status::passed), result("p", "b", "one", Status::timeout, "late")});
  for (const bool colour : {false, true}) {
    const std::string all = render(overview(report), colour) + failures(report, colour) +
                            every_case(report, colour) + summary_line(report, colour);
    BOOST_TEST(contains(all, "\x1b[") == colour);
  }
}

BOOST_AUTO_TEST_CASE(shell_words) {
  BOOST_TEST(shell_word("fixtures/x.h5") == "fixtures/x.h5");
  BOOST_TEST(shell_word("") == "''");
  BOOST_TEST(shell_word("a b") == "'a b'");
  BOOST_TEST(shell_word("it's; rm $HOME") == "'it'\\''s; rm $HOME'");
  BOOST_TEST(shell_line({"prenorm", "verify", "a b"}) == "prenorm verify 'a b'");
}

BOOST_AUTO_TEST_CASE(near_names) {
  const std::vector<std::string> names{"verify", "list", "attention_with_a_long_name"};
  BOOST_TEST(did_you_mean("verfiy", names) == " (did you mean 'verify'?)");
  BOOST_TEST(did_you_mean("lsit", names) == " (did you mean 'list'?)");
  BOOST_TEST(did_you_mean("attention", names) == " (did you mean 'attention_with_a_long_name'?)");
  BOOST_TEST(did_you_mean("xylophone", names) == "");
  BOOST_TEST(did_you_mean("", names) == "");
  BOOST_TEST(did_you_mean("x", {}) == "");
}

BOOST_AUTO_TEST_CASE(globs) {
  BOOST_TEST(matches("ffn_*", "ffn_wide"));
  BOOST_TEST(matches("*", ""));
  BOOST_TEST(matches("*a*b*", "xxaxxbxx"));
  BOOST_TEST(matches("a?c", "abc"));
  BOOST_TEST(!matches("ffn_*", "ffn"));
  BOOST_TEST(!matches("a?c", "ac"));
  BOOST_TEST(!matches("abc", "abcd"));
  BOOST_TEST(!matches("", "a"));
}

BOOST_AUTO_TEST_CASE(numbers_in_words) {
  BOOST_TEST(short_number(1.23456e-7) == "1.23e-07");
  BOOST_TEST(short_number(-infinity) == "-Infinity");
  BOOST_TEST(duration(2.345) == "2.35 s");
  BOOST_TEST(duration(0.0123) == "12.3 ms");
  BOOST_TEST(duration(8.5e-6) == "8.5 us");
  BOOST_TEST(duration(3.1e-7) == "310 ns");
  BOOST_TEST(counted(1, "case") == "1 case");
  BOOST_TEST(counted(0, "case") == "0 cases");
}

BOOST_AUTO_TEST_CASE(pictures_escape_texts_and_attributes) {
  Svg svg;
  svg.open("g", {{"class", "\"><b>"}, {"x", .5}});
  svg.label(1, 2.5, "<\x1b>", {{"fill", "red"}});
  svg.add("rect", {{"x", 0}});
  svg.close();
  BOOST_TEST(svg.picture(10, 20, {{"class", "c"}}) ==
             "<svg class=\"c\" width=\"10\" height=\"20\" viewBox=\"0 0 10 20\">\n"
             "<g class=\"&quot;&gt;&lt;b&gt;\" x=\"0.5\"><text x=\"1\" y=\"2.5\" fill=\"red\">"
             "&lt;\\x1b&gt;</text><rect x=\"0\"/></g>\n</svg>\n");
}

BOOST_AUTO_TEST_CASE(a_call_moves_what_its_kernels_move) {
  const TensorType x{DType::float64, {3, 2}}, mask{DType::boolean, {5}};
  Case info;
  info.inputs = {InputInfo{x, ""}, std::nullopt, InputInfo{mask, ""}};
  info.outputs = {OutputInfo{{7}, DType::float16, {}, {}, ""}};
  BOOST_TEST(bytes_of_tensors(info) == 3u * 2 * 8 + 5 + 7 * 2);
  CallProfile call{"relu", "one", 64, std::vector<KernelProfile>(2)};
  call.kernels[0].sectors = 3;  // of 32 bytes
  call.kernels[1].sectors = 1;
  const Json told = profiles_object({call}).at(0);
  BOOST_TEST(told["moved_bytes"] == 128);
  BOOST_TEST(told["kernels"][0]["moved_bytes"] == 96);
  BOOST_TEST(told["kernels"][1]["moved_bytes"] == 32);
  check_has(profiles_text({call}, false),
            {"relu, case one: moves 0.125 KiB, 2 times its inputs and outputs\n"});
}

BOOST_AUTO_TEST_CASE(a_list_without_items_has_nothing_around_it) {
  BOOST_TEST(listed(nlohmann::json::array()).is_null());
  BOOST_TEST(listed({1, 2}).dump() == R"({"each":[1,2]})");
  BOOST_CHECK_THROW(render_page("no_such_page", {}), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(text_in_markdown_stays_text) {
  BOOST_TEST(markdown_code("x") == "`x`");
  BOOST_TEST(markdown_code("a``b") == "```a``b```");
  BOOST_TEST(markdown_code("`a") == "`` `a ``");
  BOOST_TEST(markdown_code(" a ") == "`  a  `");
  BOOST_TEST(markdown_code("  ") == "(empty)");
  BOOST_TEST(markdown_code("a|b\n") == "`a|b\\n`");
  BOOST_TEST(markdown_code("a|b", true) == "`a\\|b`");
  BOOST_TEST(markdown_text("<b> [a](b) 1. *x*") == "\\<b\\> \\[a\\](b) 1\\. \\*x\\*");
  BOOST_TEST(markdown_block(std::vector<std::string>{"```", "x"}) == "````\n```\nx\n````\n");
}

BOOST_AUTO_TEST_SUITE_END()
