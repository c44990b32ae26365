// prenorm gradescope: an autograder for Gradescope, of the sources of this checkout.
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/zip.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "grade/adapters.hpp"
#include "grade/exam.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct GradescopeOptions {
  std::string folder, rubric = "cs336-2025", hidden_visibility = "visible";
  std::optional<std::uint64_t> seed;
};

/// What lies in the checkout's own folder and is needed to build.
constexpr std::array<std::string_view, 4> top_files{"prenorm", "CMakeLists.txt",
                                                    "CMakePresets.json", "LICENSE"};
/// What sources and scripts end in; nothing else of their folders goes along.
constexpr std::array<std::string_view, 14> source_endings{
    ".cpp", ".hpp", ".h",  ".txt", ".in", ".cmake",    ".json",
    ".py",  ".md",  ".sh", ".css", ".js", ".mustache", ".toml"};
/// What Gradescope looks for at the archive's root.
constexpr std::array<std::string_view, 2> scripts{"setup.sh", "run_autograder"};

/// The checkout that the launcher lies in, or that the program was built of.
fs::path checkout() {
  std::error_code ignored;
  const char* launcher = std::getenv("PRENORM_LAUNCHER");
  const bool launched = launcher != nullptr && *launcher != '\0';
  const fs::path folder =
      launched ? fs::weakly_canonical(launcher, ignored).parent_path() : fs::path(PRENORM_SOURCE);
  for (const char* part : {"CMakeLists.txt", "harness/cli/gradescope/setup.sh", "fixtures"}) {
    if (fs::exists(folder / part, ignored)) continue;
    throw UsageError(folder.string() + ": no " + part +
                     " there; an autograder is built of the sources, so this command runs in a "
                     "checkout: ./prenorm gradescope DIR");
  }
  return folder;
}

bool is_executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

/// A list of files: where each is to lie, and what it is a copy of.
class Bundle {
 public:
  void add(const std::string& name, const fs::path& from) {
    entries_.push_back({name, from, is_executable(from)});
  }

  /// The plain files below a folder of the checkout that are wanted. Not links, nor what begins
  /// with a dot or belongs to Python alone.
  template <class Wanted>
  void add_below(const fs::path& checkout, const std::string& folder, Wanted wanted) {
    fs::recursive_directory_iterator entry(checkout / folder);
    for (; entry != fs::recursive_directory_iterator(); ++entry) {
      const std::string name = entry->path().filename();
      const fs::file_type type = entry->symlink_status().type();
      if (name.starts_with('.') || name == "__pycache__") {
        if (type == fs::file_type::directory) entry.disable_recursion_pending();
      } else if (type == fs::file_type::regular && wanted(entry->path())) {
        add(fs::relative(entry->path(), checkout).generic_string(), entry->path());
      }
    }
  }

  /// Copies the files to below the folder, and puts all that into an archive beside them.
  std::size_t write(const fs::path& folder) {
    std::ranges::sort(entries_, {}, &ZipEntry::name);
    for (ZipEntry& entry : entries_) {
      const fs::path to = folder / entry.name;
      fs::create_directories(to.parent_path());
      if (entry.from != to) fs::copy_file(entry.from, to);  // settings.sh was written there
      entry.from = to;
    }
    write_zip(folder / "autograder.zip", entries_);
    return entries_.size();
  }

 private:
  std::vector<ZipEntry> entries_;
};

bool is_source(const fs::path& path) {
  return std::ranges::find(source_endings, path.extension().string()) != source_endings.end() ||
         std::ranges::find(scripts, path.filename().string()) != scripts.end();
}

/// What setup.sh and run_autograder read, and an instructor may change.
std::string settings(const GradescopeOptions& options, const Rubric& rubric) {
  std::vector<std::string> words{
      "set", "--", "--rubric", rubric.name, "--hidden-visibility", options.hidden_visibility};
  if (options.seed) words.insert(words.end(), {"--seed", std::to_string(*options.seed)});
  const char* packages = rubric.adapters.empty() ? "" : "python3-numpy python3-torch";
  return fmt::format(
      "# shellcheck shell=sh disable=SC2034\n"
      "# To change something, change it here and zip what this folder holds anew.\n\n"
      "# The options of `prenorm grade`:\n{}\n\n"
      "# Packages that submissions need and prenorm itself does not:\npackages='{}'\n",
      shell_line(words), packages);
}

