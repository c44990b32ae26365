// prenorm study: the static site of notebooks, built by notebooks/study/build.py.
#include "base/error.hpp"
#include "base/home.hpp"
#include "cli/command.hpp"
#include "solution/solution.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// Becomes the builder, which takes all words, --help included. Returns only by a throw.
int study(std::vector<std::string> words) {
  const fs::path builder = home() / "share/prenorm/notebooks/study/build.py";
  if (!fs::exists(builder)) throw UsageError(builder.string() + ": no notebooks there");
  std::error_code ignored;
  ::setenv("PRENORM_HOME", fs::absolute(home(), ignored).c_str(), 1);
  const std::string python = PRENORM_PYTHON;
  // -B: an installation is no place for caches.
  words.insert(words.begin(), {python, "-B", builder.string()});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw UsageError(python + ": " + std::strerror(errno));
}

}  // namespace

void add_study(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "study", "Every component's notebook, with its code side by side, as a site");
  command.set_help_flag();  // the builder has its own
  command.prefix_command();
  command.callback(
      [&command, &chosen] { chosen = [words = command.remaining()] { return study(words); }; });
}

}  // namespace prenorm::harness
