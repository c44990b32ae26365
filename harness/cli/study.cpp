// prenorm study: the static site of notebooks, built by notebooks/study/build.py.
#include "base/text.hpp"
#include "base/paths.hpp"
#include "cli/commands.hpp"
#include "grade/grade_settings.hpp"
#include "solution/solution.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// Replaces this process by the builder, which gets all arguments, --help too.
int study(std::vector<std::string> words) {
  const fs::path builder = home() / "share/prenorm/notebooks/study/build.py";
  if (!fs::exists(builder)) throw UsageError(builder.string() + ": not found");
  std::error_code ignored;
  ::setenv("PRENORM_HOME", fs::absolute(home(), ignored).c_str(), 1);
  // Debian's has the packages that the builder needs. Looked for now: what was built when there was
  // no Python finds one that was installed later.
  const std::string python = fs::exists(system_python) ? system_python : "python3";
  // -B: write no bytecode into an installation.
  words.insert(words.begin(), {python, "-B", builder.string()});
  become(words);
}

}  // namespace

void become(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw UsageError(words[0] + ": " + std::strerror(errno));
}

Command study_command() {
  const auto words = std::make_shared<std::vector<std::string>>();
  return {.name = "study",
          .description = "Build a site that explains each component, with its code side by side",
          .run = [words] { return study(*words); },
          .all_words = words.get()};  // the builder has a --help of its own
}

}  // namespace prenorm::harness
