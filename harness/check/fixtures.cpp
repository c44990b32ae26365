// prenorm fixtures: make and export; `check` and `calibrate` have files of their own.
#include "check/command.hpp"

#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <map>

namespace prenorm::harness {
namespace {

constexpr const char* where_to_look =
    "Where to look for problems: a fixture file, or a folder of them";

// --- make -------------------------------------------------------------------------------------

struct MakeOptions {
  std::vector<std::string> words;  // problems or files
  Selection selection;
  std::string out;
  YardstickNames by;
  FreshOptions fresh;
  unsigned jobs = processors();
};

/// The fresh cases of one file, written to the folder. Returns the new file's path.
std::string make(const SelectedFixture& file, const MakeOptions& options, SolutionPool& pool,
                 Progress& progress) {
  const Fixture& fixture = *file.fixture;
  std::vector<LoadedCase> cases;
  for (const Case* info : file.cases) {
    progress.show(fixture.problem() + " / " + info->name);
    cases.push_back(fair_case(fixture.problem(), fixture.signature(), load_case(fixture, *info),
                              yardsticks(pool, options.by), options.fresh));
  }
  const fs::path path = fs::path(options.out) / (fixture.problem() + ".h5");
  std::error_code ignored;
  if (fs::equivalent(path, file.path, ignored)) {
    throw UsageError("--out would overwrite " + file.path);
  }
  write_fixture(
      path, fixture.problem(), fixture.signature_text(), fixture.source(),
      "prenorm " + options.by.truth + ", float64, seed " + std::to_string(options.fresh.seed),
      cases);
  return path.string();
}

int make_all(const MakeOptions& options) {
  std::vector<SelectedFixture> files;
  std::map<std::string, std::string> from;  // by problem, which is the new file's name
  for (const std::string& word : options.words) {
    const SelectedFixture& file = files.emplace_back(open_problem(word, options.selection));
    const auto [first, is_new] = from.try_emplace(file.fixture->problem(), word);
    if (is_new) continue;
    throw UsageError(first->second + " and " + word + " would both be written as " + first->first +
                     ".h5");
  }
  make_folder(options.out);
  std::vector<SolutionPool> pools = make_pools(options.jobs);
  std::vector<std::string> lines(files.size());
  std::vector<char> failed(files.size(), 0);
  {
    Progress progress;
    in_parallel(files.size(), options.jobs, [&](std::size_t i, std::size_t thread) {
      try {
        const std::string path = make(files[i], options, pools[thread], progress);
        lines[i] = path + ": " + counted(files[i].cases.size(), "case");
      } catch (const UsageError&) {
        throw;
      } catch (const std::runtime_error& error) {  // of one file: the others are made
        lines[i] = files[i].path + ": " + error.what();
        failed[i] = 1;
      }
    });
  }
  bool any_failed = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    print(printable(lines[i], 2000) + "\n");
    any_failed = any_failed || failed[i] != 0;
  }
  return any_failed ? 1 : 0;
}

Command make_command() {
  const auto options = std::make_shared<MakeOptions>();
  MakeOptions& o = *options;
  return {
      .name = "make",
      .description = "Make fresh cases, with expected values from the reference and new tolerances",
      .options = {{"PROBLEM|FILE TEXT", o.words, "Problems, or fixture files", Trait::required},
                  {"--seed N", o.fresh.seed, "The same seed gives the same files", Trait::required,
                   whole_number},
                  {"--out DIR", o.out, "Folder for the new files", Trait::required},
                  {"--resize", o.fresh.resize,
                   "Also draw new sizes, from 1 to twice the stored ones"},
                  {"--fixtures PATH", o.selection.fixtures, where_to_look},
                  case_options(o.selection),
                  yardstick_options(o.by),
                  jobs_option(o.jobs)},
      .footer =
          R"(Cases that must be refused, and inputs without a draw attribute, are copied unchanged.

Example:
  prenorm fixtures make PROBLEM --seed 7 --out fresh --resize
  prenorm verify --fixtures fresh)",
      .run = [options] { return make_all(*options); }};
}

