// The reports of a grading, for a student: the page, JUnit's XML, Markdown, annotations,
// Gradescope's. Nothing from outside breaks them, and nothing of a hidden case but its status
// stands in them.
#include "grade/grading.hpp"
#include "page_testing.hpp"
#include "report/page.hpp"
#include "report/report.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <pugixml.hpp>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

GradedCase graded(const std::string& problem, const std::string& name, Status status,
                  const std::string& message = "", const std::string& dtype = "float32") {
  GradedCase made;
  made.result.fixture = "fixtures/" + problem + ".h5";
  made.result.problem = problem;
  made.result.case_name = name;
  made.result.solution = "alice";
  made.result.status = status;
  made.result.message = message;
  made.result.dtype = dtype;
  made.result.seconds = 0.0123;
  made.result.repeat =
      "prenorm grade alice --rubric cs336-2025 --problem " + problem + " --case " + name;
  made.told.sizes = "x[2, 3, 64], weight[64] -> y[2, 3, 64]";
  return made;
}

/// An error map as grading makes it, by a function of row and column that gives error over bound.
template <class Ratio>
ErrorMap map_of(const Shape& shape, std::int64_t rows, std::int64_t columns, Ratio ratio) {
  ErrorMap map{.tensor = "y",
               .shape = shape,
               .rows = rows,
               .columns = columns,
               .cells = {},
               .histogram = std::vector<std::int64_t>(30)};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const double value = ratio(row, column);
      map.cells.push_back(value);
      const double power = value > 0 ? std::ceil(std::log2(value)) : -8;
      ++map.histogram[static_cast<std::size_t>(std::clamp(power, -8.0, 21.0) + 8)];
    }
  }
  return map;
}

OutputReport report_of(std::int64_t mismatches, std::int64_t elements, const Shape& worst,
                       double actual, double expected) {
  OutputReport report;
  report.name = "y";
  report.max_abs_error = std::abs(actual - expected);
  report.max_rel_error = 0.731;
  report.max_ulp_error = 3.1e6;
  report.relative_l2_error = 0.5;
  report.mismatches = mismatches;
  report.elements = elements;
  report.worst_index = worst;
  report.worst_actual = actual;
  report.worst_expected = expected;
  report.atol = 1.19e-6;
  report.rtol = 4.77e-7;
  return report;
}

