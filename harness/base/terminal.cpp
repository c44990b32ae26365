#include "base/terminal.hpp"

#include "base/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace prenorm::harness {

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

Progress::Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& line) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(80);
  // 78 columns fit every terminal: a wrapped line could not be erased.
  std::fprintf(stderr, "\r\x1b[K%s", shortened(printable(line), 78).c_str());
  std::fflush(stderr);
  visible_ = true;
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (visible_) std::fputs("\r\x1b[K", stderr);
  visible_ = false;
}

}  // namespace prenorm::harness
