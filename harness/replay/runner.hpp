// Replays cases through several solutions: what `verify`, `mistakes` and `fixtures check` share.
#pragma once

#include "fixture/selection.hpp"
#include "replay/fresh.hpp"
#include "replay/replay.hpp"

#include <functional>
#include <map>
#include <memory>

namespace prenorm::harness {

/// Of all tensors of a case that the emulator is given, unless somebody asks for more.
inline constexpr std::int64_t most_elements_emulated = 65536;

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
  /// Somebody's CUDA in the emulator: no large case.
  bool small = false;
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
  std::string textbook_tf32 = "plain-tf32";
  bool tf32_tolerances = true;
};

/// The solutions of these names. "plain-tf32" is absent if it was not built.
Yardsticks yardsticks(SolutionPool& pool, const YardstickNames& names);

/// A pool for each of that many threads.
std::vector<SolutionPool> make_pools(unsigned jobs, const Solution::Options& options = {});

struct RunOptions {
  ReplayOptions replay;
  std::optional<FreshOptions> fresh;  // replay fresh cases instead of the stored values
  bool error_cases = true;            // also the cases that must be refused
  std::vector<std::string> repeat;    // options to add to the command that repeats a case
  /// Called with what came of a case that was run, and with the outputs, if there are any.
  std::function<void(const LoadedCase&, const Result&, std::vector<Tensor>, Solution&)>
      keep_outputs;
};

/// The results of a file's selected cases, in the order of cases, then columns. An unusable
/// file gives one BAD_FIXTURE without a case; a case whose data are damaged one with it.
std::vector<Result> replay_file(const File& file, const std::vector<Column>& columns,
                                SolutionPool& pool, const RunOptions& options);

/// The variants of a problem that a solution exports: "no_eps" of "<problem>__no_eps".
std::vector<std::string> variants_of(const std::string& problem, Solution& solution);

/// True for a solution that exports nothing but variants: a collection, not a solution.
bool is_collection(Solution& solution);

}  // namespace prenorm::harness
