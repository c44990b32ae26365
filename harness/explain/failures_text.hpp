// What failed, and why, for a terminal.
#pragma once

#include "explain/collector.hpp"
#include "report/report.hpp"

namespace prenorm::harness {

/// One failing case: its status, name and sizes, what it is about, what went wrong, its numbers,
/// and the command that repeats it. `verbose`: every figure that was measured too.
std::string failing_case_text(const Result& result, const FailureText& told, bool colour,
                              std::size_t width, bool verbose);

/// Lines of cause_lines(), wrapped and indented.
std::string cause_text(const std::vector<std::string>& lines, std::size_t width);

/// A paragraph for each problem and solution that failed: the causes, then the simplest cases of
/// each cause, at most five, or all where `verbose`. What fails as the first solution fails is told
/// in a line.
std::string explained_failures(const Report& report, const std::vector<Explanation>& explanations,
                               bool colour, std::size_t width, bool verbose);

/// "repeat the first failure: ./prenorm verify ...", of the case that is shown first; empty where
/// none failed.
std::string repeat_line(const Report& report, const std::vector<Explanation>& explanations);

}  // namespace prenorm::harness