// --- export -----------------------------------------------------------------------------------

struct ExportOptions {
  std::string problem, to, name;
  std::vector<std::string> fixtures;
};

/// The one case of that name, or that the pattern selects.
const Case& chosen_case(const SelectedFixture& file, const std::string& name) {
  if (file.cases.size() == 1) return *file.cases.front();
  std::vector<std::string> names;
  for (const Case* info : file.cases) names.push_back(info->name);
  constexpr std::size_t most = 8;
  const bool cut = names.size() > most;
  const std::string count = counted(names.size(), "case");
  if (cut) names.resize(most);
  throw UsageError("--case '" + name + "' selects " + count + ", wanted one: " + joined(names) +
                   (cut ? ", ..." : ""));
}

/// The inputs that NumPy has no type for.
std::vector<std::string> widened_inputs(const Signature& signature, const LoadedCase& loaded) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    const bool widened = loaded.inputs[i] && loaded.inputs[i]->dtype == DType::bfloat16;
    if (widened) names.push_back(signature.inputs[i].name);
  }
  return names;
}

int export_case(const ExportOptions& options) {
  const std::vector<std::string>& endings = case_file_endings();
  const std::string ending = fs::path(options.to).extension();
  if (std::ranges::find(endings, ending) == endings.end()) {
    throw UsageError("--to " + options.to + ": the ending chooses the format, wanted " +
                     joined(endings));
  }
  Selection selection;
  selection.fixtures = options.fixtures;
  selection.cases = {options.name};
  const SelectedFixture file = open_problem(options.problem, selection);
  const Case& info = chosen_case(file, options.name);
  require_writable(options.to);
  const Signature& signature = file.fixture->signature();
  std::vector<std::string> written;
  LoadedCase loaded;
  as_usage<std::runtime_error>([&] {
    loaded = load_case(*file.fixture, info);
    written = write_case(options.to, file.fixture->problem(), signature, loaded);
  });
  std::string text = options.to + ": " + joined(written);
  const std::vector<std::string> widened = widened_inputs(signature, loaded);
  if (ending == ".npz" && !widened.empty()) {
    text += " (" + joined(widened) + ": bfloat16 as float32, with the same values)";
  }
  print(printable(text, 2000) + "\n");
  return 0;
}

Command export_command() {
  const auto options = std::make_shared<ExportOptions>();
  ExportOptions& o = *options;
  return {
      .name = "export",
      .description = "Write one case's inputs, scalars and expected outputs for other tools",
      .options = {{"PROBLEM|FILE TEXT", o.problem, "A problem, or a fixture file", Trait::required},
                  {"--case NAME", o.name, "The case (a glob that selects one)", Trait::required},
                  {"--to FILE", o.to, "The new file: .npz, .pt or .json", Trait::required},
                  {"--fixtures PATH", o.fixtures, where_to_look}},
      .footer = R"(  .npz   numpy.load("case.npz"); bfloat16 becomes float32
  .pt    torch.load("case.pt", weights_only=True); a scalar float is a tensor without axes
  .json  a text to read

In .npz and .pt, inputs and scalars have their own names. The expected output y is
expected_y, in float64, with its tolerances atol_y and rtol_y; a case that must be refused
has the text error instead. An absent input is left out of .npz, None or null elsewhere.

Example:
  prenorm fixtures export PROBLEM --case NAME --to case.npz)",
      .run = [options] { return export_case(*options); }};
}

}  // namespace

Command fixtures_command() {
  return {.name = "fixtures",
          .description = "Make fresh cases, check fixture files, derive tolerances, export cases",
          .footer = R"(Examples:
  prenorm fixtures make mine.h5 --seed 1 --out fresh
  prenorm fixtures check mine.h5
  prenorm fixtures calibrate mine.h5
  prenorm fixtures export mine.h5 --case NAME --to case.npz)",
          .commands = {make_command(), fixtures_check_command(), fixtures_calibrate_command(),
                       export_command()}};
}

}  // namespace prenorm::harness
