#include "grade/room.hpp"

#include "base/files.hpp"
#include "grade/confinement.hpp"
#include "sandbox/writable_copy.hpp"

#include <cstdlib>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// Where the rooms of a sandbox without namespaces can be seen, nobody can guess their names.
constexpr std::string_view room_name = "prenorm-room-XXXXXX";
constexpr std::string_view copy_name = "submission";

/// A socket's path has at most 107 bytes, of which Python's multiprocessing takes some for itself.
constexpr std::size_t longest_folder = 68;

/// FOLDER/prenorm-room-XXXXXX, removed with the last that has it; in /tmp where that would be too
/// long.
std::shared_ptr<const fs::path> room_folder(const fs::path& folder) {
  std::string name = folder / room_name;
  if (name.size() > longest_folder && ::access("/tmp", W_OK) == 0) {
    name = fs::path("/tmp") / room_name;
  }
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder " + name);
  return {new fs::path(name), [](const fs::path* path) {
            remove_tree(*path);
            delete path;
          }};
}

}  // namespace

bool can_be_copied(const fs::path& handed_in) {
  if (!fs::is_directory(handed_in)) return fs::file_size(handed_in) <= most_copied;
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(handed_in)) {
    if (fs::is_regular_file(entry.symlink_status())) bytes += entry.file_size();
    if (bytes > most_copied) return false;
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
  const std::shared_ptr<const fs::path> own = room_folder(folder);
  room.folder = own;
  room.box.folder = *own / "tmp";
  fs::create_directory(room.box.folder);
  if (writable) {
    room.box.copied = *own / copy_name;
    fs::create_directory(room.box.copied);
    sandbox::copy_writable(original, room.box.copied);
    room.submission = room.box.copied / handed_in.lexically_relative(original);
    if (handed_in == original) room.submission = room.box.copied;
  }
  return room;
}

std::string without_rooms(std::string text, const fs::path& folder) {
  for (const fs::path& place : {folder, fs::path("/tmp")}) {
    const std::string begin = (place / room_name.substr(0, room_name.find('X'))).string();
    const std::size_t length = (place / room_name).string().size() + 1;
    for (std::size_t at = 0; (at = text.find(begin)) != text.npos;) {
      text.erase(at, length);
      if (text.compare(at, copy_name.size(), copy_name) == 0) text.erase(at, copy_name.size() + 1);
    }
  }
  return text;
}

}  // namespace prenorm::harness
