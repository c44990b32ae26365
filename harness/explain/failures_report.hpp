// What failed, and why: for a terminal and on a page.
#pragma once

#include "base/json.hpp"
#include "explain/collector.hpp"

namespace prenorm::harness {

/// One failing case: its status, name and sizes, what it is about, what went wrong, its numbers,
/// and the command that repeats it. `verbose`: every figure that was measured too.
std::string failing_case_text(const Result& result, const FailureText& text, bool colour,
                              std::size_t width, bool verbose);

/// Lines of Failures::lines(), wrapped and indented.
std::string cause_text(const std::vector<std::string>& lines, std::size_t width);

/// A paragraph for each problem and solution that failed: the causes, then the simplest cases of
/// each cause, at most five, or all where `verbose`. What fails as the first solution fails has one
/// line.
std::string explained_failures(const Report& report, const std::vector<Explanation>& explanations,
                               bool colour, std::size_t width, bool verbose);

/// "repeat the first failure: ./prenorm verify ...", of the case that is shown first; empty where
/// none failed.
std::string repeat_line(const Report& report, const std::vector<Explanation>& explanations);

/// A page that needs nothing beside itself: the table, then for each problem and solution that
/// failed the causes and the failing cases, with numbers, pictures and commands.
std::string explained_html(const Report& report, const std::vector<Explanation>& explanations);

/// What a status means, for somebody who sees it for the first time.
std::string_view meaning_of(Status status);

/// A case in a list of a page.
Json case_values(const Result& result, const FailureText& text);

/// All that a page shows of a failing case, numbers and pictures too: what case.mustache takes.
Json failing_case_values(const Result& result, const FailureText& text, bool open);

/// Causes as causes.mustache shows them; null where there are none.
Json cause_values(const std::vector<CauseText>& causes);

}  // namespace prenorm::harness
