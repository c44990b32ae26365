#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct MakeOptions {
  std::vector<std::string> words;  // problems or files
  Selection selection;
  std::string out;
  YardstickNames by;
  FreshOptions fresh;
  unsigned jobs = processors();
};

/// The fresh cases of one file, written to the folder. Returns the new file's path.
std::string make(const File& file, const MakeOptions& options, SolutionPool& pool,
                 Progress& progress) {
  const Fixture& fixture = *file.fixture;
  std::vector<LoadedCase> cases;
  for (const Case* info : file.cases) {
    progress.show(fixture.problem() + " / " + info->name);
    cases.push_back(fresh_case(fixture.problem(), fixture.signature(), load_case(fixture, *info),
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

int run(const MakeOptions& options) {
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error) throw UsageError("cannot make folder " + options.out + ": " + error.message());
  std::vector<File> files;
  for (const std::string& word : options.words) {
    files.push_back(open_problem(word, options.selection));
  }
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

}  // namespace

void add_fixtures_make(Arguments& fixtures, Action& chosen) {
  auto options = std::make_shared<MakeOptions>();
  Arguments& command = *fixtures.add_subcommand(
      "make", "Make fresh cases, with expected values from the reference and new tolerances");
  command.add_option("PROBLEM|FILE", options->words, "Problems, or fixture files")->required();
  command.add_option("--seed", options->fresh.seed, "The same seed gives the same files")
      ->required()
      ->check(whole_number())
      ->type_name("N");
  command.add_option("--out", options->out, "Folder for the new files")
      ->required()
      ->type_name("DIR");
  command.add_flag("--resize", options->fresh.resize,
                   "Also draw new sizes, from 1 to twice the stored ones");
  add_repeatable(command, "--fixtures", options->selection.fixtures,
                 "Where to look for problems: a fixture file, or a folder of them")
      ->type_name("PATH");
  add_case_options(command, options->selection);
  add_yardstick_options(command, options->by);
  add_jobs_option(command, options->jobs);
  command.footer(
      "Cases that must be refused, and inputs without a draw attribute, are copied unchanged.\n\n"
      "Example:\n  prenorm fixtures make PROBLEM --seed 7 --out fresh --resize\n"
      "  prenorm verify --fixtures fresh");
  command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace prenorm::harness
