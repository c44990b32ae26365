// JUnit's XML.
#include "base/text.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <pugixml.hpp>
#include <sstream>

namespace prenorm::harness {
namespace {

/// XML has no characters for controls, escaped or not: printable() takes them out.
void set(pugi::xml_node node, const char* attribute, const std::string& value) {
  node.append_attribute(attribute) = printable(value).c_str();
}

/// Whole milliseconds: readers take three digits at most.
void set_time(pugi::xml_node node, double seconds) {
  node.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
}

/// "failure", "error", "skipped": the element that says how it ended; nullptr where it passed.
const char* element(Status status, bool not_implemented_fails) {
  switch (status) {
    case Status::passed: return nullptr;
    case Status::skipped: return "skipped";
    case Status::bad_fixture: return "error";
    case Status::not_implemented: return not_implemented_fails ? "failure" : "skipped";
    default: return "failure";
  }
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const JunitCase& test, bool not_implemented_fails) {
    ++tests;
    seconds += test.seconds.value_or(0);
    const char* verdict = element(test.status, not_implemented_fails);
    if (verdict == nullptr) return;
    ++(verdict[0] == 'f' ? failures : verdict[0] == 'e' ? errors : skipped);
  }

  /// The root has no count of skipped ones.
  void write(pugi::xml_node node, bool root) const {
    node.append_attribute("tests") = tests;
    node.append_attribute("failures") = failures;
    node.append_attribute("errors") = errors;
    if (!root) node.append_attribute("skipped") = skipped;
    set_time(node, seconds);
  }
};

void add_case(pugi::xml_node suite, const JunitCase& test, bool not_implemented_fails) {
  pugi::xml_node node = suite.append_child("testcase");
  set(node, "classname", test.group);
  set(node, "name", test.name);
  if (test.seconds) set_time(node, *test.seconds);
  const char* kind = element(test.status, not_implemented_fails);
  if (kind == nullptr) return;
  pugi::xml_node verdict = node.append_child(kind);
  const std::string status(name(test.status));
  if (verdict.name() != std::string_view("skipped")) set(verdict, "type", status);
  set(verdict, "message", test.message.empty() ? status : status + ": " + test.message);
  if (!test.details.empty()) verdict.text().set(printable(test.details, 4000).c_str());
}

}  // namespace

std::string junit_document(const std::string& name, const std::vector<JunitSuite>& suites,
                           bool not_implemented_fails) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", name);
  std::vector<Counts> counts;
  Counts all;
  for (const JunitSuite& suite : suites) {
    Counts& of_suite = counts.emplace_back();
    for (const JunitCase& test : suite.cases) {
      of_suite.add(test, not_implemented_fails);
      all.add(test, not_implemented_fails);
    }
  }
  all.write(root, true);
  for (std::size_t i = 0; i < suites.size(); ++i) {
    pugi::xml_node suite = root.append_child("testsuite");
    set(suite, "name", suites[i].name);
    counts[i].write(suite, false);
    for (const JunitCase& test : suites[i].cases) add_case(suite, test, not_implemented_fails);
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

std::string to_junit(const Report& report) {
  // Suites in the order of their first result.
  std::vector<JunitSuite> suites;
  for (const Result& result : report.results) {
    const std::string title =
        result.solution.empty() ? result.fixture : result.fixture + " " + result.solution;
    auto suite = std::ranges::find(suites, title, &JunitSuite::name);
    if (suite == suites.end()) suite = suites.insert(suites.end(), {title, {}});
    suite->cases.push_back({.group = result.problem.empty() ? result.fixture : result.problem,
                            .name = result.case_name.value_or(result.fixture),
                            .status = result.status,
                            .message = result.message,
                            .details = result.repeat.empty() ? "" : "repeat: " + result.repeat,
                            .seconds = result.seconds});
  }
  return junit_document("prenorm " + report.command, suites, false);
}

}  // namespace prenorm::harness
