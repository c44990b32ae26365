// Which datasets of handed-in outputs files are read at all.
#pragma once

#include "grade/exam.hpp"

#include <functional>

namespace prenorm::harness {

/// Whether a dataset answers a question of the exam: by its case and name, with the wanted type and
/// shape. Of all others nothing is read. The exam must live as long as the function.
std::function<bool(const std::string& problem, const OutputsFile::Entry& entry)> wanted_outputs(
    const Exam& exam);

}  // namespace prenorm::harness
