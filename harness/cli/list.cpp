#include "base/error.hpp"
#include "base/home.hpp"
#include "base/parallel.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "fixture/selection.hpp"
#include "grade/rubric.hpp"
#include "replay/runner.hpp"
#include "report/table.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

struct ListOptions {
  Selection selection;
  std::string rubric;
  bool no_color = false;
};

/// The one that was typed; else the course's, where it is shipped.
Rubric rubric_of(const ListOptions& options) {
  const std::string usual = "cs336-2025";
  const std::vector<std::string> shipped = shipped_rubrics();
  if (options.rubric.empty() && std::ranges::find(shipped, usual) == shipped.end()) return {};
  try {
    return read_rubric(options.rubric.empty() ? usual : options.rubric);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

/// "1", "5 in attention": what an item of the rubric gives for the problem, with others or alone.
std::string points_for(const std::string& problem, const Rubric& rubric) {
  for (const RubricItem& item : rubric.items) {
    if (std::ranges::find(item.problems, problem) == item.problems.end()) continue;
    const bool alone = item.problems.size() == 1 && item.name == problem;
    return fmt::format("{}", item.points) + (alone ? "" : " in " + printable(item.name));
  }
  return "-";
}

/// "reference, plain, mistakes (9)": which shipped solutions have a function for the problem.
std::string solutions_for(const std::string& problem, SolutionPool& pool,
                          const std::vector<std::string>& names) {
  std::vector<std::string> having;
  for (const std::string& name : names) {
    Solution& solution = pool.get(name);
    if (!solution.load()) continue;
    const std::size_t variants = variants_of(problem, solution).size();
    if (solution.functions().contains(problem)) {
      having.push_back(name);
    } else if (variants > 0) {
      having.push_back(name + " (" + std::to_string(variants) + ")");
    }
  }
  return having.empty() ? "none" : joined(having);
}

std::string dtypes_of(const File& file) {
  std::string text;
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const bool has = std::ranges::any_of(
        file.cases, [dtype](const Case* info) { return info->dtype() == dtype; });
    if (!has) continue;
    // f64 f32 f16 bf16: short, as there are four of them in most rows.
    const std::string_view full = name(dtype);
    const bool brain = full.starts_with("b");
    text += (text.empty() ? "" : " ") + std::string(brain ? "bf" : "f") +
            std::string(full.substr(full.size() - 2));
  }
  return text;
}

int list(const ListOptions& options) {
  SolutionPool pool;
  std::vector<std::string> names = shipped_solutions();
  std::ranges::stable_partition(names, [](const auto& name) { return name == "reference"; });
  const Rubric rubric = rubric_of(options);
  Table table;
  table.head = {"problem", "cases", "types", "points", "solutions"};
  bool unusable = false;
  std::size_t problems = 0, cases = 0;
  for (const File& file :
       open_files(options.selection, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) {
      unusable = true;
      table.rows.push_back({{printable(file.path)},
                            {},
                            {},
                            {},
                            {"BAD_FIXTURE: " + printable(file.error), Tone::bad}});
      continue;
    }
    ++problems;
    cases += file.cases.size();
    table.rows.push_back({{printable(file.fixture->problem())},
                          {std::to_string(file.cases.size())},
                          {dtypes_of(file)},
                          {points_for(file.fixture->problem(), rubric)},
                          {solutions_for(file.fixture->problem(), pool, names)}});
  }
  print(render(table, wants_colour(options.no_color)));
  print("\n" + counted(problems, "problem") + ", " + counted(cases, "case") + "; " +
        program_name() + " show PROBLEM: details\n");
  if (unusable) return 2;
  return table.rows.empty() ? 3 : 0;
}

}  // namespace

void add_list(Arguments& app, Action& chosen) {
  auto options = std::make_shared<ListOptions>();
  Arguments& command =
      *app.add_subcommand("list", "List the problems with their cases, points and solutions");
  add_selection_options(command, options->selection);
  command
      .add_option("--rubric", options->rubric,
                  "Rubric whose points are shown (default: cs336-2025)")
      ->type_name("NAME|FILE");
  command.add_flag("--no-color", options->no_color, "Disable colours");
  command.footer(
      "A number after a solution is its number of variants, as in the collection of mistakes.\n\n"
      "Example:\n  prenorm list --problem 'ffn_*'");
  command.callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

}  // namespace prenorm::harness
