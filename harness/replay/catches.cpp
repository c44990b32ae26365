#include "replay/catches.hpp"

#include <algorithm>

namespace prenorm::harness {

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

std::vector<Variant> catches(const File& file, const std::string& collection, SolutionPool& pool,
                             std::vector<Result>& unusable) {
  const std::string& problem = file.fixture->problem();
  std::vector<Variant> variants;
  std::vector<Column> columns;
  for (const std::string& name : variants_of(problem, pool.get(collection))) {
    variants.push_back({problem, name, {}, {}});
    columns.push_back({collection + "/" + name, collection, problem + "__" + name, false});
  }
  if (columns.empty()) return variants;
  RunOptions options;
  options.error_cases = false;
  options.replay = {.twice = false, .alone = false};
  for (Result& result : replay_file(file, columns, pool, options)) {
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
  return variants;
}

}  // namespace prenorm::harness
