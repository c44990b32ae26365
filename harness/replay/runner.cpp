#include "replay/runner.hpp"

#include "base/paths.hpp"
#include "base/text.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace prenorm::harness {
namespace {

/// Cases of more work are tried with a variant only where no other catches it.
constexpr std::int64_t most_work_of_all = 1 << 18;

/// The command that repeats a file, one case of it, or one case with one solution.
std::string repeat_line(const SelectedFixture& file, const std::optional<std::string>& case_name,
                        const std::string& solution, const RunOptions& options) {
  std::vector<std::string> words{program_name(), "verify", "--fixtures", file.path};
  if (case_name) words.insert(words.end(), {"--case", *case_name});
  if (!solution.empty()) words.insert(words.end(), {"--solution", solution});
  words.insert(words.end(), options.repeat.begin(), options.repeat.end());
  return shell_line(words);
}

Result unusable(const SelectedFixture& file, const std::optional<std::string>& case_name,
                const std::string& why, const RunOptions& options) {
  Result result;
  result.fixture = file.path;
  if (file.fixture) result.problem = file.fixture->problem();
  result.case_name = case_name;
  result.status = Status::bad_fixture;
  result.message = why;
  result.repeat = repeat_line(file, case_name, "", options);
  return result;
}

/// "no function prenorm_x; its variants are a, b".
std::string what_is_missing(const std::string& problem, const std::string& function,
                            Solution& solution) {
  std::string text = "no function prenorm_" + solution.absent_for(function);
  const std::vector<std::string> variants = variants_of(problem, solution);
  if (!variants.empty()) text += "; its variants are " + joined(variants);
  return text;
}

/// A case's data, read or drawn when a solution first needs them.
class Data {
 public:
  Data(const SelectedFixture& file, const Case& info, SolutionPool& pool, const RunOptions& options,
       const YardstickNames& by)
      : file_(file), info_(info), pool_(pool), options_(options), by_(by) {}

  /// The case as this solution is judged. Fresh answers are those of the truth; its own column is
  /// compared with the solution that redraws are computed by.
  const LoadedCase& get(const std::string& solution) {
    if (!loaded_) {
      loaded_ = load_case(*file_.fixture, info_);
      if (options_.fresh) {
        loaded_ = fair_case(file_.fixture->problem(), file_.fixture->signature(), *loaded_,
                            yardsticks(pool_, by_), *options_.fresh);
      }
    }
    if (!options_.fresh || solution != by_.truth || !is_redrawn(info_)) return *loaded_;
    if (!by_another_) {
      by_another_ = loaded_;
      by_another_->expected =
          exact_outputs(file_.fixture->problem(), file_.fixture->signature(), loaded_->inputs,
                        loaded_->info.scalars, yardsticks(pool_, by_).redraws);
    }
    return *by_another_;
  }

 private:
  const SelectedFixture& file_;
  const Case& info_;
  SolutionPool& pool_;
  const RunOptions& options_;
  const YardstickNames& by_;
  std::optional<LoadedCase> loaded_, by_another_;
};

/// One case through one solution. Throws BadFixture, and std::runtime_error where no fresh case
/// can be made.
Result replay_case(const SelectedFixture& file, const Case& info, const Column& column, Data& data,
                   SolutionPool& pool, const RunOptions& options) {
  const std::string& problem = file.fixture->problem();
  Result result;
  std::vector<Tensor> outputs;
  Solution* ran = nullptr;
  const auto left_out = [&result](Status status, const std::string& why) {
    result.status = status;
    result.message = why;
  };
  if (column.skipped) {
    left_out(Status::skipped, *column.skipped);
  } else if (Solution& solution = pool.get(column.solution); !solution.load()) {
    left_out(solution.status(), solution.message());
  } else {
    const std::string wanted = column.function.empty() ? problem : column.function;
    if (solution.function_for(wanted).empty()) {
      left_out(Status::not_implemented, what_is_missing(problem, wanted, solution));
    } else if (column.brief && info.elements() > most_elements_unnamed) {
      left_out(Status::skipped, "large for the emulator");
    } else if (column.emulator_limit && std::cmp_greater(info.elements(), *column.emulator_limit)) {
      left_out(Status::skipped,
               fmt::format("large for the emulator: more than {} elements (--emulator-limit)",
                           *column.emulator_limit));
    } else {
      ran = &solution;
      const ReplayOptions how = column.brief ? ReplayOptions{false, false} : options.replay;
      result = replay(wanted, file.fixture->signature(), data.get(column.solution), solution, how,
                      options.keep_outputs ? &outputs : nullptr);
    }
  }
  result.fixture = file.path;
  result.problem = problem;
  result.case_name = info.name;
  result.solution = column.label;
  result.dtype = name(info.dtype());
  result.repeat = repeat_line(file, info.name, column.label, options);
  if (options.keep_outputs && ran != nullptr) {
    options.keep_outputs(file, data.get(column.solution), result, std::move(outputs), *ran);
  }
  return result;
}

/// Whether tf32 tolerances apply to a solution.
bool needs_tf32(const std::vector<Column>& columns, SolutionPool& pool) {
  return std::ranges::any_of(columns, [&pool](const Column& column) {
    Solution& solution = pool.get(column.solution);
    return solution.load() && solution.mode() == "tf32";
  });
}

}  // namespace

