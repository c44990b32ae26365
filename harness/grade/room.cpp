#include "grade/room.hpp"

#include "base/temporary_folder.hpp"
#include "grade/confinement.hpp"
#include "sandbox/confine.hpp"
#include "sandbox/writable_copy.hpp"

#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// As long as the name of a room. Other processes of a sandbox without namespaces cannot guess it.
std::string room_name() {
  return TemporaryFolder::prefix() + std::string(TemporaryFolder::random_letters, 'X');
}
constexpr std::string_view copy_name = "submission";

/// A socket's path has at most 107 bytes, of which Python's multiprocessing takes some for itself.
constexpr std::size_t longest_folder = 68;

/// In the folder, or in /tmp where its path would be too long there.
fs::path parent_of_room(const fs::path& folder) {
  const bool is_long = (folder / room_name()).string().size() > longest_folder;
  return is_long && ::access("/tmp", W_OK) == 0 ? "/tmp" : folder;
}

}  // namespace

bool can_be_copied(const fs::path& handed_in) {
  std::uintmax_t bytes = 0;
  std::size_t entries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(handed_in)) {
    // A hole of a file takes its room in the copy.
    if (fs::is_regular_file(entry.symlink_status())) bytes += entry.file_size();
    if (bytes > most_copied || ++entries > sandbox::most_entries / 2) return false;
  }
  return true;
}

Room make_room(const SubmissionOptions& options, const fs::path& folder, const fs::path& handed_in,
               bool writable) {
  Room room{submission_sandbox(options), handed_in, nullptr};
  const fs::path original = folder / copy_name;
  if (options.sandbox == SandboxKind::bubblewrap) {
    if (writable) room.box.copied = original;
    return room;
  }
  const auto own = std::make_shared<const TemporaryFolder>(parent_of_room(folder));
  room.folder = own;
  room.box.folder = own->path() / "tmp";
  fs::create_directory(room.box.folder);
  if (writable) {
    room.box.copied = own->path() / copy_name;
    fs::create_directory(room.box.copied);
    sandbox::copy_writable(original, room.box.copied);
    room.submission = room.box.copied / handed_in.lexically_relative(original);
    if (handed_in == original) room.submission = room.box.copied;
  }
  return room;
}

std::string without_rooms(std::string text, const fs::path& parent) {
  const std::string begin = (parent / TemporaryFolder::prefix()).string();
  const std::size_t length = (parent / room_name()).string().size() + 1;
  for (std::size_t at = 0; (at = text.find(begin)) != text.npos;) {
    text.erase(at, length);
    while (text.compare(at, TemporaryFolder::prefix().size(), TemporaryFolder::prefix()) == 0) {
      text.erase(at, room_name().size() + 1);  // one inside
    }
    if (text.compare(at, copy_name.size(), copy_name) == 0) text.erase(at, copy_name.size() + 1);
  }
  return text;
}

}  // namespace prenorm::harness
