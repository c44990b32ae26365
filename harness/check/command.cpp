#include "check/command.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "fixture/describe.hpp"
#include "fixture/selection.hpp"
#include "replay/answer.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <ranges>
#include <span>
#include <sstream>
#include <sys/resource.h>

namespace prenorm::harness {
namespace {

// --- commands and rows, as the parser takes them ----------------------------------------------

bool has(const Option& row, Trait trait) {
  return std::ranges::any_of(row.rules, [trait](const Rule& rule) {
    const auto* own = std::get_if<Trait>(&rule);
    return own != nullptr && *own == trait;
  });
}

bool is_positional(const Option& row) { return row.several.empty() && row.name.front() != '-'; }

CLI::Option* add_variable(CLI::App& app, const std::string& name, const Option& row, bool& flag) {
  return app.add_flag(name, flag, row.description);
}

template <class T>
CLI::Option* add_variable(CLI::App& app, const std::string& name, const Option& row, T& variable) {
  CLI::Option* option = app.add_option(name, variable, row.description);
  if (std::is_same_v<T, std::vector<std::string>> && !is_positional(row)) {
    option->allow_extra_args(false);
  }
  return option;
}

void add_row(CLI::App& app, const Option& row) {
  for (const Option& each : row.several) add_row(app, each);
  if (!row.several.empty()) return;
  const std::size_t end = std::min(row.name.find(' '), row.name.size());
  const std::string name = row.name.substr(0, end);
  std::string type = row.name.substr(std::min(end + 1, row.name.size()));
  CLI::Option* option = std::visit(
      [&](auto* variable) { return add_variable(app, name, row, *variable); }, row.variable);
  for (const Rule& rule : row.rules) {
    Check check;
    if (const auto* words = std::get_if<OneOf>(&rule)) {
      type = joined(*words, "|");
      check = CLI::IsMember(*words);
    } else if (const auto* own = std::get_if<Check>(&rule)) {
      check = *own;
    }
    if (check) option->check(CLI::Validator(check, ""));
  }
  if (!std::holds_alternative<bool*>(row.variable)) option->type_name(type);
  option->required(has(row, Trait::required));
  if (has(row, Trait::shows_default)) option->capture_default_str();
  if (has(row, Trait::hidden)) option->group("");
}

void add_commands(CLI::App& app, const Command& command) {
  for (const Option& row : command.options) add_row(app, row);
  if (!command.footer.empty()) app.footer(command.footer);
  if (command.all_words != nullptr) {
    app.set_help_flag();
    app.prefix_command();
  }
  if (!command.commands.empty()) app.require_subcommand(command.run ? 0 : 1, 1);
  for (const Command& each : command.commands) {
    add_commands(*app.add_subcommand(each.name, each.description), each);
  }
}

const Command* command_called(const Command& of, const std::string& name) {
  const auto found = std::ranges::find(of.commands, name, &Command::name);
  return found == of.commands.end() ? nullptr : &*found;
}

/// The command that was parsed, of the program or of one of its commands.
const Command& chosen(const CLI::App& app, const Command& command) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  if (!given.empty()) {
    return chosen(*given.front(), *command_called(command, given.front()->get_name()));
  }
  if (command.all_words != nullptr) *command.all_words = app.remaining();
  if (command.given != nullptr) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() > 0) command.given->insert(option->get_name());
    }
  }
  return command;
}

// --- what a person reads ----------------------------------------------------------------------

/// Help that fits a terminal: descriptions, and what stands below the options but for examples. It
/// is as wide wherever it is printed, since the launcher has it in files: harness/cli/help/.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(30); }
  std::string make_option_desc(const CLI::Option* option) const override {
    return described(CLI::Formatter::make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_name(), described(command->get_description()),
                             get_column_width());
    return out.str();
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string text = CLI::Formatter::make_footer(app);
    std::string fitted, paragraph;
    const auto end_paragraph = [&] {
      if (!paragraph.empty()) fitted += wrapped(paragraph, 0, width) + "\n";
      paragraph.clear();
    };
    for (const std::string& line : lines_of(text)) {
      if (!line.empty() && line[0] != ' ') {
        paragraph += (paragraph.empty() ? "" : " ") + line;
      } else {
        end_paragraph();
        fitted += line + "\n";
      }
    }
    end_paragraph();
    return fitted;
  }

 private:
  std::string described(std::string text) const {
    std::ranges::replace(text, '\n', ' ');
    return wrapped(text, 0, width - get_column_width());
  }

  static constexpr std::size_t width = 80;
};

