#include "sandbox/writable_copy.hpp"

namespace prenorm::sandbox {

namespace fs = std::filesystem;

void copy_writable(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path name = to / entry.path().filename();
    if (entry.is_symlink()) {
      fs::copy_symlink(entry.path(), name);
    } else if (entry.is_directory()) {
      fs::create_directory(name);
      copy_writable(entry.path(), name);
    } else {
      fs::copy_file(entry.path(), name);
      fs::permissions(name, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::add);
    }
  }
}

}  // namespace prenorm::sandbox
