// Which fixtures and cases a command line names.
#pragma once

#include "cli/command.hpp"
#include "fixture.hpp"

#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

/// The common options; an empty list selects everything.
struct Selection {
  std::vector<std::string> fixtures;  // files or folders
  std::vector<std::string> problems;  // names or globs
  std::vector<std::string> cases;     // names or globs
  std::vector<std::string> dtypes;
};

/// Adds --case and --dtype.
void add_case_options(CLI::App& command, Selection& selection);

/// Adds --fixtures, --problem, --case and --dtype.
void add_selection_options(CLI::App& command, Selection& selection);

/// An option that may be repeated and takes one value each time.
CLI::Option* add_repeatable(CLI::App& command, const std::string& name,
                            std::vector<std::string>& values, const std::string& description);

/// Adds --jobs.
void add_jobs_option(CLI::App& command, unsigned& jobs);

/// The files that --fixtures means, those of a folder sorted; by default those of ./fixtures, or
/// else the shipped ones. Throws UsageError for a path that does not exist.
std::vector<std::string> fixture_files(const std::vector<std::string>& paths);

/// One fixture file: opened, or the reason why it cannot be used.
struct File {
  std::string path;
  std::optional<Fixture> fixture;
  std::string error;
  std::string problem;             // also of an unusable file, where it can be read; else empty
  std::vector<const Case*> cases;  // those that are selected
};

/// Opens the selected files, on several threads, and picks the cases; in the files' order. Files
/// of other problems are left out; one that does not even say its problem stays in.
///
/// Throws UsageError, with the nearest name, for a problem or case that no file has.
std::vector<File> open_files(const Selection& selection, unsigned jobs,
                             const Requirements& requirements = {});

/// Checks of options: a whole number that is not negative; a number of seconds above 0.
CLI::Validator whole_number();
CLI::Validator positive_seconds();

/// Opens the file of a problem, or the file itself where the word is a path; picks the cases.
/// Outputs may lack tolerances. Throws UsageError.
File open_problem(const std::string& word, const Selection& selection);

}  // namespace prenorm::harness
