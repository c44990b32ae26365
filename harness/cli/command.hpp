// The program's commands. Each has its own file and adds itself to the parser.
#pragma once

#include "base/error.hpp"
#include "cli/arguments.hpp"

#include <functional>
#include <string>

namespace prenorm::harness {

/// What the parsed command line asks for; returns the exit code.
using Action = std::function<int()>;

/// Each adds a command to `app`. When the parser meets that command, it stores its action in
/// `chosen`.
void add_list(Arguments& app, Action& chosen);
void add_show(Arguments& app, Action& chosen);
void add_verify(Arguments& app, Action& chosen);
void add_grade(Arguments& app, Action& chosen);
void add_watch(Arguments& app, Action& chosen);
void add_hint(Arguments& app, Action& chosen);
void add_gradescope(Arguments& app, Action& chosen);
void add_gradebook(Arguments& app, Action& chosen);
void add_bench(Arguments& app, Action& chosen);
void add_profile(Arguments& app, Action& chosen);
void add_fixtures(Arguments& app, Action& chosen);
void add_mistakes(Arguments& app, Action& chosen);
void add_diff(Arguments& app, Action& chosen);
void add_emulate(Arguments& app, Action& chosen);
void add_new(Arguments& app, Action& chosen);
void add_doctor(Arguments& app, Action& chosen);
void add_study(Arguments& app, Action& chosen);

/// Adds --hidden-visibility: when Gradescope shows hidden cases.
void add_hidden_visibility(Arguments& command, std::string& visibility);

/// The subcommands of `fixtures`.
void add_fixtures_make(Arguments& fixtures, Action& chosen);
void add_fixtures_check(Arguments& fixtures, Action& chosen);
void add_fixtures_calibrate(Arguments& fixtures, Action& chosen);
void add_fixtures_export(Arguments& fixtures, Action& chosen);

}  // namespace prenorm::harness
