#include "watch/history.hpp"

#include "explain/causes.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <tuple>

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

/// Smaller is easier to look at; cases without numbers (an error, nothing compared) come last.
auto size_of(const WatchedCase& one) {
  return std::tuple(one.status != Status::incorrect_numerical, one.elements);
}

bool smaller(const WatchedCase* a, const WatchedCase* b) { return size_of(*a) < size_of(*b); }

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

void History::saved() {
  for (const auto& [key, one] : now_) {
    before_[key] = one.passed();
    old_.insert(key);
  }
}

void History::take(const Attempt& attempt) {
  last_ = attempt;
  last_.cases.clear();
  for (const WatchedCase& one : attempt.cases) {
    const Key key{one.problem, one.name};
    if (!now_.contains(key)) order_.push_back(key);
    now_[key] = one;
    old_.erase(key);
    causes_.erase(one.problem);
  }
  for (const auto& [problem, cause] : attempt.causes) causes_[problem] = cause;
}

std::vector<History::ProblemCount> History::counts() const {
  std::vector<ProblemCount> all;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    auto found = std::ranges::find(all, one.problem, &ProblemCount::problem);
    if (found == all.end()) found = all.insert(all.end(), ProblemCount{one.problem});
    ++found->asked;
    found->passed += one.passed() ? 1 : 0;
    found->waiting += !one.passed() && waits(key) ? 1 : 0;
    found->written = found->written || one.written();
  }
  return all;
}

bool History::waits(const Key& key) const {
  return old_.size() < now_.size() && old_.contains(key);
}

std::vector<const WatchedCase*> History::changed(bool passes) const {
  std::vector<const WatchedCase*> found;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    const auto earlier = before_.find(key);
    if (earlier != before_.end() && earlier->second != passes && one.passed() == passes) {
      found.push_back(&one);
    }
  }
  return found;
}

std::vector<const WatchedCase*> History::fixed() const { return changed(true); }
std::vector<const WatchedCase*> History::broken() const { return changed(false); }

std::vector<const WatchedCase*> History::failing(std::size_t most) const {
  std::vector<const WatchedCase*> found;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    if (!one.passed() && one.written()) found.push_back(&one);
  }
  std::ranges::stable_sort(found, smaller);
  if (found.size() > most) found.resize(most);
  return found;
}

const WatchedCase* History::first_failure() const {
  const std::vector<const WatchedCase*> news = broken();
  std::string problem;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    if (!problem.empty() || one.passed() || !one.written() || waits(key)) continue;
    problem = one.problem;
  }
  if (!news.empty()) problem = news.front()->problem;
  const WatchedCase* first = nullptr;
  for (const WatchedCase* one : failing(now_.size())) {
    const bool counts = one->problem == problem && !waits({one->problem, one->name});
    if (counts && first == nullptr) first = one;
  }
  return first;
}

const WatchedCause* History::cause(const std::string& problem) const {
  const auto found = causes_.find(problem);
  return found == causes_.end() ? nullptr : &found->second;
}

}  // namespace prenorm::harness
