#include "report/report.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness {
namespace {

/// What one solution made of one file's cases.
struct Tally {
  std::int64_t total = 0, passed = 0, failed = 0, not_implemented = 0, load_errors = 0, skipped = 0;
  std::int64_t unreadable = 0;  // cases of a damaged file
  bool bad_file = false;
  std::set<std::string> reasons;  // of skipping

  void add(const Result& result) {
    ++total;
    switch (result.status) {
      case Status::passed: ++passed; break;
      case Status::not_implemented: ++not_implemented; break;
      case Status::skipped:
        ++skipped;
        reasons.insert(printable(result.message));
        break;
      case Status::bad_fixture:
        ++unreadable;
        bad_file = bad_file || !result.case_name;
        break;
      default:
        ++failed;
        if (result.status == Status::load_error) ++load_errors;
    }
  }

  Cell cell() const {
    if (bad_file) return {"BAD_FIXTURE", Tone::bad};
    if (load_errors > 0 && load_errors == failed && passed == 0) return {"LOAD_ERROR", Tone::bad};
    // Of those that it was asked; omissions() counts the others.
    const std::string share = fmt::format(" {}/{}", passed, total - skipped - not_implemented);
    if (failed > 0) return {"FAILED" + share, Tone::bad};
    if (unreadable > 0) return {"BAD_FIXTURE" + share, Tone::bad};
    if (passed > 0) return {"PASSED" + share, Tone::good};
    if (not_implemented > 0) return {"NOT_IMPLEMENTED", Tone::quiet};
    if (reasons.size() == 1 && display_width(*reasons.begin()) <= 30) {
      return {"SKIPPED (" + *reasons.begin() + ")", Tone::quiet};
    }
    if (total == 0) return {"no case", Tone::quiet};
    return {"SKIPPED", Tone::quiet};
  }
};

/// The results of one file, in the order in which the files were found.
struct FileResults {
  std::string path;
  std::string problem;                   // empty for an unreadable file
  std::map<std::string, Tally> tallies;  // by solution
};

std::vector<FileResults> by_file(const Report& report) {
  std::vector<FileResults> files;
  for (const Result& result : report.results) {
    auto file = std::ranges::find(files, result.fixture, &FileResults::path);
    if (file == files.end()) file = files.insert(files.end(), FileResults{result.fixture, {}, {}});
    if (file->problem.empty()) file->problem = result.problem;
    if (!result.solution.empty()) {
      file->tallies[result.solution].add(result);
      continue;
    }
    // What is wrong with the file is wrong for every solution.
    for (const std::string& solution : report.solutions) file->tallies[solution].add(result);
  }
  return files;
}

std::string file_label(const FileResults& file, const std::vector<FileResults>& all) {
  if (file.problem.empty()) return printable(file.path);
  const auto same = std::ranges::count(all, file.problem, &FileResults::problem);
  const std::string problem = printable(file.problem);
  return same == 1 ? problem : problem + " (" + printable(file.path) + ")";
}

/// What the record says of a file's cases. Quiet, whatever it says: nothing was run.
Cell recorded_cell(const Report& report, const FileResults& file, const std::string& solution) {
  const NotHere& not_here = report.not_here.at(solution);
  std::int64_t total = 0, passed = 0, failed = 0;
  for (const Result& result : report.results) {
    if (result.fixture != file.path || result.solution != solution) continue;
    const RecordedCase* recorded = not_here.record && result.case_name
                                       ? not_here.record->find(result.problem, *result.case_name)
                                       : nullptr;
    const bool left_out = recorded && (recorded->status == name(Status::skipped) ||
                                       recorded->status == name(Status::not_implemented));
    if (left_out) continue;
    ++total;  // a case that is newer than the record, too
    if (recorded) ++(recorded->status == name(Status::passed) ? passed : failed);
  }
  if (passed + failed == 0) return {"not yet run", Tone::quiet};
  return {fmt::format("recorded {}{}/{}{}", failed > 0 ? "FAILED " : "", passed, total,
                      not_here.changed ? " *" : ""),
          Tone::quiet};
}

/// The solutions that the table shows. Those that cannot run here and of which there is no record
/// would fill it with "not yet run", which omissions() says once; so they are shown only among
/// themselves.
std::vector<std::string> columns(const Report& report) {
  std::vector<std::string> shown;
  std::ranges::copy_if(report.solutions, std::back_inserter(shown),
                       [&](const std::string& solution) {
                         const auto found = report.not_here.find(solution);
                         return found == report.not_here.end() || found->second.record;
                       });
  return shown.empty() ? report.solutions : shown;
}

/// "cuda, other: SKIPPED: no CUDA device; recorded on NVIDIA H200, 2026-11-21", and a line like it
/// for their variants.
std::string notes_on_devices(const Report& report) {
  std::vector<std::pair<std::string, std::string>>
      notes;  // a note, and the solutions that it is about
  bool any_changed = false;
  const auto add = [&](const std::string& solution, const NotHere& not_here, std::string note) {
    any_changed = any_changed || not_here.changed;
    note += not_here.record ? "recorded " + not_here.record->origin() : "not yet run on a device";
    const auto same = std::ranges::find(notes, note, [](const auto& each) { return each.first; });
    if (same == notes.end()) {
      notes.emplace_back(note, printable(solution));
    } else {
      same->second += ", " + printable(solution);
    }
  };
  for (const std::string& solution : report.solutions) {
    const auto found = report.not_here.find(solution);
    if (found == report.not_here.end()) continue;
    add(solution, found->second, "SKIPPED: " + printable(found->second.reason) + "; ");
  }
  for (const auto& [variant, not_here] : report.variants) {
    add(variant + (not_here.changed ? " *" : ""), not_here, "by name only (--solution); ");
  }
  std::string text;
  for (const auto& [note, solutions] : notes) text += solutions + ": " + note + "\n";
  if (any_changed) text += "*: the sources have changed since last device run\n";
  return text;
}

}  // namespace

