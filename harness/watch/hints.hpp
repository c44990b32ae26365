// Hints on a failing case, from vague to plain; never the solution.
#pragma once

#include "watch/attempt.hpp"

namespace prenorm::harness {

/// What to look at, what the outputs lack, the formula: each a hint of its own. `cause`: nullptr
/// where nothing is known. `formula`: formula_of() the problem.
std::vector<std::string> hint_ladder(const WatchedCase& failing, const WatchedCause* cause,
                                     const std::string& formula);

/// "hint 1 of 3: ..." for the first `shown` hints, or for all if there are fewer.
std::vector<std::string> hint_lines(const std::vector<std::string>& ladder, std::size_t shown);

/// The formula that a problem's fixture names as its source. `fixtures`: files or folders; empty:
/// the shipped ones. Empty without such a fixture.
std::string formula_of(const std::string& problem, const std::vector<std::string>& fixtures);

}  // namespace prenorm::harness
