#include "explain/failures_text.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "explain/blocks.hpp"
#include "explain/failing_cases.hpp"
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
std::string alike_text(const Block& block, bool colour) {
  const Result& first = *block.failed.front();
  std::string text = "  " + toned(name(first.status), Tone::bad, colour);
  if (block.failed.size() > 1) text += fmt::format("  all {} cases", block.failed.size());
  text += "\n    " + printable(first.message) + "\n";
  if (!first.repeat.empty()) {
    text += "    " + toned("repeat: " + printable(first.repeat, 4000), Tone::quiet, colour) + "\n";
  }
  return text;
}

std::string block_text(const Block& block, bool colour, std::size_t width, bool verbose) {
  std::string text =
      toned(printable(block.problem.empty() ? block.fixture : block.problem), Tone::strong, colour);
  if (!block.solution.empty()) text += " by " + printable(block.solution);
  text += fmt::format(": {} of {} failed\n", block.failed.size(),
                      counted(static_cast<std::size_t>(block.asked), "case"));
  if (block.why != nullptr) {
    const std::vector<std::string> causes = cause_lines(block.why->causes());
    const std::string kinds =
        kinds_line(block.wrong(), std::ssize(block.failed) - block.refusals());
    if (!causes.empty() && !kinds.empty()) text += wrapped_line(kinds, 2, width);
    text += cause_text(causes, width);
  }
  for (const std::string& line : {refusal_line(block.refusals()), dtype_line(block.by_dtype)}) {
    if (!line.empty()) text += wrapped_line(line, 2, width);
  }
  if (block.all_alike()) return text + alike_text(block, colour);
  const std::vector<FailingCase> cases = block.cases();
  const std::vector<std::size_t> order = simplest_first(cases);
  const std::size_t shown = verbose ? cases.size() : shown_at_first(cases);
  for (std::size_t i = 0; i < shown; ++i) {
    const Result& result = *block.failed[order[i]];
    const FailureText* told = block.told(result);
    text +=
        failing_case_text(result, told == nullptr ? FailureText{} : *told, colour, width, verbose);
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

std::string failing_case_text(const Result& result, const FailureText& told, bool colour,
                              std::size_t width, bool verbose) {
  std::string text =
      "  " + toned(name(result.status), Tone::bad, colour) + "  " +
      toned(printable(result.case_name.value_or(result.fixture)), Tone::strong, colour);
  if (!result.dtype.empty()) text += "  " + printable(result.dtype);
  text += "\n";
  if (!told.sizes.empty())
    text += "    " + toned(printable(told.sizes), Tone::quiet, colour) + "\n";
  if (!told.description.empty() && !told.refusal)
    text += wrapped_line(printable(told.description, 2000), 4, width);
  if (!result.message.empty()) text += "    " + printable(result.message) + "\n";
  if (!told.hint.empty()) text += wrapped_line(told.hint, 4, width);
  text += indented(told.numbers, 6);
  for (const OutputReport& output : result.outputs) {
    if (verbose) text += "    " + toned(printable(figures(output)), Tone::quiet, colour) + "\n";
  }
  text += printed_lines(result, colour);
  if (!told.snippet.empty()) {
    text += "    " + toned("in PyTorch, beside adapters.py:", Tone::quiet, colour) + "\n" +
            indented(told.snippet, 6);
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
  std::map<std::string, const Block*> first;  // by what fails, and how
  const std::vector<Block> blocks = blocks_of(report, explanations);
  std::string text;
  for (const Block& block : blocks) {
    const auto [place, is_new] = first.try_emplace(block.fixture + "\n" + block.likeness(), &block);
    if (!text.empty()) text += "\n";
    if (is_new || verbose || block.failed.front()->outputs.empty()) {
      text += block_text(block, colour, width, verbose);
    } else {
      text += fmt::format("{} by {}: fails in the same {} as by {}\n",
                          toned(printable(block.problem), Tone::strong, colour),
                          printable(block.solution), counted(block.failed.size(), "case"),
                          printable(place->second->solution));
    }
  }
  return text;
}

std::string repeat_line(const Report& report, const std::vector<Explanation>& explanations) {
  const std::vector<Block> blocks = blocks_of(report, explanations);
  if (blocks.empty()) return "";
  const std::vector<FailingCase> cases = blocks.front().cases();
  const Result& result = *blocks.front().failed[simplest_first(cases).front()];
  if (result.repeat.empty()) return "";
  return "repeat the first failure: " + printable(result.repeat, 4000) + "\n";
}

}  // namespace prenorm::harness
