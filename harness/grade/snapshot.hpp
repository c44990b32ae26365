// A copy of what was handed in, so that it cannot change while it is graded.
#pragma once

#include "base/tree.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace prenorm::harness {

/// No fault of a submission's: there was no room here for the copy. So it is not graded at all.
struct CannotCopy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a submission may be at most.
inline constexpr TreeLimits snapshot_limits{50000, 1u << 30, 100};

/// Whether a folder holds no work of its own: an environment, a history, caches, an earlier build.
bool is_no_work(const TreeEntry& folder);

struct Snapshot {
  /// SHA-256 of the names and bytes that are copied: what tells two snapshots apart.
  std::string digest;
  /// When a file of it was last changed, in seconds since 1970; nothing where there is none.
  std::optional<std::int64_t> changed;
  std::vector<std::string> left_out;  // for the report, without the usual folders
};

/// Copies a file or a folder to `to`, which does not exist. Symbolic links are copied as they are
/// and never followed; what is neither file, folder nor link is left out, and so are environments,
/// histories and earlier builds (.git, .venv, __pycache__, a folder with CMakeCache.txt, ...) and
/// files above 64 MiB (libraries: 256), even where they grow so large only while they are copied.
/// Holes in files stay holes.
///
/// Throws std::invalid_argument where there is nothing, or it has more than 1 GiB, 50000 files or
/// 100 folders nested in each other; CannotCopy.
Snapshot copy_snapshot(const fs::path& from, const fs::path& to);

/// The same without a copy.
Snapshot look_at_snapshot(const fs::path& from);

/// Hands over the files with a wanted name, the path in the submission, and their bytes; of each
/// the first `most`. Throws what look_at_snapshot() throws.
void read_snapshot(const fs::path& from, std::size_t most,
                   const std::function<bool(const fs::path& name)>& wanted,
                   const std::function<void(const fs::path& name, const std::string& bytes)>& take);

}  // namespace prenorm::harness
