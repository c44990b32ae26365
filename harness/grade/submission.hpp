// What somebody handed in, made ready to be run: recognized, copied, built.
//
// Nothing of it runs in this process, nor outside of the sandbox; its files are read here as bytes
// only, and links in it are never followed.
#pragma once

#include "grade/adapters.hpp"
#include "grade/submission_kind.hpp"
#include "sandbox/sandbox.hpp"
#include "solution/solution.hpp"

#include <map>

namespace prenorm::harness {

/// What a submission at that path is called: its file's or folder's name, on one line.
std::string submission_name(const std::filesystem::path& path);

/// Its file or folder: the path without a variant of a library behind it.
std::filesystem::path submission_file(const std::filesystem::path& path);

struct SubmissionOptions {
  SandboxKind sandbox = SandboxKind::bubblewrap;
  RunLimits limits{.seconds = 10};  // of one call
  std::size_t memory = 4ull << 30;  // bytes of all processes together
  double build_seconds = 300;
  bool emulate = false;      // CUDA runs in the emulator even where there is a device
  bool reuse_build = false;  // a kept library serves where no file has changed
  std::filesystem::path python = "/usr/bin/python3";
  std::vector<std::filesystem::path> hidden;  // that no submission may see: the fixtures
  /// Of outputs: which datasets are read; all, where this is empty.
  std::function<bool(const std::string& problem, const OutputsFile::Entry&)> wanted_outputs;
  // Of Python submissions:
  std::vector<std::string> forbidden_calls;  // globs of torch's functions, whose calls are noted
  bool round_float64 = false;  // results in float64 are taken as float32 where that is wanted
};

/// The copy and what was built live as long as this does.
class Submission {
 public:
  /// Recognizes, copies and builds. Throws std::invalid_argument where the path is nothing that
  /// can be submitted; whatever is wrong inside is status() and message().
  Submission(const std::filesystem::path& path, const SubmissionOptions& options,
             const Adapters& adapters);
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  /// The name of the folder or file as it was given, on one line.
  const std::string& name() const;
  SubmissionKind kind() const;
  /// Its kernels run in the emulator.
  bool is_emulated() const;
  /// Passed; or COMPILE_ERROR, LOAD_ERROR, BAD_FIXTURE, ...: then nothing of it can be run.
  Status status() const;
  const std::string& message() const;
  /// A message of what ran in it, with paths as they were handed in: those of the copy are others
  /// each time, and nobody's business.
  std::string told(const std::string& text) const;

  /// A solution in a worker of its own, in the sandbox. Not for outputs. Each thread needs one. The
  /// first load of any of them decides functions, device and mode; one that differs is a
  /// LOAD_ERROR.
  Solution solution() const;
  /// Its workers have a CUDA device.
  bool has_device() const;
  /// A worker takes seconds to start (Python): one should serve all problems, not one each.
  bool slow_to_start() const;

  /// Which functions of Python code are called, and what cannot be asked of them; empty for others.
  const Adapters& adapters() const;

  /// Of outputs: what was handed in for a problem; nullptr where nothing was.
  const OutputsFile* outputs(const std::string& problem) const;

  /// Symbols that the library takes from elsewhere, and the libraries that it needs, sorted; of
  /// libraries and CMake projects.
  const std::vector<std::string>& imports() const;
  /// False: they could not be listed.
  bool imports_known() const;
  /// For the report: how it is kept apart, what was left out of the copy.
  const std::vector<std::string>& notes() const;
  /// The same from the workers that have run so far: which imports have stand-ins, which forbidden
  /// calls were seen.
  std::vector<std::string> noted() const;
  /// From now on workers see hidden inputs, and their notes may be made of them: all that is still
  /// noted is in which problem something forbidden was called.
  void hidden_cases_begin() const;

 private:
  bool probe_for_device();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prenorm::harness
