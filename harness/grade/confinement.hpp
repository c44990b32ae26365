// How a submission's parts are run in the sandbox: building, loading and reading share it.
#pragma once

#include "grade/submission.hpp"

namespace prenorm::harness {

/// The sandbox for anything of a submission; what it may read is left to the caller.
Sandbox submission_sandbox(const SubmissionOptions& options);

/// What a command hands out over its socket: 20 digits of size, then the bytes. Throws
/// std::runtime_error where that is more than `most`, and the exceptions of Process.
std::string hand_out(const Process::Command& command, std::size_t most, double seconds);

/// A script of libexec/prenorm, to be run by the interpreter in `box`, which gets what both need to
/// read. Nothing is run to find that out.
Process::Command python_script(const SubmissionOptions& options, const std::string& script,
                               const std::vector<std::string>& arguments, Sandbox& box);

}  // namespace prenorm::harness