/// A grading as it comes: some right, some wrong, some missing.
Grading ordinary() {
  Grading grading;
  grading.submission = "alice";
  grading.kind = "CMake project";
  grading.rubric = "cs336-2025";
  grading.title = "CS336 2025, assignment 1: the parts of the Transformer block";
  grading.sandbox = "bubblewrap";
  grading.notes = {"2 links were left out of the copy: data, ../elsewhere"};
  grading.imports = {"expf", "memcpy", "sqrt"};
  grading.seed = 918273645546372819;
  grading.seconds = 4.31;

  GradedItem right{.name = "rmsnorm",
                   .problems = {"rmsnorm"},
                   .points = 1,
                   .earned = 1,
                   .groups = {{"float32", false, 2, 9, 9, 0, 0, true},
                              {"float16", false, 1, 5, 5, 0, 0, true},
                              {"fresh", true, 1, 0, 0, 6, 6, true}},
                   .cases = {},
                   .diagnoses = {},
                   .properties = {},
                   .undiagnosed = {}};
  for (const char* name :
       {"by_hand", "scale_1e_3", "sizes_31", "sizes_32", "sizes_33", "zero_row"}) {
    right.cases.push_back(graded("rmsnorm", name, Status::passed));
  }
  for (int i = 0; i < 6; ++i) {
    right.cases.push_back(graded("rmsnorm", "fresh", Status::passed));
    right.cases.back().hidden = true;
  }

  GradedItem turned{.name = "rope",
                    .problems = {"rope"},
                    .points = 2,
                    .earned = 0.5,
                    .groups = {{"errors", false, 1, 2, 2, 0, 0, true},
                               {"float32", false, 2, 0, 3, 0, 0, false},
                               {"fresh", true, 1, 0, 0, 1, 4, false}},
                    .cases = {},
                    .diagnoses = {{"rope", "halves", 3, 3, {}}},
                    .properties = {},
                    .undiagnosed = {}};
  GradedCase wrong = graded("rope", "three_batch_axes", Status::incorrect_numerical,
                            "y: 160 of 192 elements wrong, the worst y[1, 2, 5] = 0.123456, wanted "
                            "-0.654321 (bound 1.5e-06)");
  wrong.told.sizes = "x[2, 3, 32], token_positions[3] -> y[2, 3, 32]";
  wrong.result.outputs = {report_of(160, 192, {1, 2, 5}, 0.123456, -0.654321)};
  wrong.told.errors = {map_of({2, 3, 32}, 6, 32, [](auto row, auto column) {
    if (row % 3 == 0) return 0.0;
    return std::exp2(1.4 * static_cast<double>(row) + 12 - 0.5 * static_cast<double>(column % 16));
  })};
  turned.cases.push_back(wrong);
  wrong.result.case_name = "long_sequence";
  wrong.result.repeat = "prenorm grade alice --case long_sequence";
  wrong.result.outputs = {report_of(31000, 65536, {700, 3}, 1.0000001, 1.0000004)};
  wrong.told.sizes = "x[1024, 64], token_positions[1024] -> y[1024, 64]";
  wrong.told.errors = {map_of({1024, 64}, 64, 64, [](auto row, auto column) {
    if (row > 60 && column > 58) return infinity;
    return std::exp2((static_cast<double>(row) - 40) * .25 - .4 * static_cast<double>(column % 32));
  })};
  turned.cases.push_back(wrong);
  wrong.result.case_name = "one_row";
  wrong.result.repeat = "prenorm grade alice --case one_row";
  wrong.result.outputs = {report_of(1, 8, {0, 3}, std::nan(""), 0.25)};
  wrong.told.sizes = "x[1, 8], token_positions[1] -> y[1, 8]";
  wrong.told.errors = {map_of({1, 8}, 1, 8, [](auto, auto column) {
    return column == 3 ? infinity : 0.01 * static_cast<double>(column);
  })};
  turned.cases.push_back(wrong);
  turned.cases.push_back(graded("rope", "odd_d_k", Status::passed));
  for (const Status status : {Status::passed, Status::incorrect_numerical,
                              Status::incorrect_numerical, Status::timeout}) {
    turned.cases.push_back(graded("rope", "fresh", status));
    turned.cases.back().hidden = true;
  }

  GradedItem two{.name = "positionwise_feedforward",
                 .problems = {"ffn_relu", "ffn_swiglu"},
                 .points = 2,
                 .earned = 0,
                 .groups = {{"all", false, 1, 1, 9, 0, 0, false}},
                 .cases = {},
                 .diagnoses = {{"ffn_swiglu", "exchanged", 2, 2, {"gate_left_out"}}},
                 .properties = {},
                 .undiagnosed = {"ffn_relu"}};
  GradedCase exact = graded("ffn_relu", "small_integers", Status::incorrect_numerical,
                            "y: 2 of 12 elements wrong");
  exact.told.sizes = "x[3, 4], w1[8, 4], w2[4, 8] -> y[3, 4]";
  exact.result.outputs = {report_of(2, 12, {2, 1}, 17, 18)};
  exact.result.outputs[0].atol = exact.result.outputs[0].rtol = 0;
  exact.told.errors = {map_of(
      {3, 4}, 3, 4, [](auto row, auto column) { return row == 2 && column < 2 ? infinity : 0.0; })};
  two.cases.push_back(exact);
  two.cases.push_back(
      graded("ffn_relu", "crashes", Status::runtime_error, "killed by SIGSEGV (address 0x10)"));
  for (const char* name : {"one", "two"}) {
    two.cases.push_back(
        graded("ffn_swiglu", name, Status::incorrect_numerical, "y: 5 of 9 elements wrong"));
    two.cases.back().result.outputs = {report_of(5, 9, {0, 1}, 2, 1)};
  }

  GradedItem missing{.name = "softmax",
                     .problems = {"softmax"},
                     .points = 1,
                     .earned = 0,
                     .groups = {{"all", false, 1, 0, 5, 0, 0, false}},
                     .cases = {},
                     .diagnoses = {},
                     .properties = {},
                     .undiagnosed = {}};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    missing.cases.push_back(graded("softmax", name, Status::not_implemented, "not implemented"));
    missing.cases.back().told.sizes = "x[4, 8] -> y[4, 8]";
  }
  grading.items = {right, turned, two, missing};
  return grading;
}

