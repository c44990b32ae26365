// The argument parser, as far as the commands need it. CLI11 is included by arguments.cpp alone:
// its header costs every file that includes it several seconds to compile.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace prenorm::harness {

/// What is wrong with an argument; empty where nothing is.
using Check = std::function<std::string(const std::string& text)>;
/// One of these words.
Check is_member(std::vector<std::string> words);
/// An integer in this range, both ends included.
Check in_range(std::int64_t least, std::int64_t most);
/// An integer from 0 on; a number from 0 on; a number above 0.
Check whole_number();
Check non_negative();
Check positive_seconds();

/// An option or a positional argument; each setter returns the option itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// The word for its value in --help: "PATH".
  Option* type_name(const std::string& word);
  Option* check(const Check& check);
  Option* required();
  /// Shows the variable's value as the default in --help.
  Option* capture_default_str();
  Option* description(const std::string& text);
  /// Not shown in --help.
  Option* hidden();
  /// Takes one value each time, where it may be repeated.
  Option* one_at_a_time();

  /// How often it was given.
  std::size_t count() const;

 private:
  CLI::Option* option_;
};

/// The program's parser, or that of a command. Variables must outlive the parsing.
class Arguments {
 public:
  Arguments(const std::string& description, const std::string& name);
  explicit Arguments(CLI::App* app);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  Arguments* add_subcommand(const std::string& name, const std::string& description);
  /// At least and at most so many commands must be given.
  void require_subcommand(int least, int most);
  /// Of text, texts (repeatable), paths and numbers, optional ones included: see arguments.cpp.
  template <class T>
  Option* add_option(const std::string& name, T& variable, const std::string& description = "");
  Option* add_flag(const std::string& name, bool& variable, const std::string& description);
  Option* add_flag_callback(const std::string& name, std::function<void()> call,
                            const std::string& description);
  Option* get_option(const std::string& name);
  void footer(const std::string& text);
  /// Called after parsing, if this command was given.
  void callback(std::function<void()> call);
  /// Passes all words, --help too, on: they are then remaining().
  void take_all_words();
  std::vector<std::string> remaining() const;
  /// The words after `--` are not parsed: they are a program's, which this command runs.
  void leave_words_after_dashes(std::vector<std::string>& words);

  /// The commands' names, in the order in which they were added; one of them; and whether there are
  /// positional arguments. (An argument that is no command is told better than by CLI11.)
  std::vector<std::string> commands() const;
  const Arguments& command(const std::string& name) const;
  bool takes_words() const;

  /// After parsing: whether one of its commands was given.
  bool subcommand_given() const;

  void set_version(const std::string& text);
  std::string help() const;
  /// Parses. Returns nothing, or the exit code where --help or --version was asked for. Throws
  /// UsageError.
  std::optional<int> parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> own_;  // of the program; commands belong to it
  CLI::App* app_;
  std::deque<Option> options_;
  std::vector<std::string>* after_dashes_ = nullptr;
  std::deque<Arguments> commands_;
};

}  // namespace prenorm::harness
