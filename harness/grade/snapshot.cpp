#include "grade/snapshot.hpp"

#include "printable.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_bytes = 1ull << 30, most_bytes_of_file = 64ull << 20,
                         most_bytes_of_library = 256ull << 20;
constexpr std::size_t most_files = 50000;

constexpr std::array<std::string_view, 9> usual_folders{
    ".git",        ".hg",           ".svn",         ".venv", "__pycache__",
    ".mypy_cache", ".pytest_cache", "node_modules", ".idea"};

bool is_build(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(folder / "CMakeCache.txt", ignored));
}

/// Copies a regular file's bytes. False: it is none, or a large one.
bool copied(const fs::path& from, const fs::path& to) {
  // Between a look at a path and its opening it may become a link, or a pipe that never answers.
  const int source = ::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (source < 0) throw std::system_error(errno, std::generic_category(), from.string());
  struct stat info {};
  const auto most = from.extension() == ".so" ? most_bytes_of_library : most_bytes_of_file;
  const bool wanted = ::fstat(source, &info) == 0 && S_ISREG(info.st_mode) &&
                      static_cast<std::uintmax_t>(info.st_size) <= most;
  const mode_t mode = (info.st_mode & S_IXUSR) != 0 ? 0555 : 0444;
  const int target =
      wanted ? ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
  bool good = !wanted || target >= 0;
  std::array<char, 65536> part;
  while (good && wanted) {
    const ssize_t got = ::read(source, part.data(), part.size());
    if (got == 0) break;
    good = got > 0 && ::write(target, part.data(), static_cast<std::size_t>(got)) == got;
  }
  const int reason = errno;
  ::close(source);
  if (target >= 0) ::close(target);
  if (!good) throw std::system_error(reason, std::generic_category(), "copying " + from.string());
  return wanted;
}

class Copy {
 public:
  std::vector<std::string> left_out;

  void add(const fs::path& from, const fs::path& to, const fs::path& shown) {
    const fs::file_status status = fs::symlink_status(from);
    if (++files_ > most_files) {
      throw std::invalid_argument("has more than " + std::to_string(most_files) + " files");
    }
    switch (status.type()) {
      case fs::file_type::symlink: fs::create_symlink(fs::read_symlink(from), to); break;
      case fs::file_type::directory: add_folder(from, to, shown); break;
      case fs::file_type::regular: add_file(from, to, shown); break;
      default: leave_out(shown, "no file, folder or link");
    }
  }

 private:
  void add_folder(const fs::path& from, const fs::path& to, const fs::path& shown) {
    fs::create_directory(to);
    for (const auto& entry : fs::directory_iterator(from)) {
      const fs::path name = entry.path().filename();
      std::error_code ignored;
      if (entry.symlink_status(ignored).type() == fs::file_type::directory &&
          is_no_work(entry.path())) {
        if (is_build(entry.path())) leave_out(shown / name, "an earlier build");
        continue;
      }
      try {
        add(entry.path(), to / name, shown / name);
      } catch (const std::system_error& error) {  // of this entry alone
        leave_out(shown / name, error.code().message());
      }
    }
  }

  void add_file(const fs::path& from, const fs::path& to, const fs::path& shown) {
    if (!copied(from, to)) {
      leave_out(shown, "too large");
      return;
    }
    bytes_ += fs::file_size(to);
    if (bytes_ > most_bytes) {
      throw std::invalid_argument("is larger than " + std::to_string(most_bytes >> 20) + " MiB");
    }
  }

  void leave_out(const fs::path& shown, const std::string& why) {
    constexpr std::size_t most_named = 20;
    if (left_out.size() < most_named) {
      left_out.push_back("left out: " + printable(shown.string(), 200) + " (" + why + ")");
    }
  }

  std::size_t files_ = 0;
  std::uintmax_t bytes_ = 0;
};

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const char* temporary = std::getenv("TMPDIR");
  std::string name = fs::path(temporary == nullptr ? "/tmp" : temporary) / "prenorm-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a folder " + name);
  }
  path_ = fs::canonical(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  // What was built there may have folders that even their owner may not change.
  for (fs::recursive_directory_iterator
           entry(path_, fs::directory_options::skip_permission_denied, ignored),
       end;
       !ignored && entry != end; entry.increment(ignored)) {
    if (entry->symlink_status(ignored).type() == fs::file_type::directory) {
      fs::permissions(entry->path(), fs::perms::owner_all, ignored);
    }
  }
  fs::remove_all(path_, ignored);
}

bool is_no_work(const fs::path& folder) {
  std::error_code ignored;
  return std::ranges::find(usual_folders, folder.filename().string()) != usual_folders.end() ||
         fs::exists(fs::symlink_status(folder / "pyvenv.cfg", ignored)) || is_build(folder);
}

std::vector<std::string> copy_snapshot(const fs::path& from, const fs::path& to) {
  Copy copy;
  copy.add(from, to, "");
  return copy.left_out;
}

}  // namespace prenorm::harness
