#include "explain/failures.hpp"

#include "base/text.hpp"
#include "explain/failures_report.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>

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

/// Rounding in bfloat16, the narrowest type, is off by less.
constexpr double largest_rounding = 0.02;

bool is_close(const Result& result) {
  return !result.outputs.empty() && std::ranges::all_of(result.outputs, [](const auto& output) {
    return output.relative_l2_error.value_or(1) < largest_rounding;
  });
}

/// Whether no element is further off than four times its bound: no narrower type is so near.
bool is_hardly_beyond(const Result& result) {
  return !result.outputs.empty() && std::ranges::all_of(result.outputs, [](const auto& output) {
    return output.mismatches == 0 ? output.passes() : output.times_allowed() <= 4;
  });
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
  std::int64_t largest = 0;  // a position near 131071 is nothing to begin with
  for (const Scalar& scalar : info.scalars) {
    if (const auto* whole = std::get_if<std::int64_t>(&scalar)) largest = std::max(largest, *whole);
  }
  text.elements += largest;
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
  cases.push_back({&result, text});
  if (is_hardly_beyond(result)) return;
  ++of_dtype.failed;
  of_dtype.close += is_close(result) ? 1 : 0;
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
  for (const FailingCase& each : cases) {
    if (each.text == nullptr || each.text->alone.empty()) continue;
    lines.push_back(each.result->case_name.value_or("") + " " + each.text->alone);
  }
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

std::tuple<bool, bool, std::int64_t> simplicity(const FailingCase& failing) {
  const FailureText* text = failing.text;
  const bool late = text != nullptr && (text->refusal || text->late);
  const bool by_hand = failing.result->case_name.value_or("").find("by_hand") != std::string::npos;
  return {late, !by_hand, text == nullptr ? 0 : text->elements};
}

std::vector<FailingCase> Failures::simplest_first() const {
  std::vector<FailingCase> order = cases;
  std::ranges::stable_sort(order, {}, simplicity);
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

namespace {

std::string indented(const std::string& text, std::size_t by) {
  std::string result;
  for (const std::string& line : lines_of(text)) {
    result.append(by, ' ');
    result += printable(line, 2000) + "\n";
  }
  return result;
}

std::string wrapped_line(const std::string& text, std::size_t indent, std::size_t width) {
  return std::string(indent, ' ') +
         wrapped(text, indent, width == 0 ? 100 : std::clamp<std::size_t>(width, 60, 110)) + "\n";
}

/// The command that repeats a failure, and why that may not; empty where nothing does.
std::string repeat_text(const Result& result, const std::string& why, bool colour) {
  if (result.repeat.empty()) return "";
  return "    " +
         toned("repeat: " + printable(result.repeat, 4000) +
                   (why.empty() ? "" : " (" + why + ": see above)"),
               Tone::quiet, colour) +
         "\n";
}

/// Of what is wrong with a whole file or library, one line.
std::string one_message_text(const Failures& failures, bool colour) {
  const Result& first = *failures.cases.front().result;
  std::string text = "  " + toned(name(first.status), Tone::bad, colour);
  if (failures.cases.size() > 1) text += fmt::format("  all {} cases", failures.cases.size());
  return text + "\n    " + printable(first.message) + "\n" + repeat_text(first, "", colour);
}

std::string failures_text(const FileFailures& failures, bool colour, std::size_t width,
                          bool verbose) {
  std::string text =
      toned(printable(failures.problem.empty() ? failures.fixture : failures.problem), Tone::strong,
            colour);
  if (!failures.solution.empty()) text += " by " + printable(failures.solution);
  text += ": " + failures.counts() + "\n" + cause_text(failures.lines(), width);
  if (failures.one_message()) return text + one_message_text(failures, colour);
  const std::vector<FailingCase> cases = failures.simplest_first();
  const std::size_t shown = verbose ? cases.size() : failures.shown_at_first();
  for (std::size_t i = 0; i < shown; ++i) {
    const FailureText* known = cases[i].text;
    text += failing_case_text(*cases[i].result, known == nullptr ? FailureText{} : *known, colour,
                              width, verbose);
  }
  if (shown < cases.size()) {
    text += fmt::format("  and {} more: --verbose\n", cases.size() - shown);
  }
  return text;
}

/// What a failing case printed, below "it printed:"; empty where it printed nothing.
std::string printed_lines(const Result& result, bool colour) {
  if (result.printed.empty()) return "";
  std::string text = "    it printed:\n";
  for (const std::string& line : lines_of(result.printed)) {
    text += "      " + toned(printable(line), Tone::quiet, colour) + "\n";
  }
  return text;
}

std::string figures(const OutputReport& output) {
  std::string text = output.name + ": ";
  const auto add = [&](const char* what, const std::optional<double>& value) {
    if (value) text += fmt::format("{} {}, ", what, short_number(*value));
  };
  add("largest error", output.max_abs_error);
  add("relative", output.max_rel_error);
  add("in ulp", output.max_ulp_error);
  add("relative L2", output.relative_l2_error);
  if (const std::string together = together_text(output); !together.empty())
    text += together + ", ";
  return text + fmt::format("{} of {} elements wrong, atol {}, rtol {}", output.mismatches,
                            output.elements, short_number(output.atol), short_number(output.rtol));
}

}  // namespace

std::string together_text(const OutputReport& output) {
  std::string text;
  const auto add = [&](const char* what, const std::optional<double>& value,
                       const std::optional<double>& allowed) {
    if (!value || !allowed) return;
    text += fmt::format("{}{} {} of at most {}", text.empty() ? "" : ", ", what,
                        short_number(*value), short_number(*allowed));
  };
  add("rms", output.rms, output.rms_allowed);
  add("bias", output.bias, output.bias_allowed);
  return text;
}

std::string failing_case_text(const Result& result, const FailureText& about, bool colour,
                              std::size_t width, bool verbose) {
  std::string text =
      "  " + toned(name(result.status), Tone::bad, colour) + "  " +
      toned(printable(result.case_name.value_or(result.fixture)), Tone::strong, colour);
  if (!result.dtype.empty()) text += "  " + printable(result.dtype);
  text += "\n";
  if (!about.sizes.empty())
    text += "    " + toned(printable(about.sizes), Tone::quiet, colour) + "\n";
  if (!about.description.empty() && !about.refusal)
    text += wrapped_line(printable(about.description, 2000), 4, width);
  if (!result.message.empty()) text += "    " + printable(result.message) + "\n";
  if (!about.hint.empty()) text += wrapped_line(about.hint, 4, width);
  text += indented(about.numbers, 6);
  for (const OutputReport& output : result.outputs) {
    if (verbose) text += "    " + toned(printable(figures(output)), Tone::quiet, colour) + "\n";
  }
  text += printed_lines(result, colour);
  if (!about.snippet.empty()) {
    text += "    " + toned("in Python, beside adapters.py:", Tone::quiet, colour) + "\n" +
            indented(about.snippet, 6);
  }
  return text + repeat_text(result, about.not_repeated, colour);
}

std::string cause_text(const std::vector<std::string>& lines, std::size_t width) {
  std::string text;
  for (const std::string& line : lines) {
    const std::size_t indent = 2 + line.find_first_not_of(' ');
    text += wrapped_line(printable(line.substr(indent - 2), 2000), indent, width);
  }
  return text;
}

std::string explained_failures(const Report& report, const std::vector<Explanation>& explanations,
                               bool colour, std::size_t width, bool verbose) {
  std::map<std::string, const FileFailures*> first;  // by what fails, and how
  const std::vector<FileFailures> all = failures_of(report, explanations);
  std::string text;
  for (const FileFailures& each : all) {
    const auto [place, is_new] = first.try_emplace(each.fixture + "\n" + each.likeness(), &each);
    if (!text.empty()) text += "\n";
    if (is_new || verbose || each.cases.front().result->outputs.empty()) {
      text += failures_text(each, colour, width, verbose);
    } else {
      text += fmt::format("{} by {}: fails in the same {} as by {}\n",
                          toned(printable(each.problem), Tone::strong, colour),
                          printable(each.solution), counted(each.cases.size(), "case"),
                          printable(place->second->solution));
    }
  }
  return text;
}

std::string repeat_line(const Report& report, const std::vector<Explanation>& explanations) {
  const std::vector<FileFailures> all = failures_of(report, explanations);
  if (all.empty()) return "";
  const Result& result = *all.front().simplest_first().front().result;
  if (result.repeat.empty()) return "";
  return "repeat the first failure: " + printable(result.repeat, 4000) + "\n";
}

}  // namespace prenorm::harness
