// prenorm list and prenorm show: the problems, and one of them in full.
#include "base/files.hpp"
#include "base/json.hpp"
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

/// "reference", "plain", "mistakes (9)": which of these solutions have a function for the problem.
/// The variants of one that has it, and of a collection, are named if `each_variant`: each as
/// --solution takes it.
std::vector<std::string> solutions_for(const std::string& problem, SolutionPool& pool,
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
  return having;
}

std::string or_none(const std::vector<std::string>& names) {
  return names.empty() ? "none" : joined(names);
}

// --- list -------------------------------------------------------------------------------------

struct ListOptions {
  Selection selection;
  std::string rubric, json;
  bool no_color = false;
};

/// The one that was typed; else the course's, where it is shipped.
Rubric rubric_of(const ListOptions& options) {
  const std::string usual = "cs336-2025";
  const std::vector<std::string> shipped = shipped_rubrics();
  if (options.rubric.empty() && std::ranges::find(shipped, usual) == shipped.end()) return {};
  return as_usage([&] { return read_rubric(options.rubric.empty() ? usual : options.rubric); });
}

/// The item that grades the problem, with others or alone; nullptr for none.
const RubricItem* item_of(const std::string& problem, const Rubric& rubric) {
  const auto found =
      std::ranges::find_if(rubric.items, [&](const RubricItem& item) { return item.has(problem); });
  return found == rubric.items.end() ? nullptr : &*found;
}

/// "1", "5 in attention".
std::string points_of(const RubricItem* item, const std::string& problem) {
  if (item == nullptr) return "-";
  const bool alone = item->problems.size() == 1 && item->name == problem;
  return fmt::format("{}", item->points) + (alone ? "" : " in " + printable(item->name));
}

std::vector<std::string_view> dtypes_of(const SelectedFixture& file) {
  std::vector<std::string_view> names;
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const bool has = std::ranges::any_of(
        file.cases, [dtype](const Case* info) { return info->dtype() == dtype; });
    if (has) names.push_back(name(dtype));
  }
  return names;
}

/// "f64 f32 f16 bf16": short, as there are four of them in most rows.
std::string in_short(const std::vector<std::string_view>& dtypes) {
  std::string text;
  for (const std::string_view full : dtypes) {
    text += (text.empty() ? "" : " ") + std::string(full.starts_with("b") ? "bf" : "f") +
            std::string(full.substr(full.size() - 2));
  }
  return text;
}

Json list_row(const SelectedFixture& file, const RubricItem* item,
              const std::vector<std::string>& solutions) {
  return {{"problem", file.problem.empty() ? Json() : Json(file.problem)},
          {"fixture", file.path},
          {"message", file.error},
          {"cases", file.cases.size()},
          {"dtypes", dtypes_of(file)},
          {"item", item == nullptr ? Json() : Json(item->name)},
          {"points", item == nullptr ? Json() : number(item->points)},
          {"solutions", solutions}};
}

int list(const ListOptions& options) {
  require_reports({options.json});
  SolutionPool pool;
  std::vector<std::string> names = shipped_solutions();
  std::ranges::stable_partition(names, [](const auto& name) { return name == "reference"; });
  const Rubric rubric = rubric_of(options);
  Table table;
  table.head = {"problem", "cases", "types", "points", "solutions"};
  Json report = report_head("list");
  report["rubric"] = rubric.name.empty() ? Json() : Json(rubric.name);
  Json& rows = report["problems"] = Json::array();
  bool unusable = false;
  std::size_t problems = 0, cases = 0;
  for (const SelectedFixture& file :
       open_files(options.selection, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) {
      unusable = true;
      rows.push_back(list_row(file, nullptr, {}));
      table.rows.push_back({{printable(file.path)},
                            {},
                            {},
                            {},
                            {"BAD_FIXTURE: " + printable(file.error), Tone::bad}});
      continue;
    }
    ++problems;
    cases += file.cases.size();
    const std::string& problem = file.fixture->problem();
    const RubricItem* item = item_of(problem, rubric);
    rows.push_back(list_row(file, item, solutions_for(problem, pool, names, true)));
    table.rows.push_back({{printable(problem)},
                          {std::to_string(file.cases.size())},
                          {in_short(dtypes_of(file))},
                          {points_of(item, problem)},
                          {or_none(solutions_for(problem, pool, names, false))}});
  }
  if (!options.json.empty()) write_text(options.json, to_text(report));
  if (options.json != "-") {
    print(render(table, wants_colour(options.no_color)));
    print("\n" + counted(problems, "problem") + ", " + counted(cases, "case") + "; " +
          program_name() + " show PROBLEM: details\n");
  }
  if (unusable) return 2;
  return table.rows.empty() ? 3 : 0;
}

