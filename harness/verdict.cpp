#include "verdict.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace prenorm::harness {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 16> names{
    "PASSED",          "NOT_IMPLEMENTED",     "INCORRECT_SHAPE",
    "INCORRECT_DTYPE", "INCORRECT_NUMERICAL", "INPUT_MUTATED",
    "OUT_OF_BOUNDS",   "NONDETERMINISTIC",    "RUNTIME_ERROR",
    "TIMEOUT",         "OUT_OF_MEMORY",       "SANDBOX_VIOLATION",
    "COMPILE_ERROR",   "LOAD_ERROR",          "BAD_FIXTURE",
    "SKIPPED",
};
static_assert(names.size() == static_cast<std::size_t>(Status::skipped) + 1);

}  // namespace

std::string_view name(Status status) { return names[static_cast<std::size_t>(status)]; }

Status status_of(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::invalid_argument("no status '" + std::string(name) + "'");
  return static_cast<Status>(found - names.begin());
}

Summary summarize(const std::vector<Result>& results, bool not_implemented_fails) {
  Summary summary;
  for (const Result& result : results) {
    const bool skipped = result.status == Status::skipped ||
                         (result.status == Status::not_implemented && !not_implemented_fails);
    if (skipped) {
      ++summary.skipped;
    } else if (result.status == Status::passed) {
      ++summary.passed;
    } else {
      ++summary.failed;
    }
  }
  return summary;
}

int exit_code(const std::vector<Result>& results, bool not_implemented_fails) {
  const bool bad_fixture = std::ranges::any_of(
      results, [](const Result& result) { return result.status == Status::bad_fixture; });
  if (bad_fixture) return 2;
  const Summary summary = summarize(results, not_implemented_fails);
  if (summary.failed > 0) return 1;
  return summary.passed > 0 ? 0 : 3;
}

}  // namespace prenorm::harness
