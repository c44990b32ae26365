// prenorm new: a submission to start from, which builds and grades at 0 points.
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/home.hpp"
#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/start.hpp"
#include "fixture/selection.hpp"
#include "grade/adapters.hpp"
#include "grade/rubric.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <map>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string folder, language, rubric;
  std::vector<std::string> fixtures, problems;
};

/// The words that templates leave open: @FUNCTIONS@ and others.
using Words = std::map<std::string, std::string>;

std::string filled(const std::string& pattern, const Words& words) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t begin = std::min(pattern.find('@', at), pattern.size());
    const std::size_t end = pattern.find('@', begin + 1);
    text += pattern.substr(at, begin - at);
    at = begin;
    if (begin == pattern.size()) break;
    const auto found = end == std::string::npos
                           ? words.end()
                           : words.find(pattern.substr(begin + 1, end - begin - 1));
    text += found == words.end() ? "@" : found->second;
    at = found == words.end() ? begin + 1 : end + 1;
  }
  return text;
}

bool grades(const Rubric& rubric, const std::string& problem) {
  return std::ranges::any_of(rubric.items, [&](const RubricItem& item) {
    return std::ranges::find(item.problems, problem) != item.problems.end();
  });
}

/// The problems of the fixtures, those with the fewest arguments first: one is built of another.
std::vector<StartProblem> problems_of(const NewOptions& options, const Rubric* rubric) {
  Selection selection;
  selection.fixtures = options.fixtures;
  selection.problems = options.problems;
  std::vector<StartProblem> problems;
  for (const File& file : open_files(selection, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) throw UsageError(file.path + ": " + file.error);
    const Fixture& fixture = *file.fixture;
    if (rubric != nullptr && !grades(*rubric, fixture.problem())) continue;
    problems.push_back(
        {fixture.problem(), fixture.signature_text(), fixture.source(), fixture.signature()});
  }
  std::ranges::stable_sort(problems, {}, [](const StartProblem& problem) {
    return problem.signature.inputs.size() + problem.signature.scalars.size();
  });
  return problems;
}

/// What Adapters::json() says, for those of the problems that have a function; the others go.
Json adapters_for(std::vector<StartProblem>& problems, const Rubric& rubric) {
  if (rubric.adapters.empty()) {
    throw UsageError("rubric " + rubric.name +
                     " has no adapters file, which names the Python functions");
  }
  std::map<std::string, std::string> signatures;
  for (const StartProblem& problem : problems) signatures[problem.name] = problem.signature_text;
  const Adapters adapters(rubric.path.parent_path() / rubric.adapters, signatures);
  auto json = adapters.empty() ? Json::object() : parse_json(adapters.json());
  std::erase_if(problems,
                [&](const StartProblem& problem) { return !json.contains(problem.name); });
  return json;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw UsageError(path.string() + ": cannot be read");
  return text;
}

/// Writes every template of the language; the names written, sorted.
std::vector<std::string> write_files(const fs::path& folder, const std::string& language,
                                     const Words& words) {
  const fs::path templates = home() / "share/prenorm/templates" / language;
  std::error_code error;
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(templates, error)) {
    if (entry.path().extension() != ".in") continue;
    std::string name = entry.path().stem();
    if (name == "gitignore") name = ".gitignore";
    files[name] = filled(read(entry.path()), words);
  }
  if (files.empty()) throw UsageError(templates.string() + ": no templates there");
  fs::create_directories(folder, error);
  if (error) throw UsageError(folder.string() + ": " + error.message());
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    std::ofstream file(folder / name, std::ios::binary);
    file << text;
    if (!file.flush()) throw UsageError((folder / name).string() + ": cannot be written");
    names.push_back(name);
  }
  return names;
}