// --- show -------------------------------------------------------------------------------------

struct ShowOptions {
  std::string problem, json;
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

/// Where code stands, "reference/file.hpp:12"; or why there is none.
struct Code {
  std::string place, missing;

  std::string text() const { return place + missing; }
  Json json() const { return place.empty() ? Json() : Json(place); }
};

Code find_code(const std::string& folder, const std::string& ending, const std::string& function) {
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
      return {shown.string() + ":" + std::to_string(*line), ""};
    }
  }
  return {"", has_sources ? "no function of this name in " + folder + "/"
                          : "no sources in " + folder + "/ here"};
}

/// The notebook beside code in "reference/file.hpp:12": notebooks/file.ipynb; empty where there is
/// none.
std::string find_notebook(const Code& reference) {
  const std::string& place = reference.place;
  const std::string stem = fs::path(place.substr(0, place.rfind(':'))).stem().string();
  for (const fs::path& tree : source_trees()) {
    const fs::path file = tree / "notebooks" / (stem + ".ipynb");
    std::error_code ignored;
    if (fs::exists(file, ignored)) {
      return (tree == "." ? file.lexically_relative(".") : file).string();
    }
  }
  return "";
}

/// What the record of a device says of one solution of the problem.
struct OnDevice {
  std::string solution;
  std::optional<std::size_t> passed = {}, cases = {};  // nothing: not yet run on a device
  bool changed = false;                                // since then
  std::string message = "not yet run on a device";
};
PRENORM_JSON(OnDevice, solution, passed, cases, changed, message)

OnDevice recorded(const std::string& problem, const std::string& solution, const Record* record,
                  const std::string& sources) {
  if (record == nullptr || !record->problems.contains(problem)) return {solution};
  const std::size_t passed = record->passed(problem), cases = record->problems.at(problem).size();
  // "recorded 14/15 passed on NVIDIA H200, 2026-11-21; changed since last device run"
  return {solution, passed, cases, record->sources != sources,
          fmt::format("recorded {}/{} passed {}{}", passed, cases, record->origin(),
                      record->note_of_change(sources))};
}

/// For each solution of a device that may have the problem.
std::vector<OnDevice> on_devices(const std::string& problem, SolutionPool& pool) {
  const Records records = read_records(records_folder());
  std::vector<OnDevice> found;
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
      found.push_back(
          recorded(problem, version, records.of(version, solution.sources()), solution.sources()));
    }
  }
  return found;
}

/// All that `show` knows of a problem.
struct Shown {
  SelectedFixture file;
  std::string function;
  Code reference, cuda;
  std::string notebook;
  std::vector<std::string> solutions;
  std::vector<OnDevice> devices;
};

