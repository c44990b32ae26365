// The terminal: colour, width, output, progress.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <string>
#include <thread>

namespace prenorm::harness {

/// Whether to use colour: standard output is a terminal, and no --no-color, NO_COLOR or TERM=dumb.
bool wants_colour(bool no_color_option);

/// Columns of the terminal on standard output, or $COLUMNS; 0 if there is neither.
std::size_t terminal_width();

/// Writes to standard output.
void print(const std::string& text);

/// What long work is at, on standard error. A terminal has one line that is overwritten repeatedly
/// and erased at the end. Elsewhere the latest line is printed about once a minute from the
/// program's start on, also while nobody calls show(); $PRENORM_PROGRESS_SECONDS is another number
/// of seconds, with 0 every line is printed. May be called from several threads.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(Progress&&) = delete;  // nor copied

  void show(const std::string& line);
  /// Erases the line, so that other text may follow.
  void clear();

 private:
  void print_if_due();

  const bool on_terminal_;
  const std::chrono::steady_clock::duration interval_;
  bool visible_ = false;
  std::string line_;
  std::jthread clock_;  // prints while nobody calls show()
  std::condition_variable_any wake_;
};

}  // namespace prenorm::harness
