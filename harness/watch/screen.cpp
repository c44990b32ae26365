#include "watch/screen.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "fixture/selection.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

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

constexpr std::size_t most_names = 6;  // of cases that changed

class ScreenLines {
 public:
  ScreenLines(bool colour, std::size_t width) : colour_(colour), width_(width) {}

  /// One line, wrapped between words; what follows the first line is indented further.
  void line(const std::string& text, const char* colour = "", std::size_t indent = 0) {
    std::istringstream words(text);
    std::string row(indent, ' '), word;
    bool begun = false;
    while (words >> word) {
      const std::size_t longer = display_width(row) + 1 + display_width(word);
      if (begun && width_ > 0 && longer > width_) {
        put(row, colour);
        row = std::string(indent + 2, ' ');
        begun = false;
      }
      row += (begun ? " " : "") + word;
      begun = true;
    }
    put(row, colour);
  }
  void gap() { text_ += "\n"; }
  std::string take() { return std::move(text_); }

 private:
  void put(const std::string& row, const char* colour) {
    const bool coloured = colour_ && *colour != '\0';
    text_ += coloured ? fmt::format("\033[{}m{}\033[0m\n", colour, row) : row + "\n";
  }

  bool colour_;
  std::size_t width_;
  std::string text_;
};

constexpr const char *good = "32", *bad = "31", *quiet = "2", *strong = "1";

/// "rmsnorm zero_row_float32, softmax ... and 3 more".
std::string names(const std::vector<const WatchedCase*>& cases) {
  std::vector<std::string> words;
  for (const WatchedCase* one : cases) {
    if (words.size() < most_names) words.push_back(one->problem + " " + one->name);
  }
  std::string text = joined(words);
  if (cases.size() > most_names) text += fmt::format(" and {} more", cases.size() - most_names);
  return text;
}

void add_counts(ScreenLines& text, const History& history) {
  std::vector<std::string> whole, unwritten;
  for (const History::ProblemCount& count : history.counts()) {
    if (!count.written) {
      unwritten.push_back(count.problem);
    } else if (count.passed == count.asked) {
      whole.push_back(fmt::format("{} {}", count.problem, count.asked));
    } else {
      const bool fails = count.passed + count.waiting < count.asked;
      const std::string line = fmt::format("{} {}: {} of {} cases pass", fails ? "✗" : "·",
                                           count.problem, count.passed, count.asked);
      const std::string rest = fmt::format(", {} that failed run next", count.waiting);
      text.line(count.waiting > 0 ? line + rest : line, fails ? bad : quiet);
    }
  }
  if (!whole.empty()) text.line("✓ " + joined(whole), good);
  if (!unwritten.empty()) text.line("· not written yet: " + joined(unwritten), quiet);
}

void add_changes(ScreenLines& text, const History& history) {
  const auto fixed = history.fixed(), broken = history.broken();
  if (fixed.empty() && broken.empty()) return;
  text.gap();
  if (!fixed.empty())
    text.line(fmt::format("passes now ({}): {}", fixed.size(), names(fixed)), good);
  if (!broken.empty()) text.line(fmt::format("broke ({}): {}", broken.size(), names(broken)), bad);
}

void add_failure(ScreenLines& text, const History& history, const ScreenState& state) {
  const WatchedCase* first = history.first_failure();
  if (first == nullptr) return;
  text.gap();
  text.line(
      fmt::format("first failure: {}, {} ({})", first->problem, first->name, name(first->status)),
      strong);
  if (!first->shapes.empty()) text.line(first->shapes, "", 2);
  for (const std::string& line : lines_of(first->message)) text.line(line, "", 2);
  const WatchedCause* cause = history.cause(first->problem);
  if (cause != nullptr && !cause->heading.empty()) text.line(cause->heading, "", 2);
  for (const std::string& line :
       hint_lines(hint_ladder(*first, cause, state.formula), state.hints)) {
    text.line(line, "", 2);
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
    const SelectedFixture file =
        open_problem(problem, {.fixtures = fixtures, .only_shipped = true});
    if (file.fixture) source = file.fixture->source();
  } catch (const UsageError&) {  // a fixture that is gone
  }
  return source.substr(0, source.find(';'));  // what follows says where a constant comes from
}

std::string screen_text(const History& history, const ScreenState& state) {
  ScreenLines text(state.colour, state.width);
  const Attempt& last = history.last();
  std::string head = "prenorm watch " + state.path;
  if (!last.kind.empty()) head += fmt::format(" ({}), {}", last.kind, last.rubric);
  if (!state.saved.empty()) head += "; saved " + state.saved;
  text.line(head, strong);
  text.gap();
  if (!state.complaint.empty()) {
    for (const std::string& line : lines_of(state.complaint)) text.line(line, bad);
  } else if (last.status != Status::passed) {
    text.line(std::string(name(last.status)), bad);
    for (const std::string& line : lines_of(last.message)) text.line(line, "", 2);
  } else if (!history.empty()) {
    add_counts(text, history);
    add_changes(text, history);
    add_failure(text, history, state);
  }
  text.gap();
  if (!state.running.empty()) {
    text.line(state.running, quiet);
  } else {
    text.line(fmt::format("answered in {}", duration(state.seconds)), quiet);
  }
  text.line("h: a hint   r: run again   q: quit", quiet);
  return text.take();
}

}  // namespace prenorm::harness
