// prenorm list and prenorm show: the problems, and one of them in full.
#include "base/paths.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "fixture/describe.hpp"
#include "fixture/selection.hpp"
#include "grade/rubric.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"
#include "report/table.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <regex>
#include <set>
#include <utility>

namespace prenorm::harness {
namespace {

/// "reference, plain, mistakes (9)": which of these solutions have a function for the problem. The
/// variants of one that has it, and of a collection, are named if `each_variant`.
std::string solutions_for(const std::string& problem, SolutionPool& pool,
                          const std::vector<std::string>& names, bool each_variant) {
  std::vector<std::string> having;
  for (const std::string& name : names) {
    Solution& solution = pool.get(name);
    if (!solution.load()) continue;
    const std::vector<std::string> variants = variants_of(problem, solution);
    const bool has_it = solution.functions().contains(problem);
    if (has_it) having.push_back(name);
    if (each_variant) {
      for (const std::string& variant : variants) having.push_back(name + "/" + variant);
    } else if (!has_it && !variants.empty()) {
      having.push_back(name + " (" + std::to_string(variants.size()) + ")");
    }
  }
  return having.empty() ? "none" : joined(having);
}

// --- list -------------------------------------------------------------------------------------

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
  return as_usage([&] { return read_rubric(options.rubric.empty() ? usual : options.rubric); });
}

/// "1", "5 in attention": what an item of the rubric gives for the problem, with others or alone.
std::string points_for(const std::string& problem, const Rubric& rubric) {
  for (const RubricItem& item : rubric.items) {
    if (!item.has(problem)) continue;
    const bool alone = item.problems.size() == 1 && item.name == problem;
    return fmt::format("{}", item.points) + (alone ? "" : " in " + printable(item.name));
  }
  return "-";
}

std::string dtypes_of(const SelectedFixture& file) {
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
  for (const SelectedFixture& file :
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
                          {solutions_for(file.fixture->problem(), pool, names, false)}});
  }
  print(render(table, wants_colour(options.no_color)));
  print("\n" + counted(problems, "problem") + ", " + counted(cases, "case") + "; " +
        program_name() + " show PROBLEM: details\n");
  if (unusable) return 2;
  return table.rows.empty() ? 3 : 0;
}

// --- show -------------------------------------------------------------------------------------

struct ShowOptions {
  std::string problem;
  Selection selection;
  bool no_color = false;
};

/// Where sources may stand: the checkout that this is run in, the one that the build tree lies in,
/// or beside an installed program.
std::vector<fs::path> source_trees() {
  std::vector<fs::path> trees{"."};
  std::error_code ignored;
  const fs::path build = fs::weakly_canonical(home(), ignored);
  trees.push_back(build.parent_path().parent_path());  // <checkout>/build/release
  trees.push_back(build / "share/prenorm");
  return trees;
}

/// The first line of the file that defines a function of that name: it begins at the margin, and
/// the name stands before a parenthesis. Or that exports other functions under this name: a macro
/// PRENORM_..EXPORT..(name, ...
std::optional<int> line_of_function(const fs::path& path, const std::string& function) {
  std::ifstream file(path);
  const std::regex definition("^[A-Za-z_].*\\b" + function + "\\(.*|^PRENORM_\\w*EXPORT\\w*\\(" +
                              function + ",.*");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const bool found = line.find(function) != std::string::npos && line.size() < 1000 &&
                       !line.starts_with("return") && std::regex_match(line, definition);
    if (found) return number;
  }
  return std::nullopt;
}

/// "reference/file.hpp:12", or why there is nothing to show.
std::string find_code(const std::string& folder, const std::string& ending,
                      const std::string& function) {
  bool has_sources = false;
  for (const fs::path& tree : source_trees()) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(tree / folder, error)) {
      if (entry.path().extension() == ending) files.push_back(entry.path());
    }
    has_sources = has_sources || !files.empty();
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      const auto line = line_of_function(file, function);
      if (!line) continue;
      const fs::path shown = tree == "." ? file.lexically_relative(".") : file;
      return shown.string() + ":" + std::to_string(*line);
    }
  }
  return has_sources ? "no function of this name in " + folder + "/"
                     : "no sources in " + folder + "/ here";
}

/// The notebook beside code in "reference/file.hpp:12": notebooks/file.ipynb; empty where there is
/// none.
std::string find_notebook(const std::string& reference) {
  const std::string stem = fs::path(reference.substr(0, reference.rfind(':'))).stem().string();
  for (const fs::path& tree : source_trees()) {
    const fs::path file = tree / "notebooks" / (stem + ".ipynb");
    std::error_code ignored;
    if (fs::exists(file, ignored)) {
      return (tree == "." ? file.lexically_relative(".") : file).string();
    }
  }
  return "";
}

/// "recorded 14/15 passed on NVIDIA H200, 2026-11-21; changed since last device run".
std::string recorded(const std::string& problem, const Record* record, const std::string& sources) {
  if (record == nullptr || !record->problems.contains(problem)) return "not yet run on a device";
  const auto& cases = record->problems.at(problem);
  return fmt::format("recorded {}/{} passed {}{}", record->passed(problem), cases.size(),
                     record->origin(), record->note_of_change(sources));
}

