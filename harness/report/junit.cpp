#include "printable.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

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

void set_counts(pugi::xml_node node, const std::vector<const Result*>& results) {
  const auto count = [&](auto test) { return std::ranges::count_if(results, test); };
  const auto skipped = [](const Result* r) {
    return r->status == Status::skipped || r->status == Status::not_implemented;
  };
  const auto bad = [](const Result* r) { return r->status == Status::bad_fixture; };
  const auto failed = [&](const Result* r) {
    return r->status != Status::passed && !skipped(r) && !bad(r);
  };
  double seconds = 0;
  for (const Result* result : results) seconds += result->seconds;
  node.append_attribute("tests") = results.size();
  node.append_attribute("failures") = static_cast<std::size_t>(count(failed));
  node.append_attribute("errors") = static_cast<std::size_t>(count(bad));
  node.append_attribute("skipped") = static_cast<std::size_t>(count(skipped));
  node.append_attribute("time") = fmt::format("{:.6f}", seconds).c_str();
}

void add_case(pugi::xml_node suite, const Result& result) {
  pugi::xml_node test = suite.append_child("testcase");
  set(test, "classname", result.problem.empty() ? result.fixture : result.problem);
  set(test, "name", result.case_name.value_or(result.fixture));
  test.append_attribute("time") = fmt::format("{:.6f}", result.seconds).c_str();
  const char* element = nullptr;
  switch (result.status) {
    case Status::passed: return;
    case Status::skipped:
    case Status::not_implemented: element = "skipped"; break;
    case Status::bad_fixture: element = "error"; break;
    default: element = "failure";
  }
  pugi::xml_node verdict = test.append_child(element);
  const std::string status(name(result.status));
  if (result.status != Status::skipped && result.status != Status::not_implemented) {
    set(verdict, "type", status);
  }
  set(verdict, "message", result.message.empty() ? status : status + ": " + result.message);
  if (!result.repeat.empty())
    verdict.text().set(printable("repeat: " + result.repeat, 4000).c_str());
}

}  // namespace

std::string to_junit(const Report& report) {
  // Suites in the order of their first result.
  std::vector<std::pair<std::string, std::vector<const Result*>>> suites;
  std::vector<const Result*> all;
  for (const Result& result : report.results) {
    const std::string title =
        result.solution.empty() ? result.fixture : result.fixture + " " + result.solution;
    auto suite = std::ranges::find(suites, title, [](const auto& each) { return each.first; });
    if (suite == suites.end()) suite = suites.insert(suites.end(), {title, {}});
    suite->second.push_back(&result);
    all.push_back(&result);
  }
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", "prenorm " + report.command);
  set_counts(root, all);
  for (const auto& [title, results] : suites) {
    pugi::xml_node suite = root.append_child("testsuite");
    set(suite, "name", title);
    set_counts(suite, results);
    for (const Result* result : results) add_case(suite, *result);
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace prenorm::harness
