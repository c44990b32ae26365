// Where one process of a submission runs, and what it may write. Nothing of that outlives it: the
// next process finds everything as it was handed in.
#pragma once

#include "grade/submission.hpp"

#include <memory>

namespace prenorm::harness {

struct Room {
  Sandbox box;
  std::filesystem::path submission;    // where what was handed in lies, for that process
  std::shared_ptr<const void> folder;  // removed with the last that has it; none in bubblewrap
};

/// Whether a copy of that folder is small enough to be made for each process.
bool can_be_copied(const std::filesystem::path& handed_in);

/// `handed_in` is the grader's copy: FOLDER/submission, or a file in that. With `writable`, the
/// process has a copy of its own, which it may write.
///
/// Throws std::runtime_error.
Room make_room(const SubmissionOptions& options, const std::filesystem::path& folder,
               const std::filesystem::path& handed_in, bool writable);

/// A text without the paths of the rooms in that folder: they are others each time.
std::string without_rooms(std::string text, const std::filesystem::path& parent);

}  // namespace prenorm::harness
