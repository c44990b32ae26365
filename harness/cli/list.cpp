#include "cli/command.hpp"
#include "cli/parallel.hpp"
#include "cli/runner.hpp"
#include "cli/terminal.hpp"
#include "printable.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

#include <algorithm>

namespace prenorm::harness {
namespace {

struct Options {
  Selection selection;
  bool no_color = false;
};

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

int list(const Options& options) {
  SolutionPool pool;
  std::vector<std::string> names = shipped_solutions();
  std::ranges::stable_partition(names, [](const auto& name) { return name == "reference"; });
  Table table;
  table.head = {"problem", "cases", "types", "solutions"};
  bool unusable = false;
  std::size_t problems = 0, cases = 0;
  for (const File& file :
       open_files(options.selection, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) {
      unusable = true;
      table.rows.push_back(
          {{printable(file.path)}, {}, {}, {"BAD_FIXTURE: " + printable(file.error), Tone::bad}});
      continue;
    }
    ++problems;
    cases += file.cases.size();
    table.rows.push_back({{printable(file.fixture->problem())},
                          {std::to_string(file.cases.size())},
                          {dtypes_of(file)},
                          {solutions_for(file.fixture->problem(), pool, names)}});
  }
  print(render(table, wants_colour(options.no_color)));
  print("\n" + counted(problems, "problem") + ", " + counted(cases, "case") + "; " +
        program_name() + " show PROBLEM tells more\n");
  if (unusable) return 2;
  return table.rows.empty() ? 3 : 0;
}

}  // namespace

void add_list(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("list", "The problems, their cases and which solutions have them");
  add_selection_options(command, options->selection);
  command.add_flag("--no-color", options->no_color, "No colour");
  command.footer(
      "A number behind a solution counts variants, as in a collection of mistakes.\n\n"
      "Example:\n  prenorm list --problem 'ffn_*'");
  command.callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

}  // namespace prenorm::harness
