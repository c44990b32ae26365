#include "base/terminal.hpp"

#include "base/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

// Of the whole program: of work in several parts, each shorter than a minute, some line is printed.
std::mutex progress_mutex;
Clock::time_point last_progress = Clock::now();

Clock::duration progress_interval(bool on_terminal) {
  if (on_terminal) return std::chrono::milliseconds(80);
  const char* seconds = std::getenv("PRENORM_PROGRESS_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 60 : std::atoi(seconds));
}

}  // namespace

bool wants_colour(bool no_color_option) {
  const char* forbidden = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return !no_color_option && (forbidden == nullptr || *forbidden == '\0') && !dumb &&
         ::isatty(STDOUT_FILENO) == 1;
}

std::size_t terminal_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    const long count = std::strtol(columns, nullptr, 10);
    if (count > 0) return static_cast<std::size_t>(count);
  }
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Progress::Progress()
    : on_terminal_(::isatty(STDERR_FILENO) == 1), interval_(progress_interval(on_terminal_)) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& line) {
  const std::lock_guard lock(progress_mutex);
  line_ = printable(line);
  print_if_due();
  if (on_terminal_ || interval_ == Clock::duration::zero() || clock_.joinable()) return;
  clock_ = std::jthread([this](const std::stop_token& ended) {
    std::unique_lock locked(progress_mutex);
    while (!ended.stop_requested()) {
      wake_.wait_until(locked, ended, last_progress + interval_, [] { return false; });
      if (!ended.stop_requested()) print_if_due();
    }
  });
}

void Progress::print_if_due() {
  const auto now = Clock::now();
  const bool first = on_terminal_ && !visible_;
  if (!first && now - last_progress < interval_) return;
  last_progress = now;
  // 78 columns fit every terminal: a wrapped line could not be erased.
  const std::string text =
      on_terminal_ ? "\r\x1b[K" + shortened(line_, 78) : "prenorm: " + line_ + "\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  visible_ = on_terminal_;
}

void Progress::clear() {
  std::jthread ended;  // and joined after the lock is given back
  const std::lock_guard lock(progress_mutex);
  ended.swap(clock_);
  if (visible_) std::fputs("\r\x1b[K", stderr);
  visible_ = false;
}

}  // namespace prenorm::harness