/// The rubric, checked against the checkout's fixtures: not first when somebody is graded.
Rubric checked_rubric(const GradescopeOptions& options, const fs::path& sources) {
  try {
    const Rubric rubric = read_rubric(options.rubric);
    GradeOptions how;
    how.jobs = processors();
    how.selection.fixtures = {(sources / "fixtures").string()};
    const Exam exam = make_exam(rubric, how);
    if (!rubric.adapters.empty()) {
      const Adapters adapters(rubric.path.parent_path() / rubric.adapters, exam.signatures());
    }
    return rubric;
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

int make_autograder(const GradescopeOptions& options) {
  const fs::path folder = options.folder, sources = checkout();
  require_empty_folder(folder);
  const Rubric rubric = checked_rubric(options, sources);
  std::size_t count = 0;
  try {
    Bundle bundle;
    for (const std::string_view name : top_files) bundle.add(std::string(name), sources / name);
    bundle.add_below(sources, "harness", is_source);
    bundle.add_below(sources, "reference", is_source);
    // Of the fixtures what is graded by; of the rubrics the one.
    bundle.add_below(sources, "fixtures", [&](const fs::path& path) {
      return path.parent_path() == sources / "fixtures" &&
             (path.extension() == ".h5" || path.filename() == "h5.py" ||
              path.filename() == "CMakeLists.txt");
    });
    bundle.add("fixtures/rubrics/" + rubric.name + ".toml", rubric.path);
    if (!rubric.adapters.empty()) {
      bundle.add("fixtures/rubrics/" + rubric.adapters,
                 rubric.path.parent_path() / rubric.adapters);
    }
    for (const std::string_view name : scripts) {
      bundle.add(std::string(name), sources / "harness/cli/gradescope" / name);
    }
    fs::create_directories(folder);
    const auto write = options.seed ? write_private : write_text;
    write((folder / "settings.sh").string(), settings(options, rubric));
    bundle.add("settings.sh", folder / "settings.sh");
    if (options.seed) make_private((folder / "autograder.zip").string());
    count = bundle.write(folder);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    throw UsageError(error.what());
  }
  const fs::path archive = folder / "autograder.zip";
  print(fmt::format(
      "{}: {}, {:.1f} MiB, by {}\n\n"
      "Upload it as the assignment's autograder. The base of its image must be Debian 12 or as "
      "new\n"
      "(CMake 3.25, GCC 12); the image takes some minutes to build. {}\n",
      printable(archive.string()), counted(count, "file"),
      static_cast<double>(fs::file_size(archive)) / 0x1p20, printable(rubric.name),
      options.seed ? "Hidden cases are drawn by the seed\n"
                     "that you gave: it lies in settings.sh, and every submission gets the same."
                   : "It holds nothing that is\nhidden: hidden cases are drawn anew where each "
                     "submission is graded."));
  return 0;
}

}  // namespace

void add_gradescope(Arguments& app, Action& chosen) {
  auto options = std::make_shared<GradescopeOptions>();
  Arguments& command =
      *app.add_subcommand("gradescope", "Make an autograder for Gradescope: a zip file to upload");
  command.add_option("DIR", options->folder, "A new or empty folder")->required();
  command.add_option("--rubric", options->rubric, "A shipped rubric or a .toml file")
      ->capture_default_str()
      ->type_name("NAME|FILE");
  add_hidden_visibility(command, options->hidden_visibility);
  command
      .add_option("--seed", options->seed,
                  "Seed of the hidden cases, the same for everybody\n(default: new hidden cases "
                  "for each submission)")
      ->check(whole_number())
      ->type_name("N");
  command.footer(
      "Writes DIR/ with setup.sh, run_autograder, the sources that they build, settings.sh, and\n"
      "autograder.zip of all that.\n\n"
      "Examples:\n"
      "  prenorm gradescope autograder --rubric cs336-2025\n"
      "  prenorm gradescope autograder --hidden-visibility after_due_date");
  command.callback(
      [options, &chosen] { chosen = [options] { return make_autograder(*options); }; });
}

}  // namespace prenorm::harness
