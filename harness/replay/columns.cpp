// The columns of a table, all files through all of them, and their outputs as files.
#include "base/text.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <numeric>

namespace prenorm::harness {
namespace {

bool is_emulated(const std::string& solution) { return solution.ends_with("-emulated"); }

/// True for a solution that exports nothing but variants: a collection, not a solution.
bool is_collection(Solution& solution) {
  if (!solution.load() || solution.functions().empty()) return false;
  return std::ranges::all_of(solution.functions(), [](const std::string& function) {
    return function.find("__") != std::string::npos;
  });
}

/// Indices of the files, largest first, so that no large one is started last.
std::vector<std::size_t> largest_first(const std::vector<SelectedFixture>& files) {
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> work(files.size(), 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Case* info : files[i].cases) work[i] += info->elements() + 1000;
  }
  std::ranges::stable_sort(order, [&](auto a, auto b) { return work[a] > work[b]; });
  return order;
}

/// One file's results in the order of its cases, then of the columns. A case that cannot be read is
/// reported once.
std::vector<Result> in_order(std::vector<Result> results,
                             const std::vector<std::string>& solutions) {
  std::map<std::optional<std::string>, std::size_t> cases;
  std::set<std::optional<std::string>> unreadable;
  for (const Result& result : results) {
    cases.try_emplace(result.case_name, cases.size());
    if (result.status == Status::bad_fixture) unreadable.insert(result.case_name);
  }
  const auto place = [&](const Result& result) {
    const auto column = std::ranges::find(solutions, result.solution) - solutions.begin();
    return std::pair(cases.at(result.case_name), column);
  };
  std::set<std::optional<std::string>> reported;
  std::vector<Result> kept;
  for (Result& result : results) {
    const bool of_file = result.status == Status::bad_fixture;
    if (of_file ? reported.insert(result.case_name).second
                : !unreadable.contains(result.case_name)) {
      kept.push_back(std::move(result));
    }
  }
  std::ranges::stable_sort(kept, {}, place);
  return kept;
}

/// "./mine.so" becomes "mine", "mistakes/no_eps" "mistakes-no_eps": part of a file's name.
std::string file_word(const std::string& solution) {
  std::string word =
      fs::path(solution).extension() == ".so" ? fs::path(solution).stem().string() : solution;
  std::ranges::replace(word, '/', '-');
  while (word.starts_with('.') || word.starts_with('-')) word.erase(0, 1);
  return word;
}

/// The word, with a number appended if it has been used before.
std::string unused(const std::string& word, std::set<std::string>& used) {
  std::string name = word;
  for (int number = 2; !used.insert(name).second; ++number) {
    name = word + "-" + std::to_string(number);
  }
  return name;
}

}  // namespace

std::vector<Entrant> load_columns(const std::vector<Column>& columns,
                                  std::vector<SolutionPool>& pools, unsigned jobs) {
  std::vector<Entrant> entrants(columns.size());
  std::vector<std::size_t> threads(columns.size());
  in_parallel(columns.size(), jobs, [&](std::size_t i, std::size_t thread) {
    Solution& solution = pools[thread].get(columns[i].solution);
    Entrant& entrant = entrants[i];
    entrant.column = columns[i];
    // A solution that fails to load stays in the table: something is broken.
    if (!solution.load() && solution.status() == Status::skipped) {
      entrant.column.skipped = solution.message();
    }
    entrant.collection = is_collection(solution);
    entrant.on_device = solution.on_device();
    entrant.mode = solution.mode();
    entrant.sources = solution.sources();
    entrant.device = solution.device_facts();
    for (const std::string& function : solution.functions()) {
      const std::size_t end = function.find("__");
      if (end != std::string::npos) entrant.variants.insert(function.substr(end + 2));
    }
    threads[i] = thread;
  });
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (!entrants[i].runs_on_device()) continue;
    pools.front().take(columns[i].solution, pools[threads[i]]);
  }
  return entrants;
}

std::vector<Entrant> default_entrants(std::vector<SolutionPool>& pools, unsigned jobs) {
  std::vector<Column> columns;
  for (const std::string& name : shipped_solutions()) {
    columns.push_back({name, name, "", is_emulated(name)});
  }
  std::vector<Entrant> entrants = load_columns(columns, pools, jobs);
  // No collections, and no host solutions that only serve to derive tolerances.
  std::erase_if(entrants, [](const Entrant& entrant) {
    return entrant.collection || (!entrant.on_device && !entrant.mode.empty()) ||
           entrant.column.label == YardstickNames{}.textbook;
  });
  std::ranges::stable_sort(entrants, {}, [](const Entrant& entrant) {
    const std::string& label = entrant.column.label;
    return label == "reference" ? 0 : label == "fast" ? 1 : entrant.column.skipped ? 3 : 2;
  });
  if (entrants.empty())
    throw UsageError("no shipped solution found; name one with --solution PATH");
  return entrants;
}

std::vector<Result> replay_all(const std::vector<SelectedFixture>& files,
                               const std::vector<Entrant>& entrants,
                               std::vector<SolutionPool>& pools, const RunOptions& options,
                               unsigned jobs) {
  std::vector<Column> on_host, on_device;
  std::vector<std::string> labels;
  for (const Entrant& entrant : entrants) {
    labels.push_back(entrant.column.label);
    (entrant.runs_on_device() ? on_device : on_host).push_back(entrant.column);
  }
  std::vector<std::vector<Result>> results(files.size());
  const auto run = [&](const std::vector<Column>& columns, unsigned threads) {
    if (columns.empty()) return;
    Progress progress;
    std::atomic<std::size_t> done = 0;
    const std::vector<std::size_t> order = largest_first(files);
    in_parallel(files.size(), threads, [&](std::size_t turn, std::size_t thread) {
      const std::size_t file = order[turn];
      progress.show(fmt::format("[{}/{}] {}", done.load(), files.size(), files[file].path));
      std::vector<Result> found = replay_file(files[file], columns, pools[thread], options);
      if (options.file_is_done) options.file_is_done(found);
      std::ranges::move(found, std::back_inserter(results[file]));
      ++done;
    });
  };
  // Solutions on the host side by side on all threads, then those of a device, one call at a time:
  // each thread would need a worker of its own, with a context that takes hundreds of megabytes of
  // the device's memory, and their calls would slow each other down.
  run(on_host, jobs);
  run(on_device, 1);
  std::vector<Result> all;
  for (auto& each : results) {
    std::ranges::move(in_order(std::move(each), labels), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> stems_of(const std::vector<SelectedFixture>& files) {
  std::set<std::string> used;
  std::vector<std::string> stems;
  for (const SelectedFixture& file : files)
    stems.push_back(unused(fs::path(file.path).stem(), used));
  return stems;
}

void Saver::keep(const Case& info, const Result& result, std::vector<Tensor> outputs) {
  if (only_failing_ && result.status == Status::passed) return;
  OutputsFile& saved = saved_[result.solution];
  saved.problem = result.problem;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    saved.entries.push_back(
        {info.name, file_.fixture->signature().outputs[i].name, std::move(outputs[i])});
  }
}

void Saver::write() const {
  std::set<std::string> used;
  for (const auto& [solution, outputs] : saved_) {
    const std::string word = unused(file_word(solution), used);
    const fs::path path = fs::path(folder_) / (stem_ + "." + word + ".h5");
    as_usage<std::exception>([&] { write_outputs(path, outputs); });
  }
}

}  // namespace prenorm::harness