Shown look_up(const ShowOptions& options) {
  Shown shown;
  shown.file = open_problem(options.problem, options.selection);
  const std::string& problem = shown.file.fixture->problem();
  shown.function = "int prenorm_" + problem + "(const prenorm_call*)";
  shown.reference = find_code("reference", ".hpp", problem);
  shown.cuda = find_code("cuda", ".cu", problem);
  shown.notebook = find_notebook(shown.reference);
  SolutionPool pool;
  shown.solutions = solutions_for(problem, pool, shipped_solutions(), true);
  shown.devices = on_devices(problem, pool);
  return shown;
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

std::string show_text(const Shown& shown, bool colour) {
  const Fixture& fixture = *shown.file.fixture;
  std::string text = toned(fixture.problem(), Tone::strong, colour) + "\n\n";
  text += padded("signature", 12) + wrapped_signature(fixture.signature_text(), 12, 100) + "\n";
  text += fact("function", shown.function);
  if (!fixture.source().empty()) text += fact("source", printable(fixture.source()));
  if (!fixture.oracle().empty()) text += fact("oracle", printable(fixture.oracle()));
  text +=
      fact("fixture", printable(shown.file.path) + ", " + counted(shown.file.cases.size(), "case"));
  text += fact("reference", shown.reference.text());
  text += fact("CUDA", shown.cuda.text());
  if (!shown.notebook.empty()) text += fact("notebook", shown.notebook);
  text += fact("solutions", or_none(shown.solutions));
  std::string what = "device";
  for (const OnDevice& device : shown.devices) {
    text += fact(std::exchange(what, ""), device.solution + ": " + device.message);
  }
  text += "\n";
  for (const Case* info : shown.file.cases) {
    text += case_paragraph(*info, fixture.signature(), colour);
  }
  return text;
}

Json output_json(const std::string& name_of_it, const OutputInfo& output) {
  Json object{{"name", name_of_it}, {"dtype", name(output.dtype)}, {"shape", output.shape}};
  const Tolerance none, &bound = output.tolerance ? *output.tolerance : none;
  object["atol"] = output.tolerance ? number(bound.atol) : Json();
  object["rtol"] = output.tolerance ? number(bound.rtol) : Json();
  object["rms"] = member_json(bound.rms);
  object["bias"] = member_json(bound.bias);
  object["atol_tf32"] = output.tolerance_tf32 ? number(output.tolerance_tf32->atol) : Json();
  object["rtol_tf32"] = output.tolerance_tf32 ? number(output.tolerance_tf32->rtol) : Json();
  object["reason"] = output.reason;
  return object;
}

Json case_json(const Case& info, const Signature& signature) {
  Json object{{"name", info.name},
              {"dtype", name(info.dtype())},
              {"description", info.description},
              {"error", member_json(info.error)},
              {"dims", info.redrawn_sizes}};
  Json& scalars = object["scalars"] = Json::object();
  for (std::size_t i = 0; i < info.scalars.size(); ++i) {
    scalars[signature.scalars[i].name] =
        std::visit([](auto value) { return member_json(value); }, info.scalars[i]);
  }
  Json& inputs = object["inputs"] = Json::array();
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    if (!info.inputs[i]) continue;
    inputs.push_back({{"name", signature.inputs[i].name},
                      {"dtype", name(info.inputs[i]->type.dtype)},
                      {"shape", info.inputs[i]->type.shape},
                      {"draw", info.inputs[i]->draw}});
  }
  Json& outputs = object["outputs"] = Json::array();
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    outputs.push_back(output_json(signature.outputs[i].name, info.outputs[i]));
  }
  return object;
}

std::string show_json(const Shown& shown) {
  const Fixture& fixture = *shown.file.fixture;
  Json object = report_head("show");
  object.update({{"problem", fixture.problem()},
                 {"signature", fixture.signature_text()},
                 {"function", shown.function},
                 {"source", fixture.source()},
                 {"oracle", fixture.oracle()},
                 {"fixture", shown.file.path},
                 {"reference", shown.reference.json()},
                 {"cuda", shown.cuda.json()},
                 {"notebook", shown.notebook.empty() ? Json() : Json(shown.notebook)},
                 {"solutions", shown.solutions},
                 {"devices", shown.devices}});
  object["cases"] = array_of(
      shown.file.cases, [&](const Case* info) { return case_json(*info, fixture.signature()); });
  return to_text(object);
}

int show(const ShowOptions& options) {
  require_reports({options.json});
  const Shown shown = look_up(options);
  if (!options.json.empty()) write_text(options.json, show_json(shown));
  if (options.json != "-") print(show_text(shown, wants_colour(options.no_color)));
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
                  json_option(o.json),
                  no_color_option(o.no_color)},
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
      .options = {{"PROBLEM|FILE TEXT", o.problem, "A problem, or a fixture file", Trait::required},
                  {"--fixtures PATH", o.selection.fixtures, "Fixture file, or folder of them"},
                  case_options(o.selection),
                  json_option(o.json),
                  no_color_option(o.no_color)},
      .footer = "Example:\n  prenorm show PROBLEM        (prenorm list shows the names)",
      .run = [options] { return show(*options); }};
}

}  // namespace prenorm::harness
