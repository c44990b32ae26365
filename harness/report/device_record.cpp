// Device records: written, read and found.
#include "base/files.hpp"
#include "base/paths.hpp"
#include "base/text.hpp"
#include "base/times.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <ctime>
#include <tuple>

namespace prenorm::harness {

void to_json(Json& json, const RecordedCase& recorded) {
  json = {{"status", recorded.status}, {"dtype", recorded.dtype}, {"seconds", recorded.seconds}};
  if (!recorded.message.empty()) json["message"] = recorded.message;
  // A case that must be refused has no outputs; an infinite error is null, and not PASSED.
  if (recorded.max_abs_error) json["max_abs_error"] = *recorded.max_abs_error;
  if (recorded.max_ulp_error) json["max_ulp_error"] = *recorded.max_ulp_error;
}

void from_json(const Json& json, RecordedCase& recorded) {
  json.at("status").get_to(recorded.status);
  json.at("dtype").get_to(recorded.dtype);
  json.at("seconds").get_to(recorded.seconds);
  recorded.message = json.value("message", "");
  take_member(json.value("max_abs_error", Json()), recorded.max_abs_error);
  take_member(json.value("max_ulp_error", Json()), recorded.max_ulp_error);
}

PRENORM_JSON(DeviceFacts, name, compute_capability, driver, memory, l2)
PRENORM_JSON(Record, solution, sources, date, program, device, problems)

namespace {

/// "NVIDIA H200 NVL" becomes "nvidia-h200-nvl": the name of a folder or file.
std::string slug(const std::string& name) {
  std::string word;
  for (const char c : lowered(name)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  while (word.ends_with('-')) word.pop_back();
  return word.empty() ? "unnamed" : word;
}

/// Throws std::exception.
Record read_record(const fs::path& path) {
  const Json json = parse_json(read_whole(path).value_or(""));
  if (json.at("format") != "prenorm-device-record" || json.at("version") != 1) {
    throw std::runtime_error("no device record of version 1");
  }
  return json.get<Record>();
}

/// What an earlier record says of cases that this one has not.
void keep_earlier(const fs::path& path, Record& record) {
  try {
    const Record earlier = read_record(path);
    if (earlier.sources != record.sources) return;
    for (const auto& [problem, cases] : earlier.problems) {
      record.problems[problem].insert(cases.begin(), cases.end());  // none that is there already
    }
  } catch (const std::exception&) {  // none, or none that can be read
  }
}

}  // namespace

const RecordedCase* Record::find(const std::string& problem, const std::string& case_name) const {
  const auto cases = problems.find(problem);
  if (cases == problems.end()) return nullptr;
  const auto found = cases->second.find(case_name);
  return found == cases->second.end() ? nullptr : &found->second;
}

std::size_t Record::passed(const std::string& problem) const {
  const auto cases = problems.find(problem);
  if (cases == problems.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count(
      cases->second, name(Status::passed), [](const auto& each) { return each.second.status; }));
}

std::string Record::origin() const { return printable("on " + device.name + ", " + date); }

std::string Record::note_of_change(const std::string& sources_now) const {
  return sources == sources_now ? "" : "; changed since last device run";
}

Record make_record(const std::string& solution, const DeviceFacts& device,
                   const std::string& sources, const std::vector<Result>& results) {
  Record record;
  record.solution = solution;
  record.device = device;
  record.sources = sources;
  record.program = "prenorm " + std::string(program_version());
  record.date = time_text(std::time(nullptr)).substr(0, 10);
  for (const Result& result : results) {
    if (result.solution != solution || !result.case_name) continue;
    RecordedCase& recorded = record.problems[result.problem][*result.case_name];
    recorded.status = name(result.status);
    if (result.status != Status::passed) recorded.message = result.message;
    recorded.dtype = result.dtype;
    recorded.seconds = result.seconds;
    recorded.max_abs_error = largest_of_outputs(result, &OutputReport::max_abs_error);
    recorded.max_ulp_error = largest_of_outputs(result, &OutputReport::max_ulp_error);
  }
  return record;
}

fs::path write_record(const fs::path& folder, Record record) {
  const fs::path path = folder / slug(record.device.name) / (slug(record.solution) + ".json");
  keep_earlier(path, record);
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  Json json{{"format", "prenorm-device-record"}, {"version", 1}};
  json.update(Json(record));
  write_text(path.string(), to_text(json));
  return path;
}

const Record* Records::of(const std::string& solution, const std::string& sources) const {
  const Record* best = nullptr;
  const auto rank = [&sources](const Record& record) {
    return std::tuple(record.sources == sources, record.date);
  };
  for (const Record& record : all) {
    if (record.solution != solution) continue;
    if (best == nullptr || rank(record) > rank(*best)) best = &record;
  }
  return best;
}

Records read_records(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code absent;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, options, absent)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  Records records;
  for (const fs::path& path : paths) {
    try {
      records.all.push_back(read_record(path));
    } catch (const std::exception& error) {
      records.unreadable.push_back(printable(path.string() + ": " + error.what()));
    }
  }
  std::ranges::stable_sort(records.all, {}, &Record::solution);
  return records;
}

fs::path records_folder() { return home() / "share" / "prenorm" / "records"; }

}  // namespace prenorm::harness
