// Hints on a failing case, from vague to plain and never the solution, and the one screen that
// `prenorm watch` shows.
#pragma once

#include "watch/history.hpp"

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

struct ScreenState {
  std::string path;       // as it was typed
  std::string saved;      // the file that was saved last; empty at the beginning
  std::string complaint;  // why the last grading gave no report
  std::string formula;    // of the first failure's problem
  std::string running;    // what goes on at the moment; empty: all has been answered
  double seconds = 0;     // from the save to the first answer
  std::size_t hints = 0;  // how many have been asked for
  bool colour = false;
  std::size_t width = 0;  // 0: lines of any length
};

/// Lines that fit `width`.
std::string screen_text(const History& history, const ScreenState& state);

}  // namespace prenorm::harness
