// An exam's hidden cases, drawn: for one grading, or kept for all of a class.
#pragma once

#include "grade/exam.hpp"
#include "replay/runner.hpp"

namespace prenorm::harness {

/// By the exam's parts and their questions. Nothing at visible ones, and where no fresh values
/// could be given an answer.
using DrawnCases = std::vector<std::vector<std::optional<LoadedCase>>>;

/// Draws them on the exam's threads, a pool each, with tf32 tolerances where they are wanted.
DrawnCases draw_hidden(const Exam& exam, std::vector<SolutionPool>& pools, bool tf32);

/// Writes them into a folder, as fixture files. Secret.
void write_drawn(const std::filesystem::path& folder, const Exam& exam, const DrawnCases& drawn);
/// The same cases, without tf32 tolerances. Throws std::runtime_error.
DrawnCases read_drawn(const std::filesystem::path& folder, const Exam& exam);

}  // namespace prenorm::harness