/// Everything that can come from outside is hostile, and very long.
Grading hostile() {
  const std::string text = evil + std::string(20000, 'w') + "<b>end</b>";
  Grading grading;
  grading.submission = grading.kind = grading.rubric = grading.title = grading.sandbox = text;
  grading.notes = grading.imports = {text, evil};
  grading.status = Status::compile_error;
  grading.message = text + "\n" + evil;
  GradedItem item{.name = text,
                  .problems = {text, "other"},
                  .points = 1,
                  .earned = 0,
                  .groups = {{text, true, 1, 0, 0, 0, 1, false}},
                  .cases = {},
                  .diagnoses = {{text, text, 1, 1, {evil}}},
                  .properties = {},
                  .undiagnosed = {"other"}};
  GradedCase one = graded(text, text, Status::incorrect_numerical, text);
  one.result.solution = one.result.dtype = one.result.repeat = one.told.sizes = text;
  one.result.outputs = {report_of(1, 4, {9, -1}, std::nan(""), infinity)};
  one.result.outputs[0].name = text;
  one.told.errors = {map_of({2, 2}, 2, 2, [](auto, auto) { return infinity; })};
  one.told.errors[0].tensor = text;
  one.groups = {text};
  item.cases = {one, graded("other", evil, Status::runtime_error, evil)};
  grading.items = {item};
  return grading;
}

/// Hidden cases that hold much, each of it easy to find.
Grading with_secrets() {
  Grading grading;
  grading.submission = "bob";
  grading.seed = 424242424242;
  GradedItem item{.name = "item",
                  .problems = {"problem"},
                  .points = 1,
                  .earned = 0,
                  .groups = {{"fresh", true, 1, 0, 0, 1, 3, false}},
                  .cases = {},
                  .diagnoses = {},
                  .properties = {},
                  .undiagnosed = {}};
  for (const Status status : {Status::passed, Status::incorrect_numerical, Status::timeout}) {
    GradedCase hidden =
        graded("problem", "SECRETname", status, "SECRETmessage 31337.25", "SECRETdtype");
    hidden.hidden = true;
    hidden.result.fixture = "SECRETfixture";
    hidden.result.repeat = "SECRETrepeat";
    hidden.result.seconds = 77.125;
    hidden.told.sizes = "SECRETshapes[98765]";
    hidden.result.outputs = {report_of(55555, 66666, {44444}, 31337.25, -31338.5)};
    hidden.result.outputs[0].name = "SECREToutput";
    hidden.told.errors = {map_of({98765}, 1, 4, [](auto, auto) { return 8.0; })};
    hidden.told.errors[0].tensor = "SECRETtensor";
    hidden.groups = {"fresh"};
    item.cases.push_back(hidden);
  }
  grading.items = {item};
  return grading;
}

const std::vector<std::string> secrets{"SECRET", "31337", "31338", "98765", "55555",
                                       "66666",  "44444", "77.1",  "424242"};

}  // namespace

BOOST_AUTO_TEST_SUITE(grade_report)

