// What a run of a command found, and its forms: for a person, JSON, JUnit.
#pragma once

#include "base/json.hpp"
#include "fixture/verdict.hpp"
#include "report/device_record.hpp"
#include "report/table.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace prenorm::harness {

/// Facts about the program and the machine, by name: "program", "system", "cores", ...
std::vector<std::pair<std::string, std::string>> describe_environment();

/// The program's version, as `prenorm --version` says it.
std::string_view program_version();

/// A solution whose device is not here: its results are SKIPPED, whatever a record says.
struct NotHere {
  std::string reason;            // "no CUDA device"
  std::optional<Record> record;  // what a device said of it; nothing: not yet run on one
  bool changed = false;          // the sources are others than those of the record
};

struct Report {
  std::string command;                 // "verify"
  std::vector<std::string> solutions;  // the columns, as they were typed
  std::vector<Result> results;
  double seconds = 0;                       // of the whole run
  std::map<std::string, NotHere> not_here;  // by solution
  std::map<std::string, NotHere> variants;  // of those, by NAME/VARIANT: no columns, but a note
};

/// Neither passed nor left out.
bool is_failure(const Result& result);

/// The table: a row for each fixture file, a column for each solution. Where a solution's device is
/// not here, a cell says what the record says, as "recorded"; without a record it has no column,
/// unless that is so for all of them.
Table overview(const Report& report);

/// A paragraph for each failure: status, case, one line that explains, the command that repeats it.
/// Results of one solution that could not be loaded, or of one bad file, are told once.
std::string failures(const Report& report, bool colour);

/// What a failing case printed, below "it printed:"; empty where it printed nothing.
std::string printed_lines(const Result& result, bool colour);

/// A line for each reason why cases were left out, and nothing if none was. Solutions whose device
/// is not here come first, with where their records are from.
std::string omissions(const Report& report);

/// A line for each result, with the time and the largest error.
std::string every_case(const Report& report, bool colour);

/// "1224 passed, 0 failed, 3 skipped in 2.31 s".
std::string summary_line(const Report& report, bool colour);

/// One object, the form that `--json` promises, indented, with a newline at its end.
std::string to_json(const Report& report);

/// "version", "command" and "environment": how every report begins.
Json report_head(const std::string& command);

// What Json converts by: `Json(result)`, `object.at("result").get_to(result)`.
// from_json() throws Json::exception or std::invalid_argument for another value.
void to_json(Json& object, const Result& result);
void from_json(const Json& object, Result& result);
void to_json(Json& value, Status status);  // its name
void from_json(const Json& value, Status& status);
PRENORM_JSON(Summary, passed, failed, skipped)

/// JUnit's XML: a suite for each fixture and solution, a test case for each result.
std::string to_junit(const Report& report);

}  // namespace prenorm::harness
