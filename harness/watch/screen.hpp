// What one grading said, and what is known of each case from one save to the next; hints on a
// failing case, from vague to plain and never the solution; and the one screen that `prenorm watch`
// shows.
#pragma once

#include "base/json.hpp"
#include "fixture/verdict.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace prenorm::harness {

/// One visible case of a report.
struct WatchedCase {
  std::string problem, name, shapes, message;
  Status status = Status::passed;
  std::int64_t elements = 0;  // how simple it is

  bool passed() const { return status == Status::passed; }
  bool written() const { return status != Status::not_implemented; }
};

/// What explains a problem's failures.
struct WatchedCause {
  std::string heading;               // "looks like no eps"
  std::string does;                  // what such code does; empty where no mistake explains it
  std::string hint;                  // a question
  std::vector<std::string> lacking;  // properties that the outputs lack
};

/// A report of `prenorm grade --json`.
struct Attempt {
  std::string kind, rubric;
  Status status = Status::passed;  // of the whole: a build that failed
  std::string message;
  std::vector<WatchedCase> cases;
  /// By problem. An empty one was looked for in vain.
  std::map<std::string, WatchedCause> causes;
  std::map<std::string, double> lost;  // points, by problem
};

/// Throws Json::exception for a text that is no such report.
Attempt attempt_of(const Json& report);

/// The verdicts on a submission while it changes.
class History {
 public:
  struct ProblemCount {
    std::string problem;
    std::size_t passed = 0, asked = 0;
    std::size_t waiting = 0;  // failed before the last save, and not run again yet
    bool written = false;     // some case found a function to call
  };

  /// A file was saved: verdicts from now on are compared with those of this moment.
  void saved();
  /// Adds a report's verdicts; of cases that it does not have, the earlier ones stay.
  void take(const Attempt& attempt);

  const Attempt& last() const { return last_; }
  bool empty() const { return now_.empty(); }
  /// One per problem, in the report's order.
  std::vector<ProblemCount> counts() const;
  /// Cases that failed at the last save and pass now, and the other way round.
  std::vector<const WatchedCase*> fixed() const;
  std::vector<const WatchedCase*> broken() const;
  /// The failing case to look at first: of `wanted`, of what just broke, else of the problem that
  /// loses the most points; the simplest with numbers to look at. What failed before the last save
  /// counts only until some case is run again. nullptr: none fails.
  const WatchedCase* first_failure(const std::string& wanted = "") const;
  /// The failing cases of written problems, the smallest first, at most `most`.
  std::vector<const WatchedCase*> failing(std::size_t most) const;
  /// What explains a problem's failures; nullptr where nothing is known.
  const WatchedCause* cause(const std::string& problem) const;

 private:
  using Key = std::pair<std::string, std::string>;

  std::vector<const WatchedCase*> changed(bool passes) const;
  /// Whether a case's verdict is of an earlier save, while there are later ones.
  bool waits(const Key& key) const;

  Attempt last_;
  std::vector<Key> order_;
  std::map<Key, WatchedCase> now_;
  std::map<Key, bool> before_;
  std::set<Key> old_;  // not run since the last save
  std::map<std::string, WatchedCause> causes_;
  std::map<std::string, double> lost_;
};

/// What to look at, what the outputs lack, the formula: each a hint of its own. `cause`: nullptr
/// where nothing is known. `formula`: formula_of() the problem.
std::vector<std::string> hint_ladder(const WatchedCase& failing, const WatchedCause* cause,
                                     const std::string& formula);

/// "hint 1 of 3: ..." for the first `shown` hints; if there are fewer, for all, and a line says so.
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
