// The program: parses the command line and runs one command. Each command has its own file.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <sys/resource.h>

namespace prenorm::harness {
namespace {

int complain(const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: %s\n", printable(what, 2000).c_str());
  return 2;
}

/// Commands that only the checkout's launcher has.
bool is_launchers(const std::string& word) { return word == "test"; }

/// CLI11's message for an unknown command suggests no similar name; this one does. `before` is the
/// command line so far: "prenorm", "prenorm fixtures".
std::optional<std::string> unknown_command(const Arguments& app, std::span<char*> words,
                                           const std::string& before = "prenorm") {
  if (words.empty() || words[0][0] == '-') return std::nullopt;
  if (app.takes_words()) return std::nullopt;
  const std::string word = words[0];
  const std::vector<std::string> names = app.commands();
  if (std::ranges::find(names, word) != names.end()) {
    return unknown_command(app.command(word), words.subspan(1), before + " " + word);
  }
  if (names.empty()) return std::nullopt;  // a command without commands of its own
  if (is_launchers(word)) return "'test' is a command of ./prenorm in the checkout";
  return "no command '" + word + "'" + did_you_mean(word, names) + "; " + before +
         " --help lists them";
}

/// A shell's `*` makes an option of a file that is called so, which anybody may hand in.
std::optional<std::string> file_as_option(std::span<char*> words) {
  for (const std::string word : words) {
    if (word == "--") break;
    std::error_code ignored;
    const bool is_file = word.size() > 1 && word[0] == '-' &&
                         std::filesystem::exists(std::filesystem::symlink_status(word, ignored));
    if (is_file) {
      return "'" + printable(word, 255) +
             "' is a file or folder here, and would be taken for an option: use ./* in place of *";
    }
  }
  return std::nullopt;
}

int run(int argc, char** argv) {
  Arguments app("Check, grade and time solutions against the cases stored in fixture files",
                "prenorm");
  app.set_version("prenorm " + std::string(program_version()));
  app.require_subcommand(1, 1);
  app.footer(
      "Examples:\n"
      "  prenorm verify                            check every solution against every fixture\n"
      "  prenorm verify --solution ./libmine.so    check your own library\n"
      "  prenorm grade ./mine                      run a submission in a sandbox and score it\n"
      "  prenorm list                              list the problems; prenorm show PROBLEM: "
      "details\n"
      "  prenorm study                             build a site that explains each component\n\n"
      "Run prenorm COMMAND --help for the options of a command.");
  Action chosen;
  add_verify(app, chosen);
#if !defined(PRENORM_ONLY_CHECKS)  // bin/prenorm-check is built without these
  add_grade(app, chosen);
  add_watch(app, chosen);
  add_hint(app, chosen);
  add_gradescope(app, chosen);
  add_gradebook(app, chosen);
  add_bench(app, chosen);
  add_profile(app, chosen);
  add_list(app, chosen);
  add_show(app, chosen);
#endif
  add_fixtures(app, chosen);
  add_mistakes(app, chosen);
  add_diff(app, chosen);
#if !defined(PRENORM_ONLY_CHECKS)
  add_emulate(app, chosen);
  add_new(app, chosen);
  add_doctor(app, chosen);
  add_study(app, chosen);
#endif

  const std::span words(argv, static_cast<std::size_t>(argc));
  if (words.size() < 2) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  if (const auto complaint = unknown_command(app, words.subspan(1))) return complain(*complaint);
  if (const auto complaint = file_as_option(words.subspan(1))) return complain(*complaint);
  try {
    if (const auto code = app.parse(argc, argv)) return *code;  // --help, --version
    const int code = chosen();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return complain("cannot write to standard output");
    return code;
  } catch (const std::exception& error) {
    return complain(error.what());
  }
}

/// Each open fixture file has a child process, and so two descriptors; the usual soft limit is
/// 1024.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace prenorm::harness

int main(int argc, char** argv) {
  // Cases run in parallel, so each worker gets one thread unless the environment says otherwise.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  ::setenv("OMP_NUM_THREADS", "1", 0);
  prenorm::harness::allow_many_files();
  return prenorm::harness::run(argc, argv);
}