Solution& SolutionPool::get(const std::string& name) {
  std::unique_ptr<Solution>& solution = solutions_[name];
  if (!solution) solution = std::make_unique<Solution>(solution_of_user(name, options_));
  return *solution;
}

void SolutionPool::take(const std::string& name, SolutionPool& from) {
  if (this != &from) solutions_[name] = std::move(from.solutions_[name]);
}

Yardsticks yardsticks(SolutionPool& pool, const YardstickNames& names) {
  const std::string& tf32 = names.textbook_tf32;
  const bool none = tf32.empty() || (tf32 == YardstickNames{}.textbook_tf32 && !is_shipped(tf32));
  Solution& truth = pool.get(names.truth);
  const bool own = names.truth != YardstickNames{}.truth || !is_shipped(names.fast);
  return {pool.get(names.textbook), truth, own ? truth : pool.get(names.fast),
          none ? nullptr : &pool.get(tf32), names.tf32_tolerances};
}

std::vector<SolutionPool> make_pools(unsigned jobs, const Solution::Options& options) {
  std::vector<SolutionPool> pools;
  for (unsigned i = 0; i < std::max(1u, jobs); ++i) pools.emplace_back(options);
  return pools;
}

std::vector<Result> replay_file(const SelectedFixture& file, const std::vector<Column>& columns,
                                SolutionPool& pool, const RunOptions& options) {
  if (!file.fixture) return {unusable(file, std::nullopt, file.error, options)};
  YardstickNames by;
  if (!options.fresh || !needs_tf32(columns, pool)) by.tf32_tolerances = false;
  std::vector<Result> results;
  for (const Case* info : file.cases) {
    if (options.only && !options.only(*info)) continue;
    Data data(file, *info, pool, options, by);
    std::vector<Result> of_case;
    try {
      for (const Column& column : columns) {
        of_case.push_back(replay_case(file, *info, column, data, pool, options));
      }
    } catch (const UsageError&) {
      throw;
    } catch (const SolutionFailed&) {  // by which fresh cases are drawn
      throw;
    } catch (const std::runtime_error& error) {
      // No solution is to blame for a damaged file or a case that cannot be drawn.
      of_case = {unusable(file, info->name, error.what(), options)};
    } catch (const std::bad_alloc&) {
      of_case = {unusable(file, info->name, "needs more memory than is available", options)};
    }
    std::ranges::move(of_case, std::back_inserter(results));
  }
  return results;
}

std::vector<std::string> variants_of(const std::string& problem, Solution& solution) {
  std::vector<std::string> variants;
  solution.load();
  const std::string prefix = problem + "__";
  for (const std::string& function : solution.functions()) {
    if (function.starts_with(prefix)) variants.push_back(function.substr(prefix.size()));
  }
  return variants;
}

std::vector<std::string> Variant::caught() const {
  std::vector<std::string> names;
  for (const auto& [dtype, cases] : dtypes) {
    names.insert(names.end(), cases.caught.begin(), cases.caught.end());
  }
  std::ranges::sort(names);
  return names;
}

std::size_t Variant::tried() const {
  std::size_t count = 0;
  for (const auto& [dtype, cases] : dtypes) count += cases.tried.size();
  return count;
}

std::vector<Variant> catches(const SelectedFixture& file, const std::string& collection,
                             SolutionPool& pool, std::vector<Result>& unusable) {
  const std::string& problem = file.fixture->problem();
  std::vector<Variant> variants;
  std::vector<Column> columns;
  for (const std::string& name : variants_of(problem, pool.get(collection))) {
    variants.push_back({problem, name, {}, {}});
    columns.push_back({collection + "/" + name, collection, problem + "__" + name, false});
  }
  if (columns.empty()) return variants;
  RunOptions options;
  options.replay = {.twice = false, .alone = false};
  std::vector<Column> asked = columns;
  for (const bool are_long : {false, true}) {
    options.only = [are_long](const Case& info) {
      return !info.error && (info.work() > most_work_of_all) == are_long;
    };
    for (Result& result : replay_file(file, asked, pool, options)) {
      const auto at = std::ranges::find(columns, result.solution, &Column::label);
      if (at == columns.end()) {
        unusable.push_back(std::move(result));
        continue;
      }
      Variant& variant = variants[static_cast<std::size_t>(at - columns.begin())];
      const bool ran = result.status != Status::not_implemented && result.status != Status::skipped;
      if (ran) {
        Variant::Cases& cases = variant.dtypes[result.dtype];
        cases.tried.push_back(*result.case_name);
        if (result.status != Status::passed) cases.caught.push_back(*result.case_name);
      }
      variant.results.push_back(std::move(result));
    }
    asked.clear();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool is_caught = std::ranges::none_of(
          variants[i].dtypes, [](const auto& each) { return each.second.caught.empty(); });
      if (!is_caught || variants[i].dtypes.empty()) asked.push_back(columns[i]);
    }
  }
  return variants;
}

}  // namespace prenorm::harness
