// Failing problems as annotations of a job of GitHub Actions: lines of the log that its runner
// reads.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "grade/report_parts.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// GitHub shows so many errors of one step.
constexpr std::size_t most_annotated = 10;

/// As the runner undoes it: what comes after "::".
std::string escaped_data(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '%': escaped += "%25"; break;
      case '\r': escaped += "%0D"; break;
      case '\n': escaped += "%0A"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

/// The same for the value of a property, which ':' and ',' would end.
std::string escaped_property(std::string_view text) {
  std::string escaped;
  for (const char c : escaped_data(text)) {
    switch (c) {
      case ':': escaped += "%3A"; break;
      case ',': escaped += "%2C"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string error_line(const std::string& title, const std::string& message) {
  return "::error title=" + escaped_property(title) + "::" + escaped_data(message) + "\n";
}

std::string title_of(const std::string& problem, const Failures& failed) {
  return printable(problem, 100) + ": " + failed.counts();
}

std::string message_of(const Failures& failed) {
  std::string text;
  for (const std::string& line : failed.lines()) text += line + "\n";
  if (!failed.cases.empty()) {
    const Result& result = *failed.simplest_first().front().result;
    text += std::string(name(result.status)) + "  " +
            (failed.all_alike() ? "in all" : printable(result.case_name.value_or(""))) + "\n";
    if (!result.message.empty()) text += printable(result.message) + "\n";
    text += "repeat: " + printable(result.repeat, 4000);
  } else {
    text += "only hidden cases failed: other values or other sizes than those that can be seen";
  }
  return text;
}

}  // namespace

std::string grade_annotations(const Grading& grading) {
  if (grading.status != Status::passed) {
    return error_line(printable(grading.submission, 100) + ": " + std::string(name(grading.status)),
                      joined(message_lines(grading), "\n"));
  }
  std::vector<std::string> lines;
  for (const GradedItem& item : grading.items) {
    for (const std::string& problem : item.problems) {
      const Failures failed = failures_of(item, problem);
      if (!failed.any()) continue;
      lines.push_back(error_line(title_of(problem, failed), message_of(failed)));
    }
  }
  std::string text;
  const bool too_many = lines.size() > most_annotated;
  const std::size_t told = too_many ? most_annotated - 1 : lines.size();
  for (std::size_t i = 0; i < told; ++i) text += lines[i];
  if (too_many) {
    text += error_line(fmt::format("{} more problems failed", lines.size() - told),
                       "GitHub shows 10 errors of a step; the log has them all");
  }
  return text;
}

}  // namespace prenorm::harness