int complain(const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: %s\n", printable(what, 2000).c_str());
  return 2;
}

/// CLI11's message for an unknown command suggests no similar name; this one does. `before` is the
/// command line so far: "prenorm", "prenorm fixtures".
std::optional<std::string> unknown_command(const Command& command, std::span<char*> words,
                                           const std::string& before = "prenorm") {
  if (words.empty() || words[0][0] == '-') return std::nullopt;
  if (std::ranges::any_of(command.options, is_positional)) return std::nullopt;
  const std::string word = words[0];
  if (const Command* known = command_called(command, word)) {
    return unknown_command(*known, words.subspan(1), before + " " + word);
  }
  if (command.commands.empty()) return std::nullopt;
  if (word == "test") return "'test' is a command of ./prenorm in the checkout";
  std::vector<std::string> names;
  for (const Command& each : command.commands) names.push_back(each.name);
  return "no command '" + word + "'" + did_you_mean(word, names) + "; " + before +
         " --help lists them";
}

/// Names of options, and whether a value follows them.
void add_names(const std::vector<Option>& rows, std::map<std::string, bool>& names) {
  for (const Option& row : rows) {
    add_names(row.several, names);
    const bool value = !std::holds_alternative<bool*>(row.variable);
    std::istringstream all(row.name.substr(0, row.name.find(' ')));
    for (std::string name; std::getline(all, name, ',');) names.emplace(name, value);
  }
}

/// The same for an option. CLI11 would tell of a missing argument first.
std::optional<std::string> unknown_option(const Command& command, std::span<char*> words,
                                          const std::string& before = "prenorm") {
  if (command.all_words != nullptr) return std::nullopt;
  std::map<std::string, bool> names{{"--help", false}, {"--version", false}};
  add_names(command.options, names);
  for (std::size_t i = 0; i < words.size() && std::string_view(words[i]) != "--"; ++i) {
    const std::string word = words[i], name = word.substr(0, word.find('='));
    if (const Command* known = command_called(command, word)) {
      return unknown_option(*known, words.subspan(i + 1), before + " " + word);
    }
    if (const auto found = names.find(name); found != names.end()) {
      if (found->second && name == word) ++i;
    } else if (name.starts_with("--")) {
      const auto keys = std::views::keys(names);
      const std::vector<std::string> known(keys.begin(), keys.end());
      return "no option '" + name + "'" + did_you_mean(name, known) + "; " + before +
             " --help lists them";
    }
  }
  return std::nullopt;
}

/// A shell's `*` makes an option of a file that is called so, which anybody may hand in.
std::optional<std::string> file_as_option(std::span<char*> words) {
  for (const std::string word : words) {
    if (word == "--") break;
    std::error_code ignored;
    const bool is_file =
        word.size() > 1 && word[0] == '-' && fs::exists(fs::symlink_status(word, ignored));
    if (is_file) {
      return "'" + printable(word, 255) +
             "' is a file or folder here, and would be taken for an option: use ./* in place of *";
    }
  }
  return std::nullopt;
}

constexpr const char* examples = R"(Examples:
  prenorm verify                            check every solution against every fixture
  prenorm verify --solution ./libmine.so    check your own library
  prenorm grade ./mine                      run a submission in a sandbox and score it
  prenorm list                              list the problems; prenorm show PROBLEM: details
  prenorm study                             build a site that explains each component

Run prenorm COMMAND --help for the options of a command.)";

