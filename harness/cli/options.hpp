// Options shared by several commands.
#pragma once

#include "cli/command.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

/// Adds --case and --dtype.
void add_case_options(CLI::App& command, Selection& selection);

/// Adds --fixtures, --problem, --case and --dtype.
void add_selection_options(CLI::App& command, Selection& selection);

/// An option that may be repeated and takes one value each time.
CLI::Option* add_repeatable(CLI::App& command, const std::string& name,
                            std::vector<std::string>& values, const std::string& description);

/// Adds --jobs.
void add_jobs_option(CLI::App& command, unsigned& jobs);

/// Validators: a non-negative integer; a positive number of seconds.
CLI::Validator whole_number();
CLI::Validator positive_seconds();

/// Adds --textbook, --textbook-tf32 and --truth.
void add_yardstick_options(CLI::App& command, YardstickNames& names);

}  // namespace prenorm::harness
