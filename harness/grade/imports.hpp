// What a Python submission imports, read from its text: nothing of it is run.
#pragma once

#include "grade/submission.hpp"

#include <map>

namespace prenorm::harness {

struct PythonImports {
  struct Missing {
    std::string distribution;  // what pip calls it, normalized; empty: pip does not know it
    std::string place;         // "bpe.py:3"
  };
  std::map<std::string, Missing> missing;  // by module: what the interpreter lacks
  std::vector<std::string> own;            // top-level modules of the submission
  std::string failure;                     // why nothing of it can be loaded, or empty
};

/// Of the interpreter and in the sandbox that the options name. Nothing where it cannot be told.
/// Throws std::invalid_argument where the path is nothing that can be submitted.
std::optional<PythonImports> read_imports(const std::filesystem::path& path,
                                          const SubmissionOptions& options);

}  // namespace prenorm::harness