BOOST_AUTO_TEST_CASE(the_page_says_what_was_earned_and_why_not) {
  const std::string page = grade_html(ordinary());
  leave("ordinary.html", page);
  BOOST_TEST(contains(page, "<title>alice: 1.5 of 6 points</title>"));
  BOOST_TEST(contains(page, "Looks like halves instead of neighbours (all 3 failing cases)"));
  BOOST_TEST(contains(page, "Hint: "));
  BOOST_TEST(contains(page, "Looks like w1 and w3 exchanged, or "));
  BOOST_TEST(occurrences(page, "Looks like none of the known mistakes") == 1u);
  // A failing case: its shapes, the worst element, both values, the bound, the command.
  for (const char* part :
       {"x[2, 3, 32], token_positions[3] -&gt; y[2, 3, 32]", "160 of 192 elements", "y[1, 2, 5]",
        "<code>0.123456</code>", "<code>-0.654321</code>", "--case three_batch_axes"}) {
    BOOST_TEST(contains(page, part), part);
  }
  // Near numbers are written with the digits that tell them apart.
  BOOST_TEST(contains(page, "<code>1.0000001</code>"));
  BOOST_TEST(contains(page, "<code>1.0000004</code>"));
  BOOST_TEST(contains(page, "0: it must be exact"));
  // A map and a histogram for each of the four cases that have them.
  BOOST_TEST(occurrences(page, "<svg class=\"map\"") == 4u);
  BOOST_TEST(occurrences(page, "<svg class=\"bars\"") == 4u);
  // Failures that say nothing of their own are one.
  BOOST_TEST(contains(page, "all 5 cases"));
  BOOST_TEST(occurrences(page, "not implemented</bdi>") == 1u);
  BOOST_TEST(contains(page,
                      "Hidden cases: 1 of 4 passed, 2 <span class=\"bad\">INCORRECT_NUMERICAL"
                      "</span>, 1 <span class=\"bad\">TIMEOUT</span>."));
  BOOST_TEST(!contains(page, "918273645546372819"));
}

BOOST_AUTO_TEST_CASE(the_page_needs_nothing_beside_itself) {
  for (const std::string& page : {grade_html(ordinary()), grade_html(hostile())}) {
    check_needs_nothing(page);
  }
}

BOOST_AUTO_TEST_CASE(the_page_escapes_all_that_comes_from_outside) {
  const std::string page = grade_html(hostile());
  leave("hostile.html", page);
  check_is_escaped(page);
  // Every text is cut: 20000 bytes stand nowhere.
  BOOST_TEST(page.size() < 100000u);
  BOOST_TEST(!contains(page, std::string(4001, 'w')));
}

BOOST_AUTO_TEST_CASE(the_page_has_elements_that_end_in_order) {
  for (const std::string& page : {grade_html(ordinary()), grade_html(hostile()),
                                  grade_html(with_secrets()), grade_html(Grading())}) {
    check_elements_end_in_order(page);
  }
}

BOOST_AUTO_TEST_CASE(hidden_cases_show_a_status_and_nothing_else) {
  const Grading grading = with_secrets();
  const std::string page = grade_html(grading), junit = grade_junit(grading);
  leave("secrets.html", page);
  leave("secrets.xml", junit);
  for (const std::string& secret : secrets) {
    BOOST_TEST(!contains(page, secret), secret << " in the page");
    BOOST_TEST(!contains(junit, secret), secret << " in JUnit's XML");
  }
  BOOST_TEST(contains(page, "Hidden cases: 1 of 3 passed"));
  BOOST_TEST(contains(junit, "name=\"hidden_3\""));
  // The same cases, visible, do show all that: the test above can fail.
  Grading told = grading;
  for (GradedCase& graded : told.items[0].cases) graded.hidden = false;
  for (const char* shown : {"SECRETname", "SECRETmessage", "SECRETrepeat"}) {
    BOOST_TEST(contains(grade_junit(told), shown), shown);
  }
  for (const char* shown : {"SECRETname", "SECRETmessage", "SECRETrepeat", "SECRETshapes",
                            "SECREToutput", "SECRETtensor", "SECRETdtype", "31337.2", "44444"}) {
    BOOST_TEST(contains(grade_html(told), shown), shown);
  }
}

BOOST_AUTO_TEST_CASE(only_so_many_cases_are_pictured) {
  Grading grading = ordinary();
  GradedItem& item = grading.items[1];
  for (int i = 0; i < 20; ++i) item.cases.push_back(item.cases[0]);
  const std::string page = grade_html(grading);
  BOOST_TEST(occurrences(page, "<svg class=\"map\"") == 9u);  // 8, and one of another problem
  BOOST_TEST(occurrences(page, "--case three_batch_axes") == 21u);
}

BOOST_AUTO_TEST_CASE(maps_that_do_not_fit_are_left_out) {
  Grading grading = ordinary();
  ErrorMap& map = grading.items[1].cases[0].told.errors[0];
  map.cells.pop_back();
  map.histogram.pop_back();
  BOOST_TEST(occurrences(grade_html(grading), "<svg class=\"map\"") == 3u);
  BOOST_TEST(occurrences(grade_html(grading), "<svg class=\"bars\"") == 3u);
}

