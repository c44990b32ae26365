// A command of the program as data: its options are rows of a table. The argument parser itself,
// whose header costs every file that includes it several seconds to compile, is in command.cpp.
#pragma once

#include "base/paths.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace prenorm::harness {

struct Selection;
struct YardstickNames;

/// What is wrong with an argument; empty where nothing is.
using Check = std::function<std::string(const std::string& text)>;
/// An integer in this range, both ends included.
Check in_range(std::int64_t least, std::int64_t most);
/// An integer from 0 on; a number from 0 on; a number above 0.
std::string whole_number(const std::string& text);
std::string non_negative(const std::string& text);
std::string positive(const std::string& text);

enum class Trait {
  required,
  shows_default,  // --help has the variable's value
  hidden,         // not in --help
};
/// One of these words, which stand for the value in --help.
using OneOf = std::vector<std::string>;
using Rule = std::variant<Trait, Check, OneOf>;

/// The variable that an option sets. A bool belongs to a flag, a vector to an option that takes one
/// value each time and may be repeated.
using Variable =
    std::variant<bool*, std::string*, std::vector<std::string>*, fs::path*, unsigned*, int*,
                 std::uint64_t*, double*, std::optional<std::uint64_t>*, std::optional<double>*>;

/// An option or a positional argument: {"--jobs N", jobs, "Files in parallel", in_range(1, 8)}. A
/// positional one has no dash: {"DIR TEXT", folder, "A new folder", Trait::required}.
struct Option {
  template <class T, class... Rules>
  Option(std::string option, T& set, std::string text, Rules... rules_of_it)
      : name(std::move(option)),
        variable(&set),
        description(std::move(text)),
        rules{std::move(rules_of_it)...} {}
  /// Several rows, which commands share.
  Option(std::vector<Option> rows) : several(std::move(rows)) {}

  std::string name;  // and after a blank the word for its value in --help
  Variable variable;
  std::string description;
  std::vector<Rule> rules;
  std::vector<Option> several;
};

struct Command {
  std::string name = {}, description = {};
  std::vector<Option> options = {};
  std::string footer = {};  // of --help; empty: that of the command which this one belongs to
  /// Returns the exit code. A command without it needs one of its commands.
  std::function<int()> run = nullptr;
  std::vector<Command> commands = {};
  /// Takes the options that were given: "--jobs".
  std::set<std::string>* given = nullptr;
  /// Takes the words after `--`, which belong to another program.
  std::vector<std::string>* after_dashes = nullptr;
  /// Takes all words, --help too.
  std::vector<std::string>* all_words = nullptr;
};

/// Parses the command line and runs one of the commands. Returns the exit code.
int run_command_line(std::vector<Command> commands, int argc, char** argv);

// The commands of the program `prenorm_check`.
Command verify_command();
Command fixtures_command();
Command fixtures_check_command();
Command fixtures_calibrate_command();
Command mistakes_command();
Command diff_command();

// --- options that several commands have ------------------------------------------------------

Option dtype_option(Selection& selection);
/// --case and --dtype; with --fixtures and --problem before them.
Option case_options(Selection& selection);
Option selection_options(Selection& selection);
Option jobs_option(
    unsigned& jobs,
    const std::string& what = "Files to process in parallel (default: the number of processors)");
Option json_option(std::string& path);
Option no_color_option(bool& no_color);
Option seed_option(std::uint64_t& seed);  // of random values
/// --textbook, --textbook-tf32 and --truth.
Option yardstick_options(YardstickNames& names);

/// Throws UsageError where two reports go to standard output.
void require_one_on_output(const std::vector<std::string>& paths);
/// Before the work: also where one of them cannot be written. The path of a report that nobody
/// wants is empty.
void require_reports(const std::vector<std::string>& paths);
/// Makes the folder, with those above it, where it is missing. Throws UsageError.
void make_folder(const fs::path& folder);

}  // namespace prenorm::harness
