// The program's commands. Each has its own file and adds itself to the parser.
#pragma once

#include "base/error.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace prenorm::harness {

/// What the parsed command line asks for; returns the exit code.
using Action = std::function<int()>;

/// Each adds a command to `app`. When the parser meets that command, it stores its action in
/// `chosen`.
void add_list(CLI::App& app, Action& chosen);
void add_show(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);
void add_grade(CLI::App& app, Action& chosen);
void add_gradescope(CLI::App& app, Action& chosen);
void add_gradebook(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);
void add_fixtures(CLI::App& app, Action& chosen);
void add_mistakes(CLI::App& app, Action& chosen);
void add_diff(CLI::App& app, Action& chosen);
void add_new(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_study(CLI::App& app, Action& chosen);

/// Adds --hidden-visibility: when Gradescope shows hidden cases.
void add_hidden_visibility(CLI::App& command, std::string& visibility);

/// The subcommands of `fixtures`.
void add_fixtures_make(CLI::App& fixtures, Action& chosen);
void add_fixtures_check(CLI::App& fixtures, Action& chosen);
void add_fixtures_calibrate(CLI::App& fixtures, Action& chosen);

}  // namespace prenorm::harness
