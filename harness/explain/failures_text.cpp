// What failed, and why, for a terminal.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "explain/failures_report.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
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

/// Of what is wrong with a whole file or library, one line.
std::string one_message_text(const Failures& failures, bool colour) {
  const Result& first = *failures.cases.front().result;
  std::string text = "  " + toned(name(first.status), Tone::bad, colour);
  if (failures.cases.size() > 1) text += fmt::format("  all {} cases", failures.cases.size());
  text += "\n    " + printable(first.message) + "\n";
  if (!first.repeat.empty()) {
    text += "    " + toned("repeat: " + printable(first.repeat, 4000), Tone::quiet, colour) + "\n";
  }
  return text;
}

std::string failures_text(const FileFailures& failures, bool colour, std::size_t width,
                          bool verbose) {
  std::string text =
      toned(printable(failures.problem.empty() ? failures.fixture : failures.problem), Tone::strong,
            colour);
  if (!failures.solution.empty()) text += " by " + printable(failures.solution);
  text +=
      fmt::format(": {} of {} failed\n", failures.cases.size(), counted(failures.asked, "case"));
  text += cause_text(failures.lines(), width);
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

std::string figures(const OutputReport& output) {
  std::string text = output.name + ": ";
  const auto add = [&](const char* what, const std::optional<double>& value) {
    if (value) text += fmt::format("{} {}, ", what, short_number(*value));
  };
  add("largest error", output.max_abs_error);
  add("relative", output.max_rel_error);
  add("in ulp", output.max_ulp_error);
  add("relative L2", output.relative_l2_error);
  return text + fmt::format("{} of {} elements wrong, atol {}, rtol {}", output.mismatches,
                            output.elements, short_number(output.atol), short_number(output.rtol));
}

}  // namespace

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
    text += "    " + toned("in PyTorch, beside adapters.py:", Tone::quiet, colour) + "\n" +
            indented(about.snippet, 6);
  }
  if (result.repeat.empty()) return text;
  return text + "    " + toned("repeat: " + printable(result.repeat, 4000), Tone::quiet, colour) +
         "\n";
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
