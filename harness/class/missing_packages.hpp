// One pass over a class before it is graded: which packages its submissions lack.
#pragma once

#include "grade/imports.hpp"

#include <functional>

namespace prenorm::harness {

/// What the submissions of a class lack, by submission.
using ClassImports = std::map<std::string, PythonImports>;

/// In words for the person who grades, one line each: packages with how many submissions import
/// them, the command that installs them for that interpreter, and of which submissions nothing can
/// be loaded. No lines where nothing is missing.
std::vector<std::string> missing_packages(const ClassImports& imports,
                                          const std::filesystem::path& python);

}  // namespace prenorm::harness
