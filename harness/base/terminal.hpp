// The terminal: colour, width, output, progress.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace prenorm::harness {

/// Colour on standard output: a terminal, neither --no-color nor NO_COLOR, and no TERM=dumb.
bool wants_colour(bool no_color_option);

/// Columns of the terminal that standard output is, or what COLUMNS says; 0 where neither is.
std::size_t terminal_width();

/// Writes to standard output.
void print(const std::string& text);

/// One line on standard error that is written over again and again, and gone in the end.
/// Nothing at all where standard error is no terminal. May be called from several threads.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& line);
  /// Takes the line away, so that other text may follow.
  void clear();

 private:
  bool shown_ = false;
  bool visible_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace prenorm::harness
