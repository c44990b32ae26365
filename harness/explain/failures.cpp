#include "explain/failures.hpp"

#include "base/text.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace prenorm::harness {
namespace {

constexpr int most_of_a_cause = 2;

bool is_refusal(const FailingCase& each) { return each.text != nullptr && each.text->refusal; }

/// What is shared by cases of which few are shown.
std::string shared_by(const FailingCase& each) {
  if (is_refusal(each)) return "refusal";
  if (each.text != nullptr && each.text->cause != Causes::none) {
    return std::to_string(each.text->cause);
  }
  return each.result->outputs.empty() ? each.result->message
                                      : std::string(name(each.result->status));
}

std::size_t refusals(const std::vector<FailingCase>& cases) {
  return static_cast<std::size_t>(std::ranges::count_if(cases, is_refusal));
}

/// "of the 3 cases with wrong numbers (13 failed otherwise):"; empty where all failed alike.
std::string kinds_line(const std::vector<FailingCase>& cases) {
  const auto wrong = static_cast<std::size_t>(std::ranges::count_if(cases, [](const auto& each) {
    return each.result->status == Status::incorrect_numerical && !is_refusal(each);
  }));
  const std::size_t failed = cases.size() - refusals(cases);
  if (wrong == 0 || wrong == failed) return "";
  return fmt::format("of the {} with wrong numbers ({} failed otherwise):", counted(wrong, "case"),
                     failed - wrong);
}

}  // namespace

FailureText failure_text(const Case& info, const Signature& signature, const Result& result) {
  FailureText text;
  text.sizes = describe_sizes(info, signature);
  text.description = info.description;
  text.elements = info.elements();
  text.refusal = info.error && result.status == Status::incorrect_numerical;
  const bool empty =
      !info.outputs.empty() && std::ranges::all_of(info.outputs, [](const OutputInfo& output) {
        return element_count(output.shape) == 0;
      });
  text.late = empty || result.not_run;
  return text;
}

void Failures::add(const Result& result, const FailureText* text, bool failed) {
  ++asked;
  Failed& of_dtype = by_dtype[result.dtype];
  ++of_dtype.asked;
  if (!failed) return;
  ++of_dtype.failed;
  cases.push_back({&result, text});
}

void Failures::add_hidden(bool failed) {
  ++asked_hidden;
  hidden += failed ? 1 : 0;
}

bool Failures::all_alike() const {
  return cases.size() > 1 && cases.size() == asked &&
         std::ranges::all_of(cases, [&](const FailingCase& each) {
           return each.result->status == cases.front().result->status &&
                  each.result->message == cases.front().result->message;
         });
}

bool Failures::one_message() const {
  return std::ranges::all_of(cases, [&](const FailingCase& each) {
    return each.text == nullptr && each.result->message == cases.front().result->message;
  });
}

bool Failures::none_ran() const {
  return std::ranges::none_of(cases,
                              [](const FailingCase& each) { return has_run(each.result->status); });
}

std::string Failures::counts() const {
  const bool skipped = !cases.empty() && std::ranges::all_of(cases, [](const FailingCase& each) {
    return each.result->status == Status::skipped;
  });
  std::string text = fmt::format("{} of {} {}", cases.size(), counted(asked, "case"),
                                 skipped ? "skipped" : "failed");
  if (asked_hidden > 0) text += fmt::format(", {} of {} hidden", hidden, asked_hidden);
  return text;
}

std::vector<std::string> Failures::remarks() const {
  std::vector<std::string> lines;
  if (const std::size_t count = refusals(cases); count > 0) {
    lines.push_back(count == 1 ? "answers a call that it must refuse"
                               : fmt::format("answers {} calls that it must refuse", count));
  }
  if (std::string line = dtype_line(by_dtype); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> Failures::lines() const {
  std::vector<std::string> lines = cause_lines(causes);
  const std::string kinds = kinds_line(cases);
  if (!lines.empty() && !kinds.empty()) lines.insert(lines.begin(), kinds);
  std::ranges::move(remarks(), std::back_inserter(lines));
  return lines;
}

std::vector<FailingCase> Failures::simplest_first() const {
  std::vector<FailingCase> order = cases;
  std::ranges::stable_sort(order, {}, [](const FailingCase& each) {
    const FailureText* text = each.text;
    const bool late = text != nullptr && (text->refusal || text->late);
    const bool by_hand = each.result->case_name.value_or("").find("by_hand") != std::string::npos;
    return std::tuple(late, !by_hand, text == nullptr ? 0 : text->elements);
  });
  std::map<std::string, int> seen;
  std::map<const Result*, int> rank;  // the first of each cause, the second of each, all others
  for (const FailingCase& each : order) {
    rank[each.result] = std::min(seen[shared_by(each)]++, most_of_a_cause);
  }
  std::ranges::stable_sort(order, {}, [&](const FailingCase& each) { return rank[each.result]; });
  return order;
}

std::size_t Failures::shown_at_first() const {
  std::map<std::string, int> seen;
  std::size_t shown = 0;
  for (const FailingCase& each : cases) shown += seen[shared_by(each)]++ < most_of_a_cause ? 1 : 0;
  return std::min(shown, most_shown);
}

bool has_run(Status status) {
  return status != Status::not_implemented && status != Status::load_error &&
         status != Status::compile_error && status != Status::bad_fixture &&
         status != Status::skipped;
}

}  // namespace prenorm::harness
