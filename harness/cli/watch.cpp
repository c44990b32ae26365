// prenorm watch: grades a submission again on each save, and shows one screen.
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "grade/grade_settings.hpp"
#include "watch/screen.hpp"
#include "watch/wait.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <termios.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t asked_first = 12;  // failing cases that are answered before all others
constexpr int settling = 40;             // milliseconds without a change before a run begins

volatile std::sig_atomic_t interrupted = 0;

/// Keys come one by one and are not shown, while this lives, if standard input is a terminal.
class KeyboardMode {
 public:
  KeyboardMode() : is_terminal_(::tcgetattr(0, &before_) == 0) {
    if (!is_terminal_) return;
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(0, TCSANOW, &now);
  }
  ~KeyboardMode() {
    if (is_terminal_) ::tcsetattr(0, TCSANOW, &before_);
  }
  KeyboardMode(KeyboardMode&&) = delete;  // nor copied

 private:
  termios before_{};
  bool is_terminal_;
};

struct WatchOptions {
  std::string path, python;
  GradeSettings how;
  std::vector<std::string> problems, fixtures;
  bool no_color = false;
};

class Watcher {
 public:
  explicit Watcher(WatchOptions options) : options_(std::move(options)), changes_(options_.path) {
    screen_.path = options_.path;
    screen_.colour = wants_colour(options_.no_color);
  }

  int run();

 private:
  /// What failed before; then everything; then, if the first failure has not been explained, its
  /// problem once more.
  enum class Round { none, failing, all, explain };

  void start(Round round);
  void save(const fs::path& file);
  void finish();
  bool key(char pressed);  // false: quit
  void show();
  std::vector<std::string> arguments(Round round) const;
  bool is_unexplained() const;
  static const char* running_text(Round round);

  WatchOptions options_;
  FileChanges changes_;
  History history_;
  ScreenState screen_;
  Round round_ = Round::none;
  std::optional<GradingRun> grading_;
  Clock::time_point saved_ = Clock::now();
  bool answered_ = false;  // since the last save
  std::string shown_;
};