int start(const NewOptions& options) {
  const fs::path folder = options.folder;
  require_empty_folder(folder);
  const bool device = options.language == "cuda";
  const bool python = options.language == "python" || options.language == "triton";
  const std::string usual = python ? "cs336-2025" : "all";
  const std::string graded_by = options.rubric.empty() ? usual : options.rubric;
  const Rubric rubric = read_rubric(graded_by);
  std::vector<StartProblem> problems =
      problems_of(options, options.rubric.empty() ? nullptr : &rubric);
  Words words{{"FUNCTIONS", ""}, {"EXPORTS", ""}, {"LIST", ""}};
  if (python) {
    const auto adapters = adapters_for(problems, rubric);
    for (const StartProblem& problem : problems) {
      std::string& functions = words["FUNCTIONS"];
      functions +=
          (functions.empty() ? "" : "\n\n") + python_function(problem, adapters.at(problem.name));
    }
  }
  if (problems.empty()) {
    throw UsageError("no problem selected" + (options.problems.empty() || options.rubric.empty()
                                                  ? std::string()
                                                  : ": rubric " + rubric.name + " grades none of " +
                                                        joined(options.problems)));
  }
  for (const StartProblem& problem : problems) {
    const bool graded = grades(rubric, problem.name);
    words["LIST"] += "- `" + problem.name + (graded ? "`\n" : "` (no points of its own)\n");
    if (graded && words["FIRST"].empty()) words["FIRST"] = problem.name;
    if (python) continue;
    words["FUNCTIONS"] += cpp_function(problem, device) + "\n";
    words["EXPORTS"] += cpp_export(problem);
  }
  // The templates have the line's end.
  for (const char* word : {"FUNCTIONS", "EXPORTS", "LIST"}) {
    if (words[word].ends_with('\n')) words[word].pop_back();
  }
  if (words["FIRST"].empty()) words["FIRST"] = problems.front().name;
  std::error_code ignored;
  // The README is read in the folder itself.
  const bool shipped = rubric.path.parent_path() == read_rubric(usual).path.parent_path();
  words["RUBRIC"] =
      shell_word(shipped ? graded_by : fs::proximate(rubric.path, folder, ignored).string());
  words["PREFIX"] = shell_word(fs::weakly_canonical(home(), ignored).string());

  const std::vector<std::string> names = write_files(folder, options.language, words);
  const std::string where = shell_word(options.folder), program = program_name();
  std::string text = fmt::format("{}: {} to write; {}\n\nNext:\n", printable(options.folder),
                                 counted(problems.size(), "function"), joined(names));
  if (device) {
    text += fmt::format("  {} verify --solution {}\n", program,
                        shell_word((folder / "solution.cu").string()));
  } else if (!python) {
    const std::string build = shell_word((folder / "build").string());
    text += fmt::format("  cmake -S {} -B {} -DCMAKE_PREFIX_PATH={} && cmake --build {}\n", where,
                        build, words["PREFIX"], build);
    text += fmt::format("  {} verify --solution {}\n", program,
                        shell_word((folder / "build/libmine.so").string()));
  }
  text += fmt::format("  {} grade {} --rubric {}\n", program, where, shell_word(graded_by));
  text +=
      fmt::format("\nOr see after each save what passes, with hints:\n  {} watch {} --rubric {}\n",
                  program, where, shell_word(graded_by));
  print(text);
  return 0;
}

}  // namespace

void add_new(Arguments& app, Action& chosen) {
  auto options = std::make_shared<NewOptions>();
  Arguments& command = *app.add_subcommand(
      "new", "Create a submission to start from: it builds and scores 0 points");
  command.add_option("DIR", options->folder, "A new or empty folder")->required();
  command.add_option("--language", options->language, "cpp, cuda, python or triton")
      ->required()
      ->check(is_member({"cpp", "cuda", "python", "triton"}))
      ->type_name("NAME");
  command
      .add_option("--rubric", options->rubric,
                  "Only the problems that this rubric grades; in Python, by its function names\n"
                  "(default: all problems; in Python, all that cs336-2025 has a name for)")
      ->type_name("NAME|FILE");
  add_repeatable(command, "--problem", options->problems, "Only this problem (glob)")
      ->type_name("NAME");
  add_repeatable(command, "--fixtures", options->fixtures, "Fixture file, or folder of them")
      ->type_name("PATH");
  command.footer(
      "Examples:\n"
      "  prenorm new mine --language cpp\n"
      "  prenorm new mine --language python --rubric cs336-2024");
  command.callback([options, &chosen] { chosen = [options] { return start(*options); }; });
}

}  // namespace prenorm::harness
