#include "watch/screen.hpp"

#include "base/text.hpp"
#include "explain/causes.hpp"
#include "fixture/selection.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <tuple>

namespace prenorm::harness {
namespace {

WatchedCase case_of(const Json& result) {
  WatchedCase found;
  result.at("problem").get_to(found.problem);
  result.at("case").get_to(found.name);
  result.at("message").get_to(found.message);
  found.status = result.at("status").get<Status>();
  if (result.at("shapes").is_string()) result.at("shapes").get_to(found.shapes);
  found.elements = result.value("elements", std::int64_t{0});
  return found;
}

/// "Your code leaves eps out: ...", without what it should do.
std::string what_it_does(const std::string& sentence) {
  return sentence.substr(0, sentence.find(" It should "));
}

void add_clues(const Json& item, bool parts, std::map<std::string, WatchedCause>& causes) {
  for (const Json& clue : item.at("clues")) {
    if ((clue.at("law") == part_is_wrong) != parts) continue;
    WatchedCause& cause = causes[clue.at("problem").get<std::string>()];
    if (!cause.heading.empty()) continue;
    clue.at("text").at(0).get_to(cause.heading);
    if (clue.at("text").size() > 1) clue.at("text").at(1).get_to(cause.does);
  }
}

void add_causes(const Json& item, std::map<std::string, WatchedCause>& causes) {
  add_clues(item, true, causes);  // all else may come from a part that is wrong
  for (const Json& diagnosis : item.at("diagnoses")) {
    const auto problem = diagnosis.at("problem").get<std::string>();
    WatchedCause& cause = causes[problem];
    if (!cause.heading.empty()) continue;  // the one that explains most is first
    const MistakeWords& words = words_of(problem, diagnosis.at("mistake").get<std::string>());
    cause.heading = "looks like " + words.name;
    cause.does = what_it_does(words.sentence);
    cause.hint = words.hint;
  }
  add_clues(item, false, causes);
  for (const Json& problem : item.at("undiagnosed")) causes[problem.get<std::string>()];
  for (const Json& property : item.at("properties")) {
    causes[property.at("problem").get<std::string>()].lacking.push_back(
        property.at("property").get<std::string>());
  }
}

/// Smaller is easier to look at; cases without numbers (an error, nothing compared) come last.
auto size_of(const WatchedCase& one) {
  return std::tuple(one.status != Status::incorrect_numerical, one.elements);
}

bool smaller(const WatchedCase* a, const WatchedCase* b) { return size_of(*a) < size_of(*b); }

}  // namespace

Attempt attempt_of(const Json& report) {
  Attempt attempt;
  report.at("kind").get_to(attempt.kind);
  report.at("rubric").get_to(attempt.rubric);
  report.at("message").get_to(attempt.message);
  attempt.status = report.at("status").get<Status>();
  for (const Json& result : report.at("results")) attempt.cases.push_back(case_of(result));
  for (const Json& item : report.at("items")) {
    add_causes(item, attempt.causes);
    for (const Json& problem : item.at("problems")) {
      attempt.lost[problem] = item.at("points").get<double>() - item.at("earned").get<double>();
    }
  }
  return attempt;
}

void History::saved() {
  for (const auto& [key, one] : now_) {
    before_[key] = one.passed();
    old_.insert(key);
  }
}

void History::take(const Attempt& attempt) {
  last_ = attempt;
  last_.cases.clear();
  for (const WatchedCase& one : attempt.cases) {
    const Key key{one.problem, one.name};
    if (!now_.contains(key)) order_.push_back(key);
    now_[key] = one;
    old_.erase(key);
    causes_.erase(one.problem);
  }
  for (const auto& [problem, cause] : attempt.causes) causes_[problem] = cause;
  for (const auto& [problem, points] : attempt.lost) lost_[problem] = points;
}

std::vector<History::ProblemCount> History::counts() const {
  std::vector<ProblemCount> all;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    auto found = std::ranges::find(all, one.problem, &ProblemCount::problem);
    if (found == all.end()) found = all.insert(all.end(), ProblemCount{one.problem});
    ++found->asked;
    found->passed += one.passed() ? 1 : 0;
    found->waiting += !one.passed() && waits(key) ? 1 : 0;
    found->written = found->written || one.written();
  }
  return all;
}

bool History::waits(const Key& key) const {
  return old_.size() < now_.size() && old_.contains(key);
}

std::vector<const WatchedCase*> History::changed(bool passes) const {
  std::vector<const WatchedCase*> found;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    const auto earlier = before_.find(key);
    if (earlier != before_.end() && earlier->second != passes && one.passed() == passes) {
      found.push_back(&one);
    }
  }
  return found;
}

std::vector<const WatchedCase*> History::fixed() const { return changed(true); }
std::vector<const WatchedCase*> History::broken() const { return changed(false); }

std::vector<const WatchedCase*> History::failing(std::size_t most) const {
  std::vector<const WatchedCase*> found;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    if (!one.passed() && one.written()) found.push_back(&one);
  }
  std::ranges::stable_sort(found, smaller);
  if (found.size() > most) found.resize(most);
  return found;
}

const WatchedCase* History::first_failure(const std::string& wanted) const {
  const std::vector<const WatchedCase*> news = broken();
  std::string problem;
  double most = -1;
  for (const Key& key : order_) {
    const WatchedCase& one = now_.at(key);
    if (one.passed() || !one.written() || waits(key)) continue;
    const auto lost = lost_.find(one.problem);
    const double points = lost == lost_.end() ? 0 : lost->second;
    if (points > most) problem = one.problem;
    most = std::max(most, points);
  }
  if (!news.empty()) problem = news.front()->problem;
  if (!wanted.empty()) problem = wanted;
  for (const WatchedCase* one : failing(now_.size())) {
    if (one->problem == problem && !waits({one->problem, one->name})) return one;
  }
  return nullptr;
}

const WatchedCause* History::cause(const std::string& problem) const {
  const auto found = causes_.find(problem);
  return found == causes_.end() ? nullptr : &found->second;
}

namespace {

/// Elements of a call that a person can work out.
constexpr std::int64_t most_by_hand = 64;

/// Where to begin with a case that no known mistake explains.
std::string first_look(const WatchedCase& failing) {
  switch (failing.status) {
    case Status::incorrect_numerical:
      return (failing.elements <= most_by_hand
                  ? "Work this case out by hand for one element: "
                  : "Which elements are wrong, and what is special about them? ") +
             failing.shapes;
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
  text.gap();
  if (first == nullptr && state.hints > 0) text.line("no case fails: there is no hint");
  if (first == nullptr) return;
  text.line(
      fmt::format("first failure: {}, {} ({})", first->problem, first->name, name(first->status)),
      strong);
  if (!first->shapes.empty()) text.line(first->shapes, "", 2);
  for (const std::string& line : lines_of(first->message)) text.line(line, "", 2);
  const WatchedCause* cause = history.cause(first->problem);
  if (cause != nullptr && !cause->heading.empty()) text.line(cause->heading, "", 2);
  const std::vector<std::string> ladder = hint_ladder(*first, cause, state.formula);
  for (const std::string& line : hint_lines(ladder, state.hints)) text.line(line, "", 2);
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
    ladder.push_back("By its outputs: " + cause->does);
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
  if (shown > ladder.size()) lines.emplace_back("there is no further hint");
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
