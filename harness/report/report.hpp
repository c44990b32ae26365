// What a run of a command found, and its forms: for a person, JSON, JUnit. Results on a device are
// kept as records, for readers whose machine has none; a record is shown as such, never as a result
// of the run at hand.
#pragma once

#include "base/json.hpp"
#include "base/paths.hpp"
#include "fixture/verdict.hpp"
#include "report/table.hpp"
#include "worker/device.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace prenorm::harness {

/// Facts about the program and the machine, texts by name: "program", "system", "cores", ...
Json describe_environment();
/// The same in one line, for a page.
std::string environment_text();

/// The program's version, as `prenorm --version` says it.
std::string_view program_version();

struct RecordedCase {
  std::string status;   // "PASSED"
  std::string message;  // where it did not pass
  std::string dtype;
  double seconds = 0;  // of the first call, between two events on the device
  std::optional<double> max_abs_error, max_ulp_error;  // over all outputs
};

/// One solution on one device.
struct Record {
  std::string solution;
  DeviceFacts device;
  std::string sources;  // the digest of the sources that were compiled: prenorm_sources
  std::string program;  // "prenorm 0.1.0"
  std::string date;     // "2026-11-21", UTC
  std::map<std::string, std::map<std::string, RecordedCase>> problems;  // by problem, then case

  /// Nothing where this case has not been run.
  const RecordedCase* find(const std::string& problem, const std::string& case_name) const;
  /// How many of a problem's cases passed; 0 for one that was not run.
  std::size_t passed(const std::string& problem) const;
  /// "on NVIDIA H200, 2026-11-21".
  std::string origin() const;
  /// "; changed since last device run" where these are not the sources of the record, else empty.
  std::string note_of_change(const std::string& sources_now) const;
};

/// The record of today for those of the results that are this solution's.
Record make_record(const std::string& solution, const DeviceFacts& device,
                   const std::string& sources, const std::vector<Result>& results);

/// Writes DIR/<device>/<solution>.json. What an earlier record of the same sources says of other
/// cases is kept, that of other sources is dropped. Returns the path.
///
/// Throws std::runtime_error where it cannot be written.
fs::path write_record(const fs::path& folder, Record record);

/// A folder's records, sorted by solution; those that cannot be read are named with the reason.
struct Records {
  std::vector<Record> all;
  std::vector<std::string> unreadable;

  /// Of the solution: one of these sources before others, then the latest; nullptr for none.
  const Record* of(const std::string& solution, const std::string& sources) const;
};
Records read_records(const fs::path& folder);

/// Where the shipped records are: <home>/share/prenorm/records.
fs::path records_folder();

/// A solution whose device is not here: its results are SKIPPED, whatever a record says.
struct NotHere {
  std::string reason;            // "no CUDA device"
  std::optional<Record> record;  // its results on a device; nothing: not yet run on one
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

/// The largest of the outputs' errors of one kind; nothing where none was compared.
std::optional<double> largest_of_outputs(const Result& result,
                                         std::optional<double> OutputReport::*error);

/// Neither passed nor left out.
bool is_failure(const Result& result);

/// The table: a row for each fixture file, a column for each solution. Where a solution's device is
/// not here, a cell says what the record says, as "recorded"; without a record it has no column,
/// unless that is so for all of them.
Table overview(const Report& report);

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

// JUnit's XML, as Jenkins and others read it (tests/harness/grade/junit.xsd): suites of test cases.

struct JunitCase {
  std::string group;  // "classname": the problem
  std::string name;
  Status status = Status::skipped;
  std::string message;
  std::string details;            // a line below the message: the command that repeats it
  std::optional<double> seconds;  // nothing: not known
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
};

/// The document. BAD_FIXTURE is an error, SKIPPED is skipped, and so is NOT_IMPLEMENTED unless that
/// counts as a failure; everything else that did not pass is a failure, with its status as the
/// type.
std::string junit_document(const std::string& name, const std::vector<JunitSuite>& suites,
                           bool not_implemented_fails);

}  // namespace prenorm::harness
