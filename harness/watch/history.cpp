#include "watch/history.hpp"

#include <algorithm>
#include <tuple>

namespace prenorm::harness {
namespace {

/// Smaller is easier to look at; cases without numbers (an error, nothing compared) come last.
auto size_of(const WatchedCase& one) {
  return std::tuple(one.status != Status::incorrect_numerical, one.elements);
}

bool smaller(const WatchedCase* a, const WatchedCase* b) { return size_of(*a) < size_of(*b); }

}  // namespace

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
