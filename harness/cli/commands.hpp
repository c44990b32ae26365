// The program's commands, each in its own file; those that check solutions are in check/.
#pragma once

#include "check/command.hpp"

namespace prenorm::harness {

struct GradeSettings;

Command list_command();
Command show_command();
Command grade_command();
Command watch_command();
Command hint_command();
Command gradescope_command();
Command gradebook_command();
Command bench_command();
Command profile_command();
Command emulate_command();
Command new_command();
Command doctor_command();
Command study_command();
Command completion_command();

/// Replaces this process by the program that the words start, looked for on the PATH. Throws
/// UsageError where it cannot be started.
[[noreturn]] void become(std::vector<std::string> words);

/// --html and --svg, of what kernels do to memory.
Option picture_options(std::string& html, std::string& svg);
/// Of a grading: "--rubric", ...
Option setting_option(std::string_view name, GradeSettings& how);
/// --hidden-visibility: when Gradescope shows hidden cases.
Option hidden_visibility_option(std::string& visibility);

}  // namespace prenorm::harness