BOOST_AUTO_TEST_CASE(what_could_not_be_built_says_so_with_its_lines) {
  Grading grading;
  grading.submission = "carol";
  grading.status = Status::compile_error;
  grading.message = "solution.cpp:3:1: error: expected ';'\n    3 | }\n      | ^";
  const std::string page = grade_html(grading);
  leave("compile_error.html", page);
  BOOST_TEST(contains(page, "COMPILE_ERROR"));
  BOOST_TEST(contains(page, "expected &#39;;&#39;\n    3 | }\n      | ^\n"));
  pugi::xml_document document;
  leave("compile_error.md", grade_markdown(grading));
  leave("compile_error.json", grade_gradescope(grading, "visible"));
  BOOST_TEST(contains(grade_annotations(grading),
                      "::error title=carol%3A COMPILE_ERROR::solution.cpp:3:1: error: expected "
                      "';'%0A    3 | }%0A      | ^\n"));
  const std::string junit = grade_junit(grading);
  leave("compile_error.xml", junit);
  BOOST_REQUIRE(document.load_string(junit.c_str()));
  const pugi::xml_node test = document.child("testsuites").child("testsuite").child("testcase");
  BOOST_TEST(std::string(test.child("failure").attribute("type").value()) == "COMPILE_ERROR");
}

BOOST_AUTO_TEST_CASE(junit_has_a_suite_for_each_item_and_counts_what_is_missing_as_failed) {
  const std::string text = grade_junit(ordinary());
  leave("ordinary.xml", text);
  pugi::xml_document document;
  BOOST_REQUIRE(document.load_string(text.c_str()));
  const pugi::xml_node root = document.child("testsuites");
  BOOST_TEST(std::string(root.attribute("name").value()) == "prenorm grade alice");
  BOOST_TEST(root.attribute("tests").as_int() == 12 + 8 + 4 + 5);
  BOOST_TEST(root.attribute("failures").as_int() == 0 + 6 + 4 + 5);
  BOOST_TEST(root.attribute("errors").as_int() == 0);
  std::vector<std::string> names;
  for (const pugi::xml_node suite : root) names.emplace_back(suite.attribute("name").value());
  BOOST_TEST(
      names == (std::vector<std::string>{"rmsnorm", "rope", "positionwise_feedforward", "softmax"}),
      boost::test_tools::per_element());
  const pugi::xml_node missing = root.last_child().child("testcase");
  BOOST_TEST(std::string(missing.child("failure").attribute("type").value()) == "NOT_IMPLEMENTED");
  const pugi::xml_node wrong = root.child("testsuite").next_sibling().child("testcase");
  BOOST_TEST(contains(wrong.child("failure").attribute("message").value(), "160 of 192"));
  BOOST_TEST(contains(wrong.child("failure").text().get(), "repeat: prenorm grade alice"));
  const pugi::xml_node hidden = root.child("testsuite").next_sibling().last_child();
  BOOST_TEST(std::string(hidden.attribute("name").value()) == "hidden_4");
  BOOST_TEST(hidden.attribute("time").empty());
  BOOST_TEST(std::string(hidden.child("failure").attribute("message").value()) == "TIMEOUT");
}

BOOST_AUTO_TEST_CASE(junit_is_well_formed_whatever_comes_from_outside) {
  const std::string text = grade_junit(hostile());
  leave("hostile.xml", text);
  pugi::xml_document document;
  BOOST_REQUIRE(document.load_string(text.c_str()));
  for (const char c : text) BOOST_REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  BOOST_TEST(!contains(text, "\u202e"));
  BOOST_TEST(text.size() < 20000u);
}

