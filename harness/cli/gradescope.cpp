// prenorm gradescope: an autograder for Gradescope, of the sources of this checkout, or of the
// files of this installation if it is one that can move.
#include "base/files.hpp"
#include "base/paths.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "grade/adapters.hpp"
#include "grade/exam.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

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

/// What only an installation that can move has: the list of the libraries that it brings.
constexpr const char* libraries = "share/prenorm/libraries.txt";
/// What of an installation no grading needs.
constexpr std::array<std::string_view, 3> left_out{"share/prenorm/notebooks", "share/prenorm/docs",
                                                   "share/prenorm/fixtures/rubrics"};
/// Where the scripts find the program: where a build of the sources has it, too.
constexpr const char* built = "build/release/";

/// What an autograder is made of.
struct Origin {
  fs::path folder;   // of the checkout, or of the installation
  bool is_built;     // an installation
  fs::path scripts;  // the folder of setup.sh and run_autograder
  fs::path fixtures;
};

/// The installation, if it can move; or the checkout that the launcher is in, or that the program
/// was built of.
Origin origin() {
  std::error_code ignored;
  const char* launcher = std::getenv("PRENORM_LAUNCHER");
  const bool launched = launcher != nullptr && *launcher != '\0';
  if (!launched && fs::exists(home() / libraries, ignored)) {
    const fs::path share = home() / "share/prenorm";
    return {home(), true, share / "gradescope", share / "fixtures"};
  }
  const fs::path folder =
      launched ? fs::weakly_canonical(launcher, ignored).parent_path() : fs::path(PRENORM_SOURCE);
  for (const char* part : {"CMakeLists.txt", "harness/cli/gradescope/setup.sh", "fixtures"}) {
    if (fs::exists(folder / part, ignored)) continue;
    throw UsageError(folder.string() + ": no " + part +
                     " there; an autograder is built of the sources, so this command runs in a "
                     "checkout (./prenorm gradescope DIR), or in an unpacked archive");
  }
  return {folder, false, folder / "harness/cli/gradescope", folder / "fixtures"};
}

bool is_executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

/// A list of files: where each is to lie, and what it is a copy of.
class Bundle {
 public:
  /// `is_program`: whether or not the copy in an installation may be run.
  void add(const std::string& name, const fs::path& from, bool is_program = false) {
    entries_.push_back({name, from, is_program || is_executable(from)});
  }

  /// The plain files below a folder of the origin that are wanted, under the prefix. Not links, nor
  /// what begins with a dot or belongs to Python alone.
  template <class Wanted>
  void add_below(const fs::path& origin, const std::string& folder, Wanted wanted,
                 const std::string& prefix = "") {
    fs::recursive_directory_iterator entry(origin / folder);
    for (; entry != fs::recursive_directory_iterator(); ++entry) {
      const std::string name = entry->path().filename();
      const fs::file_type type = entry->symlink_status().type();
      if (name.starts_with('.') || name == "__pycache__") {
        if (type == fs::file_type::directory) entry.disable_recursion_pending();
      } else if (type == fs::file_type::regular && wanted(entry->path())) {
        add(prefix + fs::relative(entry->path(), origin).generic_string(), entry->path());
      }
    }
  }

  /// Copies the files to below the folder, and puts all that into an archive beside them, which no
  /// other user may read if it `is_private`.
  std::size_t write(const fs::path& folder, bool is_private) {
    std::ranges::sort(entries_, {}, &ZipEntry::name);
    for (ZipEntry& entry : entries_) {
      const fs::path to = folder / entry.name;
      fs::create_directories(to.parent_path());
      if (entry.from != to) {  // settings.sh was written there
        const auto bytes = read_whole(entry.from);
        if (!bytes) throw UsageError(entry.from.string() + ": cannot be read");
        write_text(to.string(), *bytes);
      }
      if (entry.executable) fs::permissions(to, fs::perms(0755));
      entry.from = to;
    }
    write_zip(folder / "autograder.zip", entries_, is_private);
    return entries_.size();
  }

 private:
  std::vector<ZipEntry> entries_;
};

bool is_source(const fs::path& path) {
  return std::ranges::find(source_endings, path.extension().string()) != source_endings.end() ||
         std::ranges::find(scripts, path.filename().string()) != scripts.end();
}

/// Packages that submissions need: what adapters are written with, or what builds a project. The
/// sources are built with a compiler anyway.
std::string packages_of(const Rubric& rubric, bool is_built) {
  std::string names = rubric.adapters.empty() ? "" : "python3-numpy python3-torch";
  if (is_built)
    names += (names.empty() ? "" : " ") + std::string("g++ cmake ninja-build bubblewrap");
  return names;
}

/// What setup.sh and run_autograder read, and an instructor may change.
std::string settings(const GradescopeOptions& options, const Rubric& rubric, bool is_built) {
  std::vector<std::string> words{
      "set", "--", "--rubric", rubric.name, "--hidden-visibility", options.hidden_visibility};
  if (options.seed) words.insert(words.end(), {"--seed", std::to_string(*options.seed)});
  return fmt::format(
      "# shellcheck shell=sh disable=SC2034\n"
      "# To change something, change it here and zip what this folder holds anew.\n\n"
      "# The options of `prenorm grade`:\n{}\n\n"
      "# Packages that submissions need and prenorm itself does not:\npackages='{}'\n",
      shell_line(words), packages_of(rubric, is_built));
}

