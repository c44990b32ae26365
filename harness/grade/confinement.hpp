// How a submission's parts are run in the sandbox: building, loading and reading share it.
#pragma once

#include "grade/submission.hpp"

#include <memory>

namespace prenorm::harness {

/// What a command hands out over its socket: 20 digits of size, then the bytes. Throws
/// std::runtime_error where that is more than `most`, and the exceptions of Process. `seconds` of
/// processor time, of so many processors: Process::within().
std::string hand_out(const Process::Command& command, std::size_t most, double seconds,
                     double processors = 1);

/// A script of libexec/prenorm, to be run by the interpreter in `box`, which gets what both need to
/// read. Nothing is run to find that out.
Process::Command python_script(const SubmissionOptions& options, const std::string& script,
                               const std::vector<std::string>& arguments, Sandbox& box);

/// Where one process of a submission runs, and what it may write. Nothing of that outlives it: the
/// next process finds everything as it was handed in.
struct Workplace {
  Sandbox box;
  fs::path submission;                 // where what was handed in lies, for that process
  std::shared_ptr<const void> folder;  // removed with the last that has it; none in bubblewrap
};

/// Whether a copy of that folder is small enough to be made for each process.
bool can_be_copied(const fs::path& handed_in);

/// `handed_in` is the grader's copy: FOLDER/submission, or a file in that. With `writable`, the
/// process has a copy of its own, which it may write.
///
/// Throws std::runtime_error.
Workplace make_workplace(const SubmissionOptions& options, const fs::path& folder,
                         const fs::path& handed_in, bool writable);

/// A text without the paths of the workplaces in that folder: they are others each time.
std::string without_workplaces(std::string text, const fs::path& parent);

}  // namespace prenorm::harness
