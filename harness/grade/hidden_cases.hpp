// Hidden cases: fresh ones, drawn from stored cases by a secret seed, for one grading or for all of
// a class.
#pragma once

#include "grade/exam.hpp"
#include "replay/runner.hpp"

namespace prenorm::harness {

/// Whether fresh cases can be drawn from it: it has an answer and something to draw, and is not so
/// large that tolerances for it take long.
bool can_be_hidden(const Case& info);

/// The order in which a problem's hidden cases are numbered: a permutation of 0 .. count - 1 that
/// the seed decides, so that a number tells nothing of the case behind it.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, const std::string& words);

/// By the exam's parts and their cases. Nothing at visible ones, and where no fresh values
/// could be given an answer.
using DrawnCases = std::vector<std::vector<std::optional<LoadedCase>>>;

/// Draws them on the exam's threads, a pool each, with tf32 tolerances where they are wanted.
DrawnCases draw_hidden(const Exam& exam, std::vector<SolutionPool>& pools, bool tf32);

/// Writes them into a folder, as fixture files. Secret.
void write_drawn(const std::filesystem::path& folder, const Exam& exam, const DrawnCases& drawn);
/// The same cases, without tf32 tolerances. Throws std::runtime_error.
DrawnCases read_drawn(const std::filesystem::path& folder, const Exam& exam);

}  // namespace prenorm::harness
