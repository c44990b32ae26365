// The terminal: colour, width, output, progress.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace prenorm::harness {

/// Whether to use colour: standard output is a terminal, and no --no-color, NO_COLOR or TERM=dumb.
bool wants_colour(bool no_color_option);

/// Columns of the terminal on standard output, or $COLUMNS; 0 if there is neither.
std::size_t terminal_width();

/// Writes to standard output.
void print(const std::string& text);

/// One line on standard error that is overwritten repeatedly and erased at the end.
/// Prints nothing if standard error is not a terminal. May be called from several threads.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(Progress&&) = delete;  // nor copied

  void show(const std::string& line);
  /// Erases the line, so that other text may follow.
  void clear();

 private:
  bool shown_ = false;
  bool visible_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace prenorm::harness