/// Each open fixture file has a child process, and so two descriptors; the usual soft limit is
/// 1024.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const Command& program, std::span<char*> words) {
  CLI::App app("Check, grade and time solutions against the cases stored in fixture files",
               "prenorm");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "prenorm " + std::string(program_version()));
  add_commands(app, program);
  if (words.size() < 2) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  if (const auto complaint = unknown_command(program, words.subspan(1)))
    return complain(*complaint);
  if (const auto complaint = file_as_option(words.subspan(1))) return complain(*complaint);
  if (const auto complaint = unknown_option(program, words.subspan(1))) return complain(*complaint);
  const Command* command = command_called(program, words[1]);
  if (command != nullptr && command->after_dashes != nullptr) {
    const auto dashes = std::find(words.begin(), words.end(), std::string_view("--"));
    command->after_dashes->assign(dashes + (dashes == words.end() ? 0 : 1), words.end());
    words = words.first(static_cast<std::size_t>(dashes - words.begin()));
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
    const int code = chosen(app, program).run();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    return complain("cannot write to standard output");
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return complain(std::string(error.what()) + " (see --help)");
  } catch (const SolutionFailed& failure) {  // neither the options nor a file are wrong
    complain(failure.what());
    return 1;
  } catch (const std::exception& error) {
    return complain(error.what());
  }
}

}  // namespace

int run_command_line(std::vector<Command> commands, int argc, char** argv) {
  // Cases run in parallel, so each worker gets one thread unless the environment says otherwise.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  ::setenv("OMP_NUM_THREADS", "1", 0);
  allow_many_files();
  const Command program{.footer = examples, .commands = std::move(commands)};
  return run(program, std::span(argv, static_cast<std::size_t>(argc)));
}

Check in_range(std::int64_t least, std::int64_t most) { return CLI::Range(least, most); }

std::string whole_number(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return digits ? "" : "'" + text + "' must be a non-negative integer";
}

std::string non_negative(const std::string& text) { return CLI::NonNegativeNumber(text); }

std::string positive(const std::string& text) {
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(text, number);
  return is_number && number > 0 ? "" : "'" + text + "' must be a positive number";
}

Option dtype_option(Selection& selection) {
  return {"--dtype float64|float32|float16|bfloat16", selection.dtypes, "Only this dtype"};
}

Option case_options(Selection& selection) {
  return std::vector<Option>{{"--case NAME", selection.cases, "Only this case (glob)"},
                             dtype_option(selection)};
}

Option selection_options(Selection& selection) {
  return std::vector<Option>{
      {"--fixtures PATH", selection.fixtures,
       "Fixture file, or folder of them (default: the shipped ones)"},
      {"--problem NAME", selection.problems, "Only this problem (glob, as in 'ffn_*')"},
      case_options(selection)};
}

Option jobs_option(unsigned& jobs, const std::string& what) {
  return {"--jobs N", jobs, what, in_range(1, 4096)};
}

Option json_option(std::string& path) {
  return {"--json FILE", path, "Write a JSON report (-: to standard output)"};
}

Option no_color_option(bool& no_color) {
  return {"--no-color", no_color, "Disable colours, like NO_COLOR=1"};
}

Option seed_option(std::uint64_t& seed) {
  return {"--seed N", seed, "Seed of the random values (default: 0)", whole_number};
}

Option yardstick_options(YardstickNames& names) {
  return std::vector<Option>{
      {"--textbook SOLUTION", names.textbook, "Solution whose error sets the tolerances",
       Trait::shows_default},
      {"--textbook-tf32 SOLUTION", names.textbook_tf32,
       "The same for tf32 tolerances; a problem that it lacks gets none", Trait::shows_default},
      {"--truth SOLUTION", names.truth, "Solution that computes the expected values, in float64",
       Trait::shows_default}};
}

void require_one_on_output(const std::vector<std::string>& paths) {
  if (std::ranges::count(paths, "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
}

void require_reports(const std::vector<std::string>& paths) {
  require_one_on_output(paths);
  for (const std::string& path : paths) {
    if (!path.empty()) require_writable(path);
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError("cannot make folder " + folder.string() + ": " + error.message());
}

}  // namespace prenorm::harness
