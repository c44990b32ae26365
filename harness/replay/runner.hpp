// Replays cases through several solutions: what `verify`, `mistakes` and `fixtures check` share.
#pragma once

#include "fixture/selection.hpp"
#include "replay/calibrate.hpp"
#include "replay/replay.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace prenorm::harness {

/// Of all tensors of a case that the emulator is given: somebody's CUDA, and a shipped solution
/// that nobody named, whose large cases the project's own tests run.
inline constexpr std::int64_t most_elements_emulated = 65536, most_elements_unnamed = 16384;

/// One column of the table.
struct Column {
  std::string label;     // in results: as it was typed
  std::string solution;  // what find_solution() takes
  std::string function;  // instead of the problem's own: a variant; empty: the problem's
  /// An emulated solution that nobody named: no large case, and one call a case, for the emulator
  /// takes the threads in one order.
  bool brief = false;
  /// Why it cannot run here, if that is known in advance: no worker starts, no data is read.
  std::optional<std::string> skipped = std::nullopt;
  /// Elements of the largest case that somebody's CUDA is given in the emulator.
  std::optional<std::uint64_t> emulator_limit = std::nullopt;
};

/// What is known about a column once its library has been loaded.
struct Entrant {
  Column column;
  bool on_device = false;
  bool collection = false;
  std::string mode, sources;
  std::optional<DeviceFacts> device;
  std::set<std::string> variants;  // of any problem

  bool runs_on_device() const { return on_device && !column.skipped; }
};

/// Solutions by name, each with its own worker process. One pool per thread.
class SolutionPool {
 public:
  explicit SolutionPool(const Solution::Options& options = {}) : options_(options) {}

  /// Throws UsageError, with the nearest name, for a solution that does not exist.
  Solution& get(const std::string& name);
  /// Moves a solution, with its worker, from another pool into this one.
  void take(const std::string& name, SolutionPool& from);

 private:
  Solution::Options options_;
  std::map<std::string, std::unique_ptr<Solution>> solutions_;
};

/// The names of the solutions from which tolerances are derived.
struct YardstickNames {
  std::string textbook = "plain", truth = "reference";
  // In float64 as good as the truth and faster: for the redraws of a tolerance, and to judge the
  // truth itself. Not used beside another truth, or where it was not built.
  std::string fast = "fast";
  std::string textbook_tf32 = "plain-tf32";
  bool tf32_tolerances = true;
};

/// The solutions of these names. "plain-tf32" is absent if it was not built.
Yardsticks yardsticks(SolutionPool& pool, const YardstickNames& names);

/// A pool for each of that many threads.
std::vector<SolutionPool> make_pools(unsigned jobs, const Solution::Options& options = {});

struct RunOptions {
  ReplayOptions replay;
  std::optional<FreshOptions> fresh;      // replay fresh cases instead of the stored values
  std::function<bool(const Case&)> only;  // the cases to run; empty: all
  std::vector<std::string> repeat;        // options to add to the command that repeats a case
  // Called for different files in different threads.
  /// With the result of a case that was run, and with its outputs, if there are any.
  std::function<void(const SelectedFixture&, const LoadedCase&, const Result&, std::vector<Tensor>,
                     Solution&)>
      keep_outputs;
  /// By replay_all(), with the results of one file.
  std::function<void(const std::vector<Result>&)> file_is_done;
};

/// The results of a file's selected cases, in the order of cases, then columns. An unusable
/// file gives one BAD_FIXTURE without a case; a case whose data are damaged one with it.
std::vector<Result> replay_file(const SelectedFixture& file, const std::vector<Column>& columns,
                                SolutionPool& pool, const RunOptions& options);

/// The variants of a problem that a solution exports: "no_eps" of "<problem>__no_eps".
std::vector<std::string> variants_of(const std::string& problem, Solution& solution);

/// Loads every column once. Solutions that run on a device end up in the first pool.
std::vector<Entrant> load_columns(const std::vector<Column>& columns,
                                  std::vector<SolutionPool>& pools, unsigned jobs);

/// `reference` first, then `fast` and the other shipped solutions, those that cannot run here last;
/// no collections, and not the textbook loop. Throws UsageError where there are none.
std::vector<Entrant> default_entrants(std::vector<SolutionPool>& pools, unsigned jobs);

/// The results of all files, in the order of files, cases and entrants. A case that cannot be read
/// is reported once.
std::vector<Result> replay_all(const std::vector<SelectedFixture>& files,
                               const std::vector<Entrant>& entrants,
                               std::vector<SolutionPool>& pools, const RunOptions& options,
                               unsigned jobs);

/// One variant of one problem, over the cases that have expected outputs.
struct Variant {
  struct Cases {
    std::vector<std::string> tried;
    std::vector<std::string> caught;  // those in which it failed
  };
  std::string problem;
  std::string name;                     // "no_eps"
  std::map<std::string, Cases> dtypes;  // only those that it is written for
  std::vector<Result> results;

  std::vector<std::string> caught() const;  // the names of all cases in which it failed
  std::size_t tried() const;
};

/// Replays the file's cases through every variant that the collection has for its problem. Cases
/// that must be refused are skipped: a variant checks no arguments. Long ones are for variants that
/// no other case of some type catches. `unusable` receives results of damaged cases.
std::vector<Variant> catches(const SelectedFixture& file, const std::string& collection,
                             SolutionPool& pool, std::vector<Result>& unusable);

// What `verify --save` writes.

/// The file names without folder and extension, made unique.
std::vector<std::string> stems_of(const std::vector<SelectedFixture>& files);

/// Collects what solutions return for one fixture file, and writes a file for each solution:
/// <folder>/<stem>.<solution>.h5.
class Saver {
 public:
  Saver(const SelectedFixture& file, std::string stem, std::string folder, bool only_failing)
      : file_(file),
        stem_(std::move(stem)),
        folder_(std::move(folder)),
        only_failing_(only_failing) {}

  /// The outputs of a case, if they are to be saved.
  void keep(const Case& info, const Result& result, std::vector<Tensor> outputs);
  void write() const;

 private:
  const SelectedFixture& file_;
  std::string stem_, folder_;
  bool only_failing_;
  std::map<std::string, OutputsFile> saved_;
};

}  // namespace prenorm::harness