std::vector<std::string> Watcher::arguments(Round round) const {
  std::vector<std::string> words{options_.path, "--no-hidden", "--no-color"};
  const auto add = [&words](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--rubric", options_.how.rubric);
  add("--sandbox", options_.how.sandbox);
  add("--python", options_.python);
  for (const std::string& path : options_.fixtures) add("--fixtures", path);
  words.emplace_back("--quick");
  if (round == Round::failing) {
    for (const WatchedCase* one : history_.failing(asked_first)) {
      add("--problem", one->problem);
      add("--case", one->name);
    }
    return words;
  }
  if (round == Round::explain) {
    add("--problem", history_.first_failure()->problem);
  } else {
    for (const std::string& problem : options_.problems) add("--problem", problem);
  }
  add("--case", "*");  // what was built for the first round serves here too
  return words;
}

/// Whether nobody has looked for the cause of the first failure's wrong numbers: --quick explains
/// the first problem of the rubric that has any, which need not be the one that has just broken.
bool Watcher::is_unexplained() const {
  const WatchedCase* first = history_.first_failure();
  return first != nullptr && first->status == Status::incorrect_numerical && first->elements > 0 &&
         history_.cause(first->problem) == nullptr;
}

const char* Watcher::running_text(Round round) {
  switch (round) {
    case Round::failing: return "running what failed ...";
    case Round::all: return "running all cases ...";
    case Round::explain: return "looking for the mistake ...";
    case Round::none: break;
  }
  return "";
}

void Watcher::start(Round round) {
  grading_.reset();
  round_ = round;
  screen_.running = running_text(round);
  grading_.emplace(arguments(round));
}

void Watcher::save(const fs::path& file) {
  saved_ = Clock::now();
  answered_ = false;
  screen_.saved = file.string();
  screen_.hints = 0;
  history_.saved();
  start(history_.failing(1).empty() ? Round::all : Round::failing);
}

void Watcher::finish() {
  const GradingRun::Answer answer = grading_->finish();
  grading_.reset();
  screen_.complaint = answer.complaint;
  if (!answer.report.empty()) history_.take(attempt_of(parse_json(answer.report)));
  if (!answered_) {
    screen_.seconds = std::chrono::duration<double>(Clock::now() - saved_).count();
    answered_ = true;
  }
  const bool can_go_on = answer.complaint.empty() && history_.last().status == Status::passed;
  screen_.running.clear();
  const Round ended = std::exchange(round_, Round::none);
  if (ended == Round::failing && can_go_on) start(Round::all);
  if (ended == Round::all && can_go_on && is_unexplained()) start(Round::explain);
  show();
}

void Watcher::show() {
  screen_.width = terminal_width();
  const WatchedCase* first = history_.first_failure();
  const bool hinted = first != nullptr && screen_.hints > 0;
  screen_.formula = hinted ? formula_of(first->problem, options_.fixtures) : "";
  const std::string text = screen_text(history_, screen_);
  if (text == shown_) return;
  shown_ = text;
  const bool whole = ::isatty(1) != 0;
  print(whole ? "\033[H\033[2J\033[3J" + text : text + "\n");
  std::fflush(stdout);
}

bool Watcher::key(char pressed) {
  if (pressed == 'q') return false;
  if (pressed == 'h') ++screen_.hints;
  if (pressed == 'r') {
    saved_ = Clock::now();
    answered_ = false;
    start(Round::all);
  }
  if (pressed == 'h' || pressed == 'r') show();
  return true;
}

int Watcher::run() {
  const KeyboardMode keyboard;
  interrupted = 0;
  struct sigaction stop {};
  stop.sa_handler = [](int) { interrupted = 1; };  // poll() returns
  ::sigaction(SIGINT, &stop, nullptr);
  ::sigaction(SIGTERM, &stop, nullptr);
  start(Round::all);
  show();
  fs::path changed;
  bool keys = true;
  while (interrupted == 0) {
    std::array<pollfd, 3> waiting{{{changes_.descriptor(), POLLIN, 0},
                                   {keys ? 0 : -1, POLLIN, 0},
                                   {grading_ ? grading_->descriptor() : -1, POLLIN, 0}}};
    const Waited waited = wait_for(waiting, changed.empty() ? -1 : settling);
    if (waited == Waited::interrupted) continue;
    if (waited == Waited::in_vain) {
      save(std::exchange(changed, {}));
      show();
      continue;
    }
    if (const fs::path file = changes_.take(); !file.empty()) changed = file;
    if (waiting[1].revents != 0) {
      char pressed = 0;
      keys = ::read(0, &pressed, 1) == 1;
      if (keys && !key(pressed)) return 0;
    }
    if (waiting[2].revents != 0 && grading_) finish();
  }
  return 130;
}

int watch(const WatchOptions& options) {
  if (!fs::exists(options.path)) throw UsageError("no file or folder " + options.path);
  return as_usage<std::system_error>([&] { return Watcher(options).run(); });
}

}  // namespace

Command watch_command() {
  const auto options = std::make_shared<WatchOptions>();
  WatchOptions& o = *options;
  return {
      .name = "watch",
      .description = "Grade a submission again on each save",
      .options = {{"PATH TEXT", o.path,
                   "A submission, as `prenorm grade` takes it: a folder or a file",
                   Trait::required},
                  {"--problem NAME", o.problems, "Only these problems (names or globs)"},
                  setting_option("--rubric", o.how),
                  {"--fixtures PATH", o.fixtures,
                   "Fixture files or folders (default: the shipped ones)"},
                  setting_option("--sandbox", o.how),
                  {"--python PATH", o.python,
                   "Interpreter for Python submissions (default: as `prenorm grade` takes it)"},
                  no_color_option(o.no_color)},
      .footer =
          R"(After each save, the cases that failed run first, then all visible cases. The screen shows
what passes now, what broke, and the first failure with its shapes, its worst element and
the likely mistake, which may follow a second later. Press h for a hint; each press gives
a plainer one, never the solution.

Examples:
  prenorm watch ./mine                    everything that the rubric asks
  prenorm watch ./mine --problem PROBLEM  one function at a time

Exit code: 0 after q, 130 after Ctrl-C, 2 an invalid option or file)",
      .run = [options] { return watch(*options); }};
}

}  // namespace prenorm::harness
