#include "bench/selected_workloads.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <set>

namespace prenorm::harness::bench {
namespace {

bool fits(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return matches(pattern, name);
         });
}

/// Throws where a pattern fits none of the names.
void require_any(const std::vector<std::string>& patterns, const std::set<std::string>& names,
                 const std::string& what) {
  const std::vector<std::string> candidates(names.begin(), names.end());
  for (const std::string& pattern : patterns) {
    if (std::ranges::none_of(names, [&](const auto& name) { return matches(pattern, name); })) {
      throw UsageError("no " + what + " '" + pattern + "' among the shapes" +
                       did_you_mean(pattern, candidates));
    }
  }
}

void check_names(const std::vector<ShapeEntry>& entries, const BenchOptions& options) {
  std::set<std::string> names, problems, dtypes;
  for (const ShapeEntry& entry : entries) {
    names.insert(entry.name);
    problems.insert(entry.problem);
    for (const DType dtype : entry.dtypes) dtypes.insert(std::string(name(dtype)));
  }
  require_any(options.shapes, names, "shape");
  require_any(options.selection.problems, problems, "problem");
  require_any(options.selection.dtypes, dtypes, "dtype");
}

Workloads bind_all(const std::vector<ShapeEntry>& entries, const BenchOptions& options) {
  Selection needed;
  needed.fixtures = options.selection.fixtures;
  for (const ShapeEntry& entry : entries) needed.problems.push_back(entry.problem);
  std::map<std::string, Signature> signatures;
  for (const File& file : open_files(needed, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) throw UsageError(file.error);
    signatures.emplace(file.problem, file.fixture->signature());
  }
  Workloads workloads;
  for (const ShapeEntry& entry : entries) {
    for (const DType dtype : entry.dtypes) {
      try {
        workloads.push_back(std::make_shared<const Workload>(
            bind_entry(entry, dtype, signatures.at(entry.problem))));
      } catch (const BadShapes& error) {
        throw UsageError(options.file + ": " + error.what());
      }
    }
  }
  return workloads;
}

/// The first of the --shape options that the workload fits.
std::size_t place_of(const Workload& workload, const std::vector<std::string>& shapes) {
  const auto fitting = std::ranges::find_if(
      shapes, [&](const std::string& shape) { return fits({shape}, workload.entry.name); });
  return static_cast<std::size_t>(fitting - shapes.begin());
}

}  // namespace

Workloads read_workloads(const BenchOptions& options) try {
  const std::vector<ShapeEntry> entries = read_entries(options.file);
  check_names(entries, options);
  Workloads workloads = bind_all(entries, options);
  std::ranges::stable_sort(
      workloads, {}, [&](const auto& workload) { return place_of(*workload, options.shapes); });
  return workloads;
} catch (const BadShapes& error) {
  throw UsageError(error.what());
}

bool is_selected(const Workload& workload, const BenchOptions& options) {
  const std::vector<std::string>& dtypes = options.selection.dtypes;
  return fits(options.selection.problems, workload.entry.problem) &&
         fits(options.shapes, workload.entry.name) &&
         (dtypes.empty() || std::ranges::find(dtypes, name(workload.dtype)) != dtypes.end()) &&
         (options.set.empty() || options.set == workload.entry.set);
}

}  // namespace prenorm::harness::bench
