// prenorm completion: what completes the words of a command line, in the shells' own languages.
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"

namespace prenorm::harness {
namespace {

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> words;  // after --, the last of them unfinished
};

/// Prints the shell's script, which is a file; or starts the one that all of them ask for words.
int complete(const CompletionOptions& options) {
  const fs::path data = home() / "share/prenorm", scripts = data / "completion";
  if (!options.words.empty()) {
    std::vector<std::string> words{"sh", scripts / "words.sh", home() / "bin/prenorm", data,
                                   home() / "lib/prenorm"};
    words.insert(words.end(), options.words.begin(), options.words.end());
    become(words);
  }
  if (options.shell.empty()) throw UsageError("completion: it takes a shell: bash, zsh or fish");
  const fs::path script = scripts / ("prenorm." + options.shell);
  const auto text = read_whole(script);
  if (!text) throw UsageError(script.string() + ": cannot be read");
  print(*text);
  return 0;
}

}  // namespace

Command completion_command() {
  const auto options = std::make_shared<CompletionOptions>();
  CompletionOptions& o = *options;
  return {
      .name = "completion",
      .description = "Print a script that completes commands, options and names in a shell",
      .options = {{"SHELL", o.shell, "The shell", OneOf{"bash", "zsh", "fish"}}},
      .footer =
          R"~(The script is the same for every checkout and installation: it asks the prenorm that is typed.

Examples:
  eval "$(prenorm completion bash)"      in ~/.bashrc
  eval "$(prenorm completion zsh)"       in ~/.zshrc, below compinit
  prenorm completion fish | source       in ~/.config/fish/config.fish)~",
      .run = [options] { return complete(*options); },
      .after_dashes = &o.words};
}

}  // namespace prenorm::harness
