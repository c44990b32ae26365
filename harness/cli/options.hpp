// Options shared by several commands.
#pragma once

#include "cli/command.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

/// Adds --case and --dtype.
void add_case_options(Arguments& command, Selection& selection);

/// Adds --fixtures, --problem, --case and --dtype.
void add_selection_options(Arguments& command, Selection& selection);

/// An option that may be repeated and takes one value each time.
Option* add_repeatable(Arguments& command, const std::string& name,
                       std::vector<std::string>& values, const std::string& description);

/// Adds --html and --svg, of what kernels do to memory.
void add_picture_options(Arguments& command, std::string& html, std::string& svg);

/// Adds --jobs.
void add_jobs_option(Arguments& command, unsigned& jobs);

/// Adds --textbook, --textbook-tf32 and --truth.
void add_yardstick_options(Arguments& command, YardstickNames& names);

}  // namespace prenorm::harness
