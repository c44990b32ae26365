#include "check/command.hpp"

#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "fixture/describe.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

struct CalibrateOptions {
  Selection selection;
  YardstickNames by;
  int redraws = 15;
  std::uint64_t seed = 0;
  bool dry_run = false, verbose = false, no_color = false;
  unsigned jobs = processors();
};

/// One case to calibrate, and its result.
struct Piece {
  const SelectedFixture* file;
  const Case* info;
  std::vector<NewTolerance> found;
  std::string error;
};

/// False where a solution does not work: it would fail, or take too long, at other cases too.
bool calibrate_piece(Piece& piece, const CalibrateOptions& options, SolutionPool& pool) {
  const Fixture& fixture = *piece.file->fixture;
  try {
    piece.found = calibrate(fixture.problem(), fixture.signature(), load_case(fixture, *piece.info),
                            yardsticks(pool, options.by), options.redraws, options.seed);
  } catch (const UsageError&) {
    throw;
  } catch (const SolutionFailed& failure) {
    piece.error = failure.what();
    return false;
  } catch (const std::runtime_error& error) {
    piece.error = error.what();
  }
  return true;
}

std::string stored_tolerance(const Piece& piece, const NewTolerance& found) {
  const auto& outputs = piece.file->fixture->signature().outputs;
  const auto at = std::ranges::find(outputs, found.tensor, &TensorSpec::name) - outputs.begin();
  const OutputInfo& output = piece.info->outputs.at(static_cast<std::size_t>(at));
  return describe_tolerances(output.tolerance, output.tolerance_tf32);
}

void print_tolerances(const std::vector<Piece>& pieces, bool colour) {
  for (const Piece& piece : pieces) {
    for (const NewTolerance& found : piece.found) {
      const std::string where =
          piece.file->fixture->problem() + " / " + found.case_name + ", " + found.tensor;
      print(toned(where, Tone::strong, colour) + "\n    derived  " +
            describe_tolerances(found.tolerance, found.tolerance_tf32) + "\n    stored   " +
            stored_tolerance(piece, found) + "\n    " + found.reason + "\n");
    }
  }
}

/// Writes one file's tolerances, or says why not. True where all went well.
bool finish(const SelectedFixture& file, const std::vector<Piece>& pieces,
            const CalibrateOptions& options) {
  const std::string path = printable(file.path);
  std::vector<NewTolerance> found;
  bool good = true;
  for (const Piece& piece : pieces) {
    if (piece.file != &file) continue;
    found.insert(found.end(), piece.found.begin(), piece.found.end());
    if (piece.error.empty()) continue;
    good = false;
    print(path + ": " + printable(piece.error, 2000) + "\n");
  }
  const std::string count = counted(found.size(), "tolerance");
  if (!good) {
    print(path + ": unchanged\n");
  } else if (options.dry_run) {
    print(path + ": " + count + " derived, none written\n");
  } else {
    if (!found.empty()) write_tolerances(file.path, found);
    print(path + ": " + count + " written\n");
  }
  return good;
}

int run(const CalibrateOptions& options) {
  const std::vector<SelectedFixture> files =
      open_files(options.selection, options.jobs, Requirements{.tolerances = false});
  std::vector<Piece> pieces;
  bool unusable = false, good = true;
  for (const SelectedFixture& file : files) {
    if (!file.fixture) {
      print(printable(file.error, 2000) + "\n");
      unusable = true;
    }
    for (const Case* info : file.cases) pieces.push_back({&file, info, {}, {}});
  }
  std::vector<SolutionPool> pools = make_pools(options.jobs);
  {
    Progress progress;
    std::atomic<std::size_t> done = 0;
    // A fixture's data come through one child process, so a file's cases stay on one thread.
    in_parallel(files.size(), options.jobs, [&](std::size_t i, std::size_t thread) {
      for (Piece& piece : pieces) {
        if (piece.file != &files[i]) continue;
        progress.show(fmt::format("[{}/{}] {} / {}", ++done, pieces.size(),
                                  files[i].fixture->problem(), piece.info->name));
        if (!calibrate_piece(piece, options, pools[thread])) break;
      }
    });
  }
  if (options.dry_run || options.verbose) print_tolerances(pieces, wants_colour(options.no_color));
  for (const SelectedFixture& file : files) {
    if (file.fixture) good = finish(file, pieces, options) && good;
  }
  if (unusable) return 2;
  if (!good) return 1;
  if (!pieces.empty()) return 0;
  print("nothing to do: no case is selected\n");
  return 3;
}

}  // namespace

Command fixtures_calibrate_command() {
  const auto options = std::make_shared<CalibrateOptions>();
  CalibrateOptions& o = *options;
  return {
      .name = "calibrate",
      .description = "Derive tolerances from a textbook loop's error and write them to the file",
      .options = {{"FILE TEXT", o.selection.fixtures, "Fixture files, or folders of them",
                   Trait::required},
                  case_options(o.selection),
                  yardstick_options(o.by),
                  {"--redraws N", o.redraws,
                   "Number of random draws, in addition to the stored values", Trait::shows_default,
                   in_range(0, 10000)},
                  {"--seed N", o.seed, "Seed of these draws", Trait::shows_default, whole_number},
                  {"--dry-run", o.dry_run, "Show the tolerances but write nothing"},
                  {"--verbose", o.verbose, "Show the tolerances"},
                  {"--no-color", o.no_color, "Disable colours"},
                  jobs_option(o.jobs)},
      .footer =
          R"(With E the largest error of the textbook loop (in float64: its error in float32 times 2^-29,
if that is larger): atol = 2 E, but at least 4 units in the last
place at the output's root mean square; rtol = 4 eps. A stored tolerance of 0 stays 0.
A 16-bit output that is rounded only once, at the end, and is no product: E is the error
before that rounding, atol = 2 E and half the smallest spacing, rtol = 0.75 eps.
Of many elements in 16 bits and 15 redraws or more, also limits on all errors together: rms, 1.6
times the loop's root mean square, and bias, its mean, each with 8 standard deviations of the draws.
For float32, atol_tf32 and rtol_tf32 are derived in the same way from a loop with tf32
products.

Example:
  prenorm fixtures calibrate mine.h5 --dry-run)",
      .run = [options] { return run(*options); }};
}

}  // namespace prenorm::harness
