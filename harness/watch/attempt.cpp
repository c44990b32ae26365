#include "watch/attempt.hpp"

#include "explain/causes.hpp"

namespace prenorm::harness {
namespace {

WatchedCase case_of(const Json& result) {
  WatchedCase found;
  result.at("problem").get_to(found.problem);
  result.at("case").get_to(found.name);
  result.at("message").get_to(found.message);
  found.status = result.at("status").get<Status>();
  if (result.at("shapes").is_string()) result.at("shapes").get_to(found.shapes);
  for (const Json& output : result.at("outputs")) {
    found.elements += output.at("elements").get<std::int64_t>();
  }
  return found;
}

/// "eps is left out: ...", without the sentences after it, which say what belongs there.
std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == text.npos ? text : text.substr(0, end + 1);
}

void add_causes(const Json& item, std::map<std::string, WatchedCause>& causes) {
  for (const Json& diagnosis : item.at("diagnoses")) {
    const auto problem = diagnosis.at("problem").get<std::string>();
    WatchedCause& cause = causes[problem];
    if (!cause.heading.empty()) continue;  // the one that explains most is first
    const MistakeWords& words = words_of(problem, diagnosis.at("mistake").get<std::string>());
    cause.heading = "looks like " + words.name;
    cause.does = first_sentence(words.sentence);
    cause.hint = words.hint;
  }
  for (const Json& problem : item.at("undiagnosed")) causes[problem.get<std::string>()];
  for (const Json& property : item.at("properties")) {
    causes[property.at("problem").get<std::string>()].lacking.push_back(
        property.at("property").get<std::string>());
  }
}

}  // namespace

Attempt attempt_of(const Json& report) {
  Attempt attempt;
  report.at("submission").get_to(attempt.submission);
  report.at("kind").get_to(attempt.kind);
  report.at("rubric").get_to(attempt.rubric);
  report.at("message").get_to(attempt.message);
  attempt.status = report.at("status").get<Status>();
  for (const Json& result : report.at("results")) attempt.cases.push_back(case_of(result));
  for (const Json& item : report.at("items")) add_causes(item, attempt.causes);
  return attempt;
}

}  // namespace prenorm::harness