std::optional<double> largest_of_outputs(const Result& result,
                                         std::optional<double> OutputReport::*error) {
  std::optional<double> most;
  for (const OutputReport& output : result.outputs) {
    if (output.*error) most = std::max(most.value_or(0), *(output.*error));
  }
  return most;
}

bool is_failure(const Result& result) {
  return result.status != Status::passed && result.status != Status::skipped &&
         result.status != Status::not_implemented;
}

Table overview(const Report& report) {
  Table table;
  table.head = {"problem"};
  const std::vector<std::string> shown = columns(report);
  for (const std::string& solution : shown) table.head.push_back(printable(solution));
  const std::vector<FileResults> files = by_file(report);
  for (const FileResults& file : files) {
    std::vector<Cell> row{{file_label(file, files)}};
    for (const std::string& solution : shown) {
      const auto tally = file.tallies.find(solution);
      const bool usable = tally != file.tallies.end() && tally->second.unreadable == 0;
      if (usable && report.not_here.contains(solution)) {
        row.push_back(recorded_cell(report, file, solution));
        continue;
      }
      row.push_back(tally == file.tallies.end() ? Cell{} : tally->second.cell());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string omissions(const Report& report) {
  // A solution that is skipped, or has no function, for every case of a file shows in the table.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> answered;
  for (const Result& result : report.results) {
    if (result.status == Status::passed || is_failure(result)) {
      answered[{result.fixture, result.solution}].insert(result.dtype);
    }
  }
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const Result& result : report.results) {
    const bool skipped = result.status == Status::skipped;
    if (!skipped && result.status != Status::not_implemented) continue;
    if (report.not_here.contains(result.solution)) continue;
    const bool part = answered.contains({result.fixture, result.solution});
    if (!part && (!skipped || display_width(result.message) <= 30)) continue;
    std::string reason(name(result.status));
    if (!result.message.empty()) reason += ": " + printable(result.message);
    ++counts[{printable(result.solution), reason}];
  }
  std::string text = notes_on_devices(report);
  if (!text.empty() || !counts.empty()) {
    text =
        "columns: cases that passed / that were run; \"recorded\": earlier, on a device\n" + text;
  }
  for (const auto& [key, count] : counts) {
    text += fmt::format("{}: {} {}\n", key.first, counted(static_cast<std::size_t>(count), "case"),
                        key.second);
  }
  return text;
}

std::string every_case(const Report& report, bool colour) {
  Table table;
  table.head = {"status", "case", "dtype", "solution", "time", "largest error", ""};
  for (const Result& result : report.results) {
    const Tone tone = result.status == Status::passed ? Tone::good
                      : is_failure(result)            ? Tone::bad
                                                      : Tone::quiet;
    const std::string label =
        result.case_name ? result.problem + " / " + *result.case_name : result.fixture;
    const std::optional<double> ulps = largest_of_outputs(result, &OutputReport::max_ulp_error);
    std::string note = is_failure(result) ? "" : printable(result.message);
    if (result.batch_invariant == false) note += "a row alone gives other bits";
    table.rows.push_back({{std::string(name(result.status)), tone},
                          {printable(label)},
                          {result.dtype},
                          {printable(result.solution)},
                          {result.seconds > 0 ? duration(result.seconds) : ""},
                          {ulps ? short_number(*ulps) + " ulp" : ""},
                          {note, Tone::quiet}});
  }
  return render(table, colour);
}

std::string summary_line(const Report& report, bool colour) {
  const Summary summary = summarize(report.results);
  // Those of solutions that cannot run here at all have a line of their own.
  const auto not_here = std::ranges::count_if(report.results, [&](const Result& result) {
    return result.status == Status::skipped && report.not_here.contains(result.solution);
  });
  const std::string passed = fmt::format("{} passed", summary.passed);
  const std::string failed = fmt::format("{} failed", summary.failed);
  return toned(passed, summary.passed > 0 ? Tone::good : Tone::plain, colour) + ", " +
         toned(failed, summary.failed > 0 ? Tone::bad : Tone::plain, colour) +
         fmt::format(", {} skipped{} in {}", summary.skipped - not_here,
                     not_here > 0 ? fmt::format(", {} not for this machine", not_here) : "",
                     duration(report.seconds));
}

}  // namespace prenorm::harness