BOOST_AUTO_TEST_CASE(summaries_annotations_and_gradescope_s_results) {
  const std::vector<std::pair<std::string, Grading>> gradings{
      {"ordinary", ordinary()}, {"hostile", hostile()}, {"secrets", with_secrets()}};
  for (const auto& [name, grading] : gradings) {
    leave(name + ".md", grade_markdown(grading));
    leave(name + ".json", grade_gradescope(grading, "visible"));
  }
  const std::string markdown = grade_markdown(ordinary());
  BOOST_TEST(contains(markdown, "### `alice`: 1.5 of 6 points\n"));
  BOOST_TEST(
      contains(markdown, "| `rope` | 0.5 / 2 | 2/8 |\n| &emsp;`errors` | 0.5 / 0.5 | 2/2 |"));
  BOOST_TEST(contains(markdown, "- looks like halves instead of neighbours"));
  BOOST_TEST(contains(markdown,
                      "```\nprenorm grade alice --rubric cs336-2025 --problem rope "
                      "--case three_batch_axes\n```"));
  BOOST_TEST(contains(markdown, "**NOT_IMPLEMENTED** in all: `not implemented`"));

  const std::string annotations = grade_annotations(ordinary());
  BOOST_TEST(occurrences(annotations, "::error title=") == 4u);
  BOOST_TEST(contains(annotations,
                      "::error title=rope%3A 3 of 4 cases failed%2C 3 of 4 hidden::"
                      "looks like halves instead of neighbours (all 3 failing cases)%0A"));
  BOOST_TEST(contains(annotations, "%0AINCORRECT_NUMERICAL  three_batch"));
  BOOST_TEST(occurrences(grade_annotations(hostile()), "\n") == 1u);

  Grading grouped = ordinary();
  for (GradedItem& item : grouped.items) {
    for (GradedCase& graded : item.cases) graded.groups = {graded.hidden ? "fresh" : "float32"};
  }
  const std::string results = grade_gradescope(grouped, "after_published");
  BOOST_TEST(contains(results, "1 of 4 hidden cases passed: 2 INCORRECT_NUMERICAL, 1 TIMEOUT."));
  // A group of each item, and what is said of the whole. What is visible counts nothing hidden.
  BOOST_TEST(occurrences(results, "\"visibility\": \"after_published\"") == 3u);
  // A diagnosis is told if it explains a visible case.
  const std::string told = "rope looks like halves instead of neighbours\\n";
  BOOST_TEST(!contains(results, told));
  for (GradedItem& item : grouped.items) {
    for (GradedCase& graded : item.cases) {
      if (!graded.hidden && graded.result.problem == "rope") graded.told.cause = 0;
    }
  }
  BOOST_TEST(contains(grade_gradescope(grouped, "after_published"), told));
}

BOOST_AUTO_TEST_CASE(no_report_for_students_tells_a_secret) {
  const Grading grading = with_secrets();
  Grading told = grading;
  for (GradedCase& graded : told.items[0].cases) {
    graded.hidden = false;
    graded.groups = {"fresh"};
  }
  told.items[0].groups[0].hidden = false;
  const auto reports = [](const Grading& of) {
    return std::vector<std::string>{grade_markdown(of), grade_annotations(of),
                                    grade_gradescope(of, "visible"), grade_table(of, false, 0)};
  };
  for (const std::string& report : reports(grading)) {
    for (const std::string& secret : secrets) BOOST_TEST(!contains(report, secret), secret);
  }
  // The same cases, visible, do show all that.
  for (const std::string& report : reports(told)) {
    for (const char* shown : {"SECRETname", "SECRETmessage", "SECRETrepeat"}) {
      BOOST_TEST(contains(report, shown), shown);
    }
  }
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

BOOST_AUTO_TEST_CASE(at_most_ten_annotations_the_last_of_which_counts) {
  Grading grading;
  for (int i = 0; i < 10; ++i) {
    GradedItem item;
    item.name = "item" + std::to_string(i);
    item.problems = {item.name};
    item.cases = {graded(item.name, "a", Status::timeout, "100 %\nlate")};
    grading.items.push_back(item);
  }
  BOOST_TEST(!contains(grade_annotations(grading), "more problems"));
  BOOST_TEST(contains(grade_annotations(grading), "%0A100 %25\\nlate%0Arepeat: "));
  grading.items.push_back(grading.items.back());
  grading.items.back().problems = {"other"};
  grading.items.back().cases[0].result.problem = "other";
  const std::string text = grade_annotations(grading);
  BOOST_TEST(occurrences(text, "::error ") == 10u);
  BOOST_TEST(contains(text, "::error title=2 more problems failed::"));
}

BOOST_AUTO_TEST_SUITE_END()
