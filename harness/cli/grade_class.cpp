#include "cli/grade_class.hpp"

#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

std::string progress_line(const ClassState& state) {
  constexpr std::size_t width = 20;
  const std::size_t done = state.finished();
  const std::size_t filled = state.todo == 0 ? width : width * done / state.todo;
  std::string text = fmt::format("[{:-<{}}] {}/{}, {} with failures", std::string(filled, '#'),
                                 width, done, state.todo, state.with_failures);
  if (!state.failures.empty()) text += fmt::format(", {} not graded", state.failures.size());
  if (done > state.at_begin && done < state.todo) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - state.begun;
    const double left = since.count() / static_cast<double>(done - state.at_begin) *
                        static_cast<double>(state.todo - done);
    text += fmt::format(", about {} left", left < 90 ? fmt::format("{:.0f} s", left)
                                                     : fmt::format("{:.0f} min", left / 60));
  }
  return text;
}

int conclude(const ClassResult& result, const std::string& gradebook) {
  const ClassState& state = result.state;
  print(fmt::format("{}: {} graded, {} unchanged, {} not graded\n",
                    counted(state.submissions, "submission"), state.graded,
                    state.submissions - state.todo, state.failures.size()));
  for (const auto& [name, why] : state.failures) {
    print("not graded: " + printable(name + ": " + why) + "\n");
  }
  if (!state.failures.empty()) print("the same command tries these again\n");
  print("table and reports: prenorm gradebook " + shell_word(gradebook) + "\n");
  if (!state.failures.empty()) return 2;
  if (!result.passed && !result.failed) return 3;  // as exit_code() of one submission
  return result.failed || result.skipped ? 1 : 0;
}

}  // namespace

int run_class(const std::vector<std::string>& submissions, const GradeSettings& settings,
              const ClassOptions& options) {
  Progress progress;
  ClassEvents events;
  events.progress = [&](const ClassState& state) { progress.show(progress_line(state)); };
  // A terminal shows the progress line; a log gets one line for each.
  events.done = [&](const ClassState& state, const std::string& line) {
    if (::isatty(STDERR_FILENO) == 1) {
      events.progress(state);
    } else {
      fmt::print(stderr, "[{}/{}] {}\n", state.finished(), state.todo, printable(line, 300));
    }
  };
  events.say = [&](const std::string& line) {
    progress.clear();
    fmt::print(stderr, "prenorm: {}\n", printable(line, 1000));
  };
  const ClassResult result = grade_class(submissions, settings, options, events);
  progress.clear();
  return conclude(result, options.gradebook);
}

}  // namespace prenorm::harness
