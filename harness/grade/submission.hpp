// What somebody handed in, made ready to be run: recognized, copied, built.
//
// Nothing of it runs in this process, nor outside of the sandbox; its files are read here as bytes
// only, and links in it are never followed.
#pragma once

#include "base/temporary_folder.hpp"
#include "grade/adapters.hpp"
#include "sandbox/sandbox.hpp"
#include "solution/solution.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace prenorm::harness {

enum class SubmissionKind { cmake, cuda, library, python, outputs };

/// "CMake project", "CUDA source", "library", "Python", "outputs".
std::string_view name(SubmissionKind kind);

/// What lies at that path. Of a folder a project comes first, then adapters.py, one library,
/// outputs, CUDA sources. Throws std::invalid_argument where it is nothing that can be submitted.
SubmissionKind submission_kind(const fs::path& path);

/// Whether this build of prenorm has the emulator for submissions.
bool has_emulator();

/// What a submission at that path is called: its file's or folder's name, on one line.
std::string submission_name(const fs::path& path);

/// Its file or folder: the path without a variant of a library behind it.
fs::path submission_file(const fs::path& path);

struct SubmissionOptions {
  SandboxKind sandbox = SandboxKind::bubblewrap;
  RunLimits limits{.seconds = 10};  // of one call
  std::size_t memory = 4ull << 30;  // bytes of all processes together
  double build_seconds = 300;
  bool emulate = false;      // CUDA runs in the emulator even where there is a device
  bool reuse_build = false;  // a kept library serves where no file has changed
  std::vector<std::string> forbidden_symbols;  // globs of what may not be linked in
  fs::path python = "/usr/bin/python3";
  std::vector<fs::path> hidden;  // that no submission may see: the fixtures
  /// Of outputs: which datasets are read; all, where this is empty.
  std::function<bool(const std::string& problem, const OutputsFile::Entry&)> wanted_outputs;
  // Of Python submissions:
  std::vector<std::string> forbidden_calls;  // globs of torch's functions, whose calls are noted
  bool round_float64 = false;  // results in float64 are taken as float32 where that is wanted
};

struct Workplace;  // grade/confinement.hpp

/// What somebody handed in, made ready. The copy and what was built live as long as this does.
struct Submission {
  /// Recognizes, copies and builds. Throws std::invalid_argument where the path is nothing that
  /// can be submitted; whatever is wrong inside is `status` and `message`.
  Submission(const fs::path& path, const SubmissionOptions& options, const Adapters& adapters);
  Submission(Submission&&) = delete;  // nor copied

  std::string name;  // of the folder or file as it was given, on one line
  SubmissionKind kind = SubmissionKind::library;
  bool emulated = false;    // its kernels run in the emulator
  bool has_device = false;  // its workers have a CUDA device
  /// Passed; or COMPILE_ERROR, LOAD_ERROR, BAD_FIXTURE, ...: then nothing of it can be run.
  Status status = Status::passed;
  std::string message;
  std::string files;  // a digest of what was copied
  Adapters adapters;  // which functions of Python code are called; empty for others
  /// Symbols that the library takes from elsewhere, and the libraries that it needs, sorted; of
  /// libraries and CMake projects.
  std::vector<std::string> imports;
  bool imports_known = true;       // false: they could not be listed
  std::vector<std::string> notes;  // for the report: what was left out of the copy

  /// A worker takes seconds to start (Python): one should serve all problems, not one each.
  bool slow_to_start() const { return kind == SubmissionKind::python; }

  /// A solution in a worker of its own, in the sandbox. Not for outputs. Each thread needs one. The
  /// first load of any of them decides functions, device and mode; one that differs is a
  /// LOAD_ERROR.
  Solution solution() const;

  /// Of outputs: what was handed in for a problem; nullptr where nothing was.
  const OutputsFile* outputs(const std::string& problem) const;

  /// A message of what ran in it, with paths as they were handed in: those of the copy are others
  /// each time, and nobody's business.
  std::string told(std::string text) const;

  /// What the workers that have run so far have noted.
  struct Notes {
    std::vector<std::string> lines;
    bool package_is_missing = false;        // a stand-in has the place of one that is not installed
    bool code_is_unreadable = false;        // something failed by a file that Python cannot parse
    std::set<std::string> forbidden_calls;  // the problems that make some; "": no problem's
  };
  Notes noted() const;
  /// From now on visible cases are asked, by several threads: notes are sorted.
  void visible_cases_begin() const;
  /// From now on workers see hidden inputs, and their notes may be made of them: all that is still
  /// noted is in which problem something forbidden was called.
  void hidden_cases_begin() const;

 private:
  bool may_have_device() const;
  void fail(Status why, const std::string& what);
  void build();
  void list_symbols();
  void read_outputs_files();
  /// Binds devices if it asks for one, and says whether it does.
  bool probe_for_device();

  Workplace place(bool writable = false) const;
  WorkerStart worker() const;
  void note(const protocol::Note& note) const;

  SubmissionOptions options_;
  std::string variant_;
  std::optional<TemporaryFolder> folder_;
  fs::path root_, library_;                     // the copy; what was built, or the copy
  bool may_write_ = true;                       // its own copy, that is
  std::map<std::string, OutputsFile> outputs_;  // by problem
  std::shared_ptr<Declaration> declaration_;
  mutable std::mutex noting_;
  mutable Notes noted_;                               // by workers, on several threads
  mutable std::optional<std::size_t> noted_at_load_;  // lines
  mutable bool hidden_began_ = false;
};

/// What a Python submission imports, read from its text: nothing of it is run.
struct PythonImports {
  struct Missing {
    std::string distribution;  // what pip calls it, normalized; empty: pip does not know it
    std::string place;         // "bpe.py:3"
  };
  std::map<std::string, Missing> missing;  // by module: what the interpreter lacks
  std::vector<std::string> own;            // top-level modules of the submission
  std::string failure;                     // why nothing of it can be loaded, or empty
};

/// By the interpreter and in the sandbox that the options name. Nothing where it cannot be told.
/// Throws std::invalid_argument where the path is nothing that can be submitted.
std::optional<PythonImports> read_imports(const fs::path& path, const SubmissionOptions& options);

}  // namespace prenorm::harness
