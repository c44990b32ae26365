#include "watch/hints.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "fixture/selection.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

/// Where to begin with a case that no known mistake explains.
std::string first_look(const WatchedCase& failing) {
  switch (failing.status) {
    case Status::incorrect_numerical:
      return "Work this case out by hand for one element: " + failing.shapes;
    case Status::incorrect_shape:
    case Status::incorrect_dtype:
      return "Which shape and type should the result have? " + failing.shapes;
    case Status::input_mutated: return "Which line writes to an input?";
    default:
      return "Read the case's message: where does the call stop, and what is special about this "
             "case? " +
             failing.shapes;
  }
}

}  // namespace

std::vector<std::string> hint_ladder(const WatchedCase& failing, const WatchedCause* cause,
                                     const std::string& formula) {
  std::vector<std::string> ladder;
  if (cause != nullptr && !cause->hint.empty()) {
    ladder.push_back(cause->hint);
  } else {
    ladder.push_back(first_look(failing));
  }
  if (cause != nullptr && !cause->does.empty()) {
    ladder.push_back("Your outputs are those of this code: " + cause->does);
  } else if (cause != nullptr && !cause->lacking.empty()) {
    ladder.push_back("What is wrong with the outputs: " + joined(cause->lacking, "; ") + ".");
  }
  if (!formula.empty()) ladder.push_back("The formula: " + formula);
  return ladder;
}

std::vector<std::string> hint_lines(const std::vector<std::string>& ladder, std::size_t shown) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(shown, ladder.size()); ++i) {
    lines.push_back(fmt::format("hint {} of {}: {}", i + 1, ladder.size(), ladder[i]));
  }
  return lines;
}

std::string formula_of(const std::string& problem, const std::vector<std::string>& fixtures) {
  std::string source;
  try {
    const File file = open_problem(problem, {.fixtures = fixtures, .only_shipped = true});
    if (file.fixture) source = file.fixture->source();
  } catch (const UsageError&) {  // a fixture that is gone
  }
  return source.substr(0, source.find(';'));  // what follows says where a constant comes from
}

}  // namespace prenorm::harness
