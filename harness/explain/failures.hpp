// The failing cases of one problem by one solution: counts, causes, and the order in which they are
// shown. The same for every report.
#pragma once

#include "explain/causes.hpp"
#include "explain/error_map.hpp"
#include "fixture/verdict.hpp"

#include <tuple>

namespace prenorm::harness {

/// What is known of a failing case besides its result.
struct FailureText {
  std::string sizes, description, numbers;
  std::string hint;                  // on axes
  std::string snippet;               // lines of a program that shows the failure
  std::string alone;                 // what it does where nothing is called before it
  std::string not_repeated;          // why the command that repeats it may not: "passes by itself"
  bool refusal = false;              // the case must be refused
  bool late = false;                 // shown after others: it has no elements, or was not run
  std::size_t cause = Causes::none;  // one of the problem's diagnoses
  std::int64_t elements = 0;         // and what its largest whole number adds: how simple it is
  std::vector<ErrorMap> errors;      // of the simplest cases with wrong numbers
};

/// The text of a case with this result. Numbers, hint, snippet, cause and errors are added later.
FailureText failure_text(const Case& info, const Signature& signature, const Result& result);

/// "rms 0.6 of at most 0.5, bias 0.01 of at most 0.2": those that have limits.
std::string together_text(const OutputReport& output);

/// Of so many failing cases of a problem, errors are kept and shown as pictures; the others have
/// numbers.
inline constexpr std::size_t most_pictured = 8;

/// Failing cases that a report shows unless all are asked for.
inline constexpr std::size_t most_shown = 5;

struct FailingCase {
  const Result* result = nullptr;
  const FailureText* text = nullptr;  // nullptr where nothing is known besides the result
};

/// The smallest is the simplest: made by hand before all, then by elements, then those that show
/// little.
std::tuple<bool, bool, std::int64_t> simplicity(const FailingCase& failing);

struct Failures {
  std::vector<FailingCase> cases = {};                  // in the order in which they were added
  std::size_t asked = 0, hidden = 0, asked_hidden = 0;  // `hidden`: those that failed
  std::map<std::string, Failed> by_dtype = {};
  std::vector<CauseText> causes = {};  // of wrong numbers

  /// A case that was asked and is not hidden. `result` and `text` must outlive this.
  void add(const Result& result, const FailureText* text, bool failed);
  void add_hidden(bool failed);

  bool any() const { return !cases.empty() || hidden > 0; }
  /// Whether several cases were asked that are not hidden, and all failed with the same status and
  /// message.
  bool all_alike() const;
  /// Whether nothing but one message is known of all failing cases, as of a library that cannot be
  /// loaded.
  bool one_message() const;
  /// Whether no failing case had a function to call.
  bool none_ran() const;
  /// "5 of 31 cases failed, 2 of 23 hidden".
  std::string counts() const;

  /// What a case does alone; "answers 2 calls that it must refuse"; what the element types of
  /// failing cases say.
  std::vector<std::string> remarks() const;
  /// The causes and remarks as lines of text; first, where some cases failed otherwise, how many
  /// the causes are about.
  std::vector<std::string> lines() const;

  /// The cases, the simplest of each cause first. After two of each cause come the others.
  std::vector<FailingCase> simplest_first() const;
  /// How many of them, in that order, are shown where not all are: two of each cause, at most five.
  std::size_t shown_at_first() const;
};

/// Whether the case's function could be called.
bool has_run(Status status);

}  // namespace prenorm::harness
