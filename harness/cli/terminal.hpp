// What the commands share of the terminal: colour, progress, files to write.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>

namespace prenorm::harness {

/// Colour on standard output: a terminal, neither --no-color nor NO_COLOR, and no TERM=dumb.
bool wants_colour(bool no_color_option);

/// Columns of the terminal that standard output is, or what COLUMNS says; 0 where neither is.
std::size_t terminal_width();

/// Writes to standard output.
void print(const std::string& text);

/// Throws UsageError where write_text() could not write there.
void require_writable(const std::string& path);

/// Throws UsageError unless it is an empty folder, or none yet.
void require_empty_folder(const std::filesystem::path& folder);

/// Writes the text to the file, or to standard output where the path is "-". Throws UsageError.
void write_text(const std::string& path, const std::string& text);

/// The same for what no other user may read: the file has mode 0600 before anything is in it,
/// also where it was there already.
void write_private(const std::string& path, const std::string& text);

/// Makes the file where there is none, and gives it mode 0600; nothing for "-" and what is no plain
/// file (a pipe). Throws UsageError.
void make_private(const std::string& path);

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
