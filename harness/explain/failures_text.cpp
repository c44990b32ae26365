#include "explain/failures_text.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "explain/failing_cases.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness {
namespace {

bool is_failure(const Result& result) {
  return result.status != Status::passed && result.status != Status::skipped &&
         result.status != Status::not_implemented;
}

/// The failures of one problem's file by one solution, in the order of the results.
struct Block {
  std::string fixture, problem, solution;
  std::vector<const Result*> failed;
  std::int64_t asked = 0;
  std::map<std::string, Failed> by_dtype;
  const Explanation* why = nullptr;

  const FailureText* told(const Result& result) const {
    if (why == nullptr || !result.case_name) return nullptr;
    const auto found = why->failures.find(*result.case_name);
    return found == why->failures.end() ? nullptr : &found->second;
  }

  /// What is shared by cases that need telling once.
  std::string cause(const Result& result) const {
    const FailureText* of = told(result);
    if (of != nullptr && of->cause != Findings::none) return std::to_string(of->cause);
    return result.outputs.empty() ? result.message : std::string(name(result.status));
  }

  std::vector<FailingCase> cases() const {
    std::vector<FailingCase> all;
    for (const Result* result : failed) {
      const FailureText* of = told(*result);
      all.push_back({result->case_name.value_or(""), of == nullptr ? 0 : of->elements,
                     cause(*result)});
    }
    return all;
  }

  /// Cases and statuses: what another solution that fails in the same way has too.
  std::string likeness() const {
    std::string text;
    for (const Result* result : failed) {
      text += result->case_name.value_or("") + " " + std::string(name(result->status)) + "\n";
    }
    return text;
  }
};

std::vector<Block> blocks_of(const Report& report, const std::vector<Explanation>& explanations) {
  std::vector<Block> blocks;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Result& result : report.results) {
    const auto [place, is_new] =
        places.try_emplace({result.fixture, result.solution}, blocks.size());
    if (is_new) blocks.push_back({result.fixture, result.problem, result.solution, {}, 0, {}});
    Block& block = blocks[place->second];
    const bool ran = result.status == Status::passed || is_failure(result);
    if (!ran) continue;
    ++block.asked;
    Failed& of_dtype = block.by_dtype[result.dtype];
    ++of_dtype.asked;
    if (!is_failure(result)) continue;
    ++of_dtype.failed;
    block.failed.push_back(&result);
  }
  std::erase_if(blocks, [](const Block& block) { return block.failed.empty(); });
  for (Block& block : blocks) {
    for (const Explanation& each : explanations) {
      if (each.fixture == block.fixture && each.solution == block.solution) block.why = &each;
    }
  }
  return blocks;
}

std::string indented(const std::string& text, std::size_t by) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    result.append(by, ' ');
    result += printable(line, 400) + "\n";
  }
  return result;
}

std::string wrapped_line(const std::string& text, std::size_t indent, std::size_t width) {
  return std::string(indent, ' ') + wrapped(text, indent, std::max<std::size_t>(width, 60)) + "\n";
}

/// Of what is wrong with a whole file or library, one line.
std::string alike_text(const Block& block, bool colour) {
  const Result& first = *block.failed.front();
  std::string text = "  " + toned(name(first.status), Tone::bad, colour);
  if (block.failed.size() > 1) text += fmt::format("  all {} cases", block.failed.size());
  text += "\n" + indented(first.message, 4);
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
    for (const std::string& line : cause_lines(block.why->causes())) {
      const std::size_t indent = 2 + line.find_first_not_of(' ');
      text += wrapped_line(printable(line.substr(indent - 2), 2000), indent, width);
    }
  }
  if (const std::string line = dtype_line(block.by_dtype); !line.empty()) {
    text += wrapped_line(line, 2, width);
  }
  const bool alike = std::ranges::all_of(block.failed, [&](const Result* result) {
    return block.told(*result) == nullptr && result->message == block.failed.front()->message;
  });
  if (alike) return text + alike_text(block, colour);
  const std::vector<FailingCase> cases = block.cases();
  const std::vector<std::size_t> order = simplest_first(cases);
  const std::size_t shown = verbose ? cases.size() : shown_at_first(cases);
  for (std::size_t i = 0; i < shown; ++i) {
    const Result& result = *block.failed[order[i]];
    const FailureText* told = block.told(result);
    text += failing_case_text(result, told == nullptr ? FailureText{} : *told, colour, width,
                              verbose);
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
  std::string text = "  " + toned(name(result.status), Tone::bad, colour) + "  " +
                     toned(printable(result.case_name.value_or(result.fixture)), Tone::strong,
                           colour);
  if (!result.dtype.empty()) text += "  " + printable(result.dtype);
  text += "\n";
  if (!told.sizes.empty()) text += "    " + toned(printable(told.sizes), Tone::quiet, colour) + "\n";
  if (!told.description.empty()) text += wrapped_line(printable(told.description, 2000), 4, width);
  text += indented(result.message, 4);
  if (!told.hint.empty()) text += wrapped_line(told.hint, 4, width);
  text += indented(told.numbers, 6);
  for (const OutputReport& output : result.outputs) {
    if (verbose) text += "    " + toned(printable(figures(output)), Tone::quiet, colour) + "\n";
  }
  if (result.repeat.empty()) return text;
  return text + "    " + toned("repeat: " + printable(result.repeat, 4000), Tone::quiet, colour) +
         "\n";
}

std::string explained_failures(const Report& report, const std::vector<Explanation>& explanations,
                               bool colour, std::size_t width, bool verbose) {
  std::map<std::string, const Block*> first;  // by what fails, and how
  const std::vector<Block> blocks = blocks_of(report, explanations);
  std::string text;
  for (const Block& block : blocks) {
    const auto [place, is_new] =
        first.try_emplace(block.fixture + "\n" + block.likeness(), &block);
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
