// Device records: what a device said of a solution, kept for readers whose machine has none. A
// record is shown as such, never as a result of the run at hand.
#pragma once

#include "fixture/verdict.hpp"
#include "worker/device.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace prenorm::harness {

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
  /// "on NVIDIA H200, 2026-11-21".
  std::string origin() const;
};

/// The record of today for those of the results that are this solution's.
Record make_record(const std::string& solution, const DeviceFacts& device,
                   const std::string& sources, const std::vector<Result>& results);

/// Writes DIR/<device>/<solution>.json. What an earlier record of the same sources says of other
/// cases is kept, that of other sources is dropped. Returns the path.
///
/// Throws std::runtime_error where it cannot be written.
std::filesystem::path write_record(const std::filesystem::path& folder, Record record);

/// A folder's records, sorted by solution; those that cannot be read are named with the reason.
struct Records {
  std::vector<Record> all;
  std::vector<std::string> unreadable;

  /// Of the solution: one of these sources before others, then the latest; nullptr for none.
  const Record* of(const std::string& solution, const std::string& sources) const;
};
Records read_records(const std::filesystem::path& folder);

/// Where the shipped records are: <home>/share/prenorm/records.
std::filesystem::path records_folder();

}  // namespace prenorm::harness
