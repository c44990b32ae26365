#include "explain/failing_cases.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace prenorm::harness {
namespace {

constexpr int most_of_a_cause = 2;

/// By simplicity alone.
std::vector<std::size_t> by_simplicity(std::span<const FailingCase> cases) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cases.size(); ++i) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tuple(cases[i].late, cases[i].name.find("by_hand") == std::string::npos,
                      cases[i].elements);
  });
  return order;
}

/// What is shared by cases that need telling once.
std::string cause_of(const Result& result, const FailureText* told) {
  if (told != nullptr && told->refusal) return "refusal";
  if (told != nullptr && told->cause != Causes::none) return std::to_string(told->cause);
  return result.outputs.empty() ? result.message : std::string(name(result.status));
}

}  // namespace

bool has_no_elements(const Case& info) {
  return !info.outputs.empty() && std::ranges::all_of(info.outputs, [](const OutputInfo& output) {
    return element_count(output.shape) == 0;
  });
}

FailingCase failing_case(const Result& result, const FailureText* told) {
  return {
      result.case_name.value_or(""), told == nullptr ? 0 : told->elements, cause_of(result, told),
      result.message.starts_with("not run") || (told != nullptr && (told->refusal || told->empty))};
}

std::vector<std::size_t> simplest_first(std::span<const FailingCase> cases) {
  std::vector<std::size_t> order = by_simplicity(cases);
  std::map<std::string, int> seen;
  std::map<std::size_t, int> rank;  // the first of each cause, the second of each, all others
  for (const std::size_t i : order) rank[i] = std::min(seen[cases[i].cause]++, most_of_a_cause);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rank[i]; });
  return order;
}

std::size_t shown_at_first(std::span<const FailingCase> cases) {
  std::map<std::string, int> seen;
  std::size_t shown = 0;
  for (const FailingCase& one : cases) shown += seen[one.cause]++ < most_of_a_cause ? 1 : 0;
  return std::min(shown, most_shown);
}

}  // namespace prenorm::harness