/// What device records say of the problem: a text for each solution of a device that may have it.
std::vector<std::string> on_devices(const std::string& problem, SolutionPool& pool) {
  const Records records = read_records(records_folder());
  std::vector<std::string> texts;
  for (const std::string& name : shipped_solutions()) {
    Solution& solution = pool.get(name);
    solution.load();
    if (!solution.on_device()) continue;
    std::vector<std::string> versions;
    const std::set<std::string>& functions = solution.functions();
    // Without a device the functions may not be known.
    if (functions.empty() || functions.contains(problem)) versions.push_back(name);
    for (const std::string& variant : variants_of(problem, solution)) {
      versions.push_back(name + "/" + variant);
    }
    for (const std::string& version : versions) {
      texts.push_back(
          version + ": " +
          recorded(problem, records.of(version, solution.sources()), solution.sources()));
    }
  }
  return texts;
}

std::string fact(const std::string& what, const std::string& value) {
  constexpr std::size_t indent = 12;
  return padded(what, indent) + wrapped(value, indent, 100) + "\n";
}

std::string case_paragraph(const Case& info, const Signature& signature, bool colour) {
  const std::string dtype(name(info.dtype()));
  const std::string sizes = describe_sizes(info, signature);
  std::string text = toned(info.name, Tone::strong, colour) + "  " + dtype;
  const auto line = [&text](const std::string& words) {
    if (!words.empty()) text += "    " + wrapped(words, 4, 100) + "\n";
  };
  const bool short_enough = info.name.size() + dtype.size() + display_width(sizes) + 4 <= 100;
  text += short_enough ? "  " + sizes + "\n" : "\n";
  if (!short_enough) line(sizes);
  line(printable(info.description));
  if (info.error) line("must be refused: " + printable(*info.error));
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const OutputInfo& output = info.outputs[i];
    std::string words = signature.outputs[i].name + ": " +
                        describe_tolerances(output.tolerance, output.tolerance_tf32);
    if (!output.reason.empty()) words += " (" + printable(output.reason) + ")";
    line(words);
  }
  return text;
}

int show(const ShowOptions& options) {
  const SelectedFixture file = open_problem(options.problem, options.selection);
  const Fixture& fixture = *file.fixture;
  const bool colour = wants_colour(options.no_color);
  std::string text = toned(fixture.problem(), Tone::strong, colour) + "\n\n";
  text += padded("signature", 12) + wrapped_signature(fixture.signature_text(), 12, 100) + "\n";
  text += fact("function", "int prenorm_" + fixture.problem() + "(const prenorm_call*)");
  if (!fixture.source().empty()) text += fact("source", printable(fixture.source()));
  if (!fixture.oracle().empty()) text += fact("oracle", printable(fixture.oracle()));
  text += fact("fixture", printable(file.path) + ", " + counted(file.cases.size(), "case"));
  const std::string reference = find_code("reference", ".hpp", fixture.problem());
  text += fact("reference", reference);
  text += fact("CUDA", find_code("cuda", ".cu", fixture.problem()));
  const std::string notebook = find_notebook(reference);
  if (!notebook.empty()) text += fact("notebook", notebook);
  SolutionPool pool;
  text += fact("solutions", solutions_for(fixture.problem(), pool, shipped_solutions(), true));
  std::string what = "device";
  for (const std::string& text_of_version : on_devices(fixture.problem(), pool)) {
    text += fact(std::exchange(what, ""), text_of_version);
  }
  text += "\n";
  for (const Case* info : file.cases) {
    text += case_paragraph(*info, fixture.signature(), colour);
  }
  print(text);
  return 0;
}

}  // namespace

Command list_command() {
  const auto options = std::make_shared<ListOptions>();
  ListOptions& o = *options;
  return {
      .name = "list",
      .description = "List the problems with their cases, points and solutions",
      .options = {selection_options(o.selection),
                  {"--rubric NAME|FILE", o.rubric,
                   "Rubric whose points are shown (default: cs336-2025)"},
                  {"--no-color", o.no_color, "Disable colours"}},
      .footer =
          R"(A number after a solution is its number of variants, as in the collection of mistakes.

Example:
  prenorm list --problem 'ffn_*')",
      .run = [options] { return list(*options); }};
}

Command show_command() {
  const auto options = std::make_shared<ShowOptions>();
  ShowOptions& o = *options;
  return {
      .name = "show",
      .description = "Show a problem's signature, its cases with tolerances, and where its code is",
      .options = {{"PROBLEM TEXT", o.problem, "A problem, or a fixture file", Trait::required},
                  {"--fixtures PATH", o.selection.fixtures, "Fixture file, or folder of them"},
                  case_options(o.selection),
                  {"--no-color", o.no_color, "Disable colours"}},
      .footer = "Example:\n  prenorm show PROBLEM        (prenorm list shows the names)",
      .run = [options] { return show(*options); }};
}

}  // namespace prenorm::harness
