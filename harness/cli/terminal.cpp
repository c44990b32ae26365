#include "cli/terminal.hpp"

#include "cli/command.hpp"
#include "printable.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace prenorm::harness {

namespace fs = std::filesystem;

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

void require_writable(const std::string& path) {
  if (path == "-") return;
  std::error_code ignored;
  const auto kind = fs::status(path, ignored).type();
  const bool is_new = kind == fs::file_type::not_found;
  const bool is_plain =
      is_new || kind == fs::file_type::regular || kind == fs::file_type::directory;
  if (!is_plain) return;  // a pipe's reader would take the trial for the end
  const bool opened = std::ofstream(path, std::ios::binary | std::ios::app).is_open();
  const int reason = errno;
  if (!opened) throw UsageError("cannot write " + path + ": " + std::strerror(reason));
  if (is_new) fs::remove(path, ignored);
}

void require_empty_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) {
    throw UsageError(folder.string() + ": that is a file; wanted a folder, empty or not yet there");
  }
  const bool empty = fs::is_empty(folder, error);
  if (error) throw UsageError(folder.string() + ": " + error.message());
  if (!empty) {
    throw UsageError(folder.string() +
                     ": the folder is not empty; wanted one that is, or not yet there");
  }
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    print(text);
    return;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw UsageError("cannot write " + path + ": " + std::strerror(errno));
}

void make_private(const std::string& path) {
  std::error_code ignored;
  // Of what is no plain file nothing is changed; a pipe's reader would take this for the end.
  if (path == "-" || fs::is_other(path, ignored)) return;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool done = file >= 0 && ::fchmod(file, 0600) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!done) throw UsageError("cannot write " + path + ": " + std::strerror(reason));
}

void write_private(const std::string& path, const std::string& text) {
  make_private(path);
  write_text(path, text);
}

Progress::Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& line) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(80);
  // 78 columns fit every terminal: a line that wraps could not be taken away.
  std::fprintf(stderr, "\r\x1b[K%.78s", printable(line).c_str());
  std::fflush(stderr);
  visible_ = true;
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (visible_) std::fputs("\r\x1b[K", stderr);
  visible_ = false;
}

}  // namespace prenorm::harness
