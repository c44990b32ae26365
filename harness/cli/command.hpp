// The commands of the program. Each stands in a file of its own and adds itself to the parser.
#pragma once

#include "base/error.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace prenorm::harness {

/// What the parsed command line asks for; returns the exit code.
using Action = std::function<int()>;

/// Each adds a command to `app`; parsing it puts what it does into `chosen`.
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

/// --hidden-visibility, of what Gradescope shows.
void add_hidden_visibility(CLI::App& command, std::string& visibility);

/// The subcommands of `fixtures`.
void add_fixtures_make(CLI::App& fixtures, Action& chosen);
void add_fixtures_check(CLI::App& fixtures, Action& chosen);
void add_fixtures_calibrate(CLI::App& fixtures, Action& chosen);

}  // namespace prenorm::harness