/// The rubric, checked against the fixtures: not first when somebody is graded.
Rubric checked_rubric(const GradescopeOptions& options, const fs::path& fixtures) {
  return as_usage([&] {
    const Rubric rubric = read_rubric(options.rubric);
    GradeOptions how;
    how.jobs = processors();
    how.selection.fixtures = {fixtures.string()};
    const Exam exam = make_exam(rubric, how);
    if (!rubric.adapters.empty()) {
      const Adapters adapters(rubric.path.parent_path() / rubric.adapters, exam.signatures());
    }
    return rubric;
  });
}

void add_sources(Bundle& bundle, const Origin& from) {
  for (const std::string_view name : top_files) bundle.add(std::string(name), from.folder / name);
  bundle.add_below(from.folder, "harness", is_source);
  bundle.add_below(from.folder, "reference", is_source);
  // Of the fixtures what is graded by.
  bundle.add_below(from.folder, "fixtures", [&](const fs::path& path) {
    return path.parent_path() == from.fixtures &&
           (path.extension() == ".h5" || path.filename() == "h5.py" ||
            path.filename() == "CMakeLists.txt");
  });
}

void add_installation(Bundle& bundle, const Origin& from) {
  const auto is_needed = [&](const fs::path& path) {
    const std::string name = fs::relative(path, from.folder).generic_string();
    return std::ranges::none_of(left_out, [&](std::string_view folder) {
      return name.starts_with(std::string(folder) + '/');
    });
  };
  bundle.add_below(from.folder, "", is_needed, built);
}

/// The rubric, where the program looks for rubrics by name.
void add_rubric(Bundle& bundle, const Origin& from, const Rubric& rubric) {
  const std::string folder =
      (from.is_built ? std::string(built) + "share/prenorm/" : "") + "fixtures/rubrics/";
  bundle.add(folder + rubric.name + ".toml", rubric.path);
  if (rubric.adapters.empty()) return;
  bundle.add(folder + rubric.adapters, rubric.path.parent_path() / rubric.adapters);
}

int make_autograder(const GradescopeOptions& options) {
  const fs::path folder = options.folder;
  const Origin from = origin();
  require_empty_folder(folder);
  const Rubric rubric = checked_rubric(options, from.fixtures);
  std::size_t count = 0;
  bool is_new = false, is_begun = false;
  try {
    Bundle bundle;
    from.is_built ? add_installation(bundle, from) : add_sources(bundle, from);
    add_rubric(bundle, from, rubric);
    for (const std::string_view name : scripts) {
      bundle.add(std::string(name), from.scripts / name, true);
    }
    is_new = fs::create_directories(folder);
    is_begun = true;  // in a folder that was empty
    const auto write = options.seed ? write_private : write_text;
    write((folder / "settings.sh").string(), settings(options, rubric, from.is_built));
    bundle.add("settings.sh", folder / "settings.sh");
    count = bundle.write(folder, options.seed.has_value());
  } catch (const std::exception& error) {
    std::error_code ignored;
    // Half an autograder is none.
    if (is_begun) {
      fs::directory_iterator entry(folder, ignored);
      for (; entry != fs::directory_iterator(); entry.increment(ignored)) {
        fs::remove_all(entry->path(), ignored);
      }
    }
    if (is_new) fs::remove(folder, ignored);
    throw UsageError(error.what());
  }
  const fs::path archive = folder / "autograder.zip";
  print(fmt::format(
      "{}: {}, {:.1f} MiB, by {}\n\n"
      "Upload it as the assignment's autograder. The base of its image must be Debian 12 or as "
      "new\n"
      "({}. {}\n",
      printable(archive.string()), counted(count, "file"),
      static_cast<double>(fs::file_size(archive)) / 0x1p20, printable(rubric.name),
      from.is_built ? "Ubuntu 24.04, say); nothing is built there"
                    : "CMake 3.25, GCC 12); the image takes some minutes to build",
      options.seed ? "Hidden cases are drawn by the seed\n"
                     "that you gave: it lies in settings.sh, and every submission gets the same."
                   : "It holds nothing that is\nhidden: hidden cases are drawn anew where each "
                     "submission is graded."));
  return 0;
}

}  // namespace

Command gradescope_command() {
  const auto options = std::make_shared<GradescopeOptions>();
  GradescopeOptions& o = *options;
  return {
      .name = "gradescope",
      .description = "Make an autograder for Gradescope: a zip file to upload",
      .options = {{"DIR TEXT", o.folder, "A new or empty folder", Trait::required},
                  {"--rubric NAME|FILE", o.rubric, "A shipped rubric or a .toml file",
                   Trait::shows_default},
                  hidden_visibility_option(o.hidden_visibility),
                  {"--seed N", o.seed,
                   "Seed of the hidden cases, the same for everybody\n(default: new hidden cases "
                   "for each submission)",
                   whole_number}},
      .footer =
          R"(Writes DIR/ with setup.sh, run_autograder, the sources that they build, settings.sh, and
autograder.zip of all that. The prenorm of an unpacked archive uses its own files instead of
the sources, and nothing is built on Gradescope.

Examples:
  prenorm gradescope autograder --rubric cs336-2025
  prenorm gradescope autograder --hidden-visibility after_due_date)",
      .run = [options] { return make_autograder(*options); }};
}

}  // namespace prenorm::harness
