// Progress where standard error is no terminal. How a terminal has it: what tests of commands see.
#include "base/terminal.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace prenorm::harness;

namespace {

/// Standard error, read through a pipe while this lives.
class ErrorPipe {
 public:
  ErrorPipe() {
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    reader_ = ::fdopen(ends[0], "r");
  }
  ~ErrorPipe() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    std::fclose(reader_);
  }

  /// The next line, for which this waits; empty where nothing more can come.
  std::string line() {
    char text[200] = "";
    return std::fgets(text, sizeof text, reader_) == nullptr ? "" : text;
  }
  void end() { ::dup2(before_, STDERR_FILENO); }

 private:
  int before_ = ::dup(STDERR_FILENO);
  std::FILE* reader_ = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(terminal)

BOOST_AUTO_TEST_CASE(the_latest_line_comes_by_itself) {
  ::setenv("PRENORM_PROGRESS_SECONDS", "1", 1);
  ErrorPipe error;
  Progress progress;
  progress.show("first");
  progress.show("second\n");
  std::string line = error.line();
  if (line == "prenorm: first\n") line = error.line();  // on a slow machine
  BOOST_TEST(line == "prenorm: second\\n\n");
  BOOST_TEST(error.line() == "prenorm: second\\n\n");
  progress.show("third");
  while (line != "prenorm: third\n") line = error.line();
  progress.clear();
  error.end();
  while (!line.empty()) line = error.line();  // nothing prints any more: the pipe has ended
}

BOOST_AUTO_TEST_CASE(nothing_is_printed_before_it_is_time) {
  ::unsetenv("PRENORM_PROGRESS_SECONDS");
  ErrorPipe error;
  {
    Progress progress;
    progress.show("first");
  }
  error.end();
  BOOST_TEST(error.line() == "");
}

BOOST_AUTO_TEST_SUITE_END()
