#include "cli/selection.hpp"

#include "cli/parallel.hpp"
#include "report/text.hpp"
#include "solution.hpp"

#include <algorithm>
#include <set>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".h5") files.push_back(entry.path().string());
  }
  if (error) throw UsageError("cannot read " + folder.string() + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> default_files() {
  std::error_code ignored;
  if (fs::is_directory("fixtures", ignored)) {
    if (auto files = files_in("fixtures"); !files.empty()) return files;
  }
  const fs::path shipped = home() / "share/prenorm/fixtures";
  if (!fs::is_directory(shipped, ignored)) {
    throw UsageError("no fixtures: neither ./fixtures nor " + shipped.string() +
                     " has any (--fixtures PATH names others)");
  }
  return files_in(shipped);
}

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return matches(pattern, name);
         });
}

/// Throws for a pattern that fits none of the names.
void require_known(const std::vector<std::string>& patterns, const std::set<std::string>& names,
                   const std::string& what) {
  for (const std::string& pattern : patterns) {
    const bool known =
        std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); });
    if (known) continue;
    const std::vector<std::string> candidates(names.begin(), names.end());
    throw UsageError("no " + what + " '" + pattern + "' in these fixtures" +
                     did_you_mean(pattern, candidates));
  }
}

void require_dtypes(const std::vector<std::string>& dtypes) {
  const std::vector<std::string> known{"float64", "float32", "float16", "bfloat16"};
  for (const std::string& dtype : dtypes) {
    if (std::ranges::find(known, dtype) != known.end()) continue;
    throw UsageError("no dtype '" + dtype + "': float64, float32, float16 or bfloat16" +
                     did_you_mean(dtype, known));
  }
}

File open_file(const std::string& path, const Requirements& requirements) {
  File file;
  file.path = path;
  try {
    file.fixture.emplace(path, ReadLimits{}, requirements);
    file.problem = file.fixture->problem();
  } catch (const BadFixture& error) {
    file.error = error.what();
    file.problem = error.problem;
  } catch (const std::exception& error) {
    file.error = error.what();
  }
  return file;
}

/// Picks the cases that fit; adds the names of all to `seen`.
void pick_cases(File& file, const Selection& selection, std::set<std::string>& seen) {
  for (const Case& info : file.fixture->cases()) {
    seen.insert(info.name);
    const std::string dtype(name(info.dtype()));
    const bool typed = selection.dtypes.empty() ||
                       std::ranges::find(selection.dtypes, dtype) != selection.dtypes.end();
    if (typed && any_matches(selection.cases, info.name)) file.cases.push_back(&info);
  }
}

}  // namespace

CLI::Option* add_repeatable(CLI::App& command, const std::string& name,
                            std::vector<std::string>& values, const std::string& description) {
  return command.add_option(name, values, description)->allow_extra_args(false);
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
        return digits ? "" : "'" + text + "' is no whole number from 0 on";
      },
      "");
}

CLI::Validator positive_seconds() {
  return CLI::Validator(
      [](const std::string& text) {
        double seconds = 0;
        const bool number = CLI::detail::lexical_cast(text, seconds);
        return number && seconds > 0 ? "" : "'" + text + "' is no number above 0";
      },
      "");
}

void add_jobs_option(CLI::App& command, unsigned& jobs) {
  command.add_option("--jobs", jobs, "Files at the same time (default: the processors)")
      ->check(CLI::Range(1u, 4096u).description(""))
      ->type_name("N");
}

void add_case_options(CLI::App& command, Selection& selection) {
  add_repeatable(command, "--case", selection.cases, "Only this case; globs")->type_name("NAME");
  add_repeatable(command, "--dtype", selection.dtypes,
                 "Only cases of float64, float32, float16 or bfloat16")
      ->type_name("TYPE");
}

void add_selection_options(CLI::App& command, Selection& selection) {
  add_repeatable(command, "--fixtures", selection.fixtures,
                 "A fixture file or a folder of them (default: the shipped ones)")
      ->type_name("PATH");
  add_repeatable(command, "--problem", selection.problems, "Only this problem; globs as in 'ffn_*'")
      ->type_name("NAME");
  add_case_options(command, selection);
}

std::vector<std::string> fixture_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return default_files();
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      for (std::string& file : files_in(path)) files.push_back(std::move(file));
    } else if (fs::exists(path, error)) {
      files.push_back(path);
    } else {
      throw UsageError("no file or folder " + path);
    }
  }
  // A file that is named twice is one file.
  std::set<std::string> seen;
  std::erase_if(files, [&](const std::string& file) { return !seen.insert(file).second; });
  return files;
}

std::vector<File> open_files(const Selection& selection, unsigned jobs,
                             const Requirements& requirements) {
  require_dtypes(selection.dtypes);
  const std::vector<std::string> paths = fixture_files(selection.fixtures);
  std::vector<File> files(paths.size());
  in_parallel(paths.size(), jobs,
              [&](std::size_t i, std::size_t) { files[i] = open_file(paths[i], requirements); });

  // A file that does not say its problem may be the one that is meant.
  const bool all_named =
      std::ranges::none_of(files, [](const File& file) { return file.problem.empty(); });
  std::set<std::string> problems, cases;
  for (const File& file : files) problems.insert(file.problem);
  if (all_named) require_known(selection.problems, problems, "problem");
  std::erase_if(files, [&](const File& file) {
    return !file.problem.empty() && !any_matches(selection.problems, file.problem);
  });
  bool all_usable = true;  // an unusable file may hold the case that no other has
  for (File& file : files) {
    all_usable = all_usable && file.fixture.has_value();
    if (file.fixture) pick_cases(file, selection, cases);
  }
  if (all_usable) require_known(selection.cases, cases, "case");
  std::erase_if(files, [](const File& file) { return file.fixture && file.cases.empty(); });
  return files;
}

File open_problem(const std::string& word, const Selection& selection) {
  require_dtypes(selection.dtypes);
  std::error_code ignored;
  const bool is_path = fs::is_regular_file(word, ignored);
  const std::vector<std::string> paths =
      is_path ? std::vector{word} : fixture_files(selection.fixtures);
  std::set<std::string> problems, cases;
  std::vector<std::string> unusable;
  for (const std::string& path : paths) {
    File file = open_file(path, Requirements{.tolerances = false});
    const bool wanted = is_path || file.problem == word;
    if (wanted && !file.fixture) throw UsageError(file.error);
    if (file.problem.empty()) {
      unusable.push_back(file.error);
    } else {
      problems.insert(file.problem);
    }
    if (!wanted) continue;
    pick_cases(file, selection, cases);
    require_known(selection.cases, cases, "case");
    return file;
  }
  throw UsageError("no problem '" + word + "' in these fixtures" +
                   did_you_mean(word, std::vector(problems.begin(), problems.end())) +
                   (unusable.empty() ? "" : "; unusable: " + joined(unusable, "; ")));
}

}  // namespace prenorm::harness
