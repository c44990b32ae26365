#include "grade/snapshot.hpp"

#include "base/digest.hpp"
#include "base/printable.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <span>
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

/// A regular file, opened; -1: it is none, or a large one.
int open_plain(const fs::path& from, bool& executable) {
  // Between a look at a path and its opening it may become a link, or a pipe that never answers.
  const int source = ::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (source < 0) throw std::system_error(errno, std::generic_category(), from.string());
  struct stat info {};
  const auto most = from.extension() == ".so" ? most_bytes_of_library : most_bytes_of_file;
  const bool wanted = ::fstat(source, &info) == 0 && S_ISREG(info.st_mode) &&
                      static_cast<std::uintmax_t>(info.st_size) <= most;
  executable = (info.st_mode & S_IXUSR) != 0;
  if (wanted) return source;
  ::close(source);
  return -1;
}

/// Hands over an open file's bytes, and closes it. Throws std::system_error.
void read_plain(int source, const fs::path& from,
                const std::function<void(std::span<const char>)>& take) {
  std::array<char, 65536> part;
  ssize_t got = 0;
  int reason = 0;
  try {
    while ((got = ::read(source, part.data(), part.size())) > 0) {
      take(std::span(part).first(static_cast<std::size_t>(got)));
    }
    reason = errno;
  } catch (...) {
    ::close(source);
    throw;
  }
  ::close(source);
  if (got < 0) throw std::system_error(reason, std::generic_category(), from.string());
}

/// What becomes of the files that belong to a submission. `name` is the path in it.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void link(const fs::path& from, const fs::path& name) = 0;
  virtual void folder(const fs::path& name) = 0;
  /// Takes the open file over.
  virtual void file(int source, const fs::path& from, const fs::path& name, bool executable) = 0;
};

/// Goes through a submission, in the order of names.
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}
  std::vector<std::string> left_out;

  void add(const fs::path& from, const fs::path& name) {
    const fs::file_status status = fs::symlink_status(from);
    if (name.empty() && !fs::exists(status)) {
      throw std::invalid_argument("no such file or folder");
    }
    if (++files_ > most_files) {
      throw std::invalid_argument("has more than " + std::to_string(most_files) + " files");
    }
    switch (status.type()) {
      case fs::file_type::symlink: sink_.link(from, name); break;
      case fs::file_type::directory: add_folder(from, name); break;
      case fs::file_type::regular: add_file(from, name); break;
      default: leave_out(name, "no file, folder or link");
    }
  }

 private:
  void add_folder(const fs::path& from, const fs::path& name) {
    sink_.folder(name);
    const fs::directory_iterator entries(from);
    std::vector<fs::directory_entry> sorted(begin(entries), end(entries));
    std::ranges::sort(sorted);
    for (const fs::directory_entry& entry : sorted) {
      const fs::path inside = name / entry.path().filename();
      std::error_code ignored;
      if (entry.symlink_status(ignored).type() == fs::file_type::directory &&
          is_no_work(entry.path())) {
        if (is_build(entry.path())) leave_out(inside, "an earlier build");
        continue;
      }
      try {
        add(entry.path(), inside);
      } catch (const std::system_error& error) {  // of this entry alone
        leave_out(inside, error.code().message());
      }
    }
  }

  void add_file(const fs::path& from, const fs::path& name) {
    bool executable = false;
    const int source = open_plain(from, executable);
    if (source < 0) {
      leave_out(name, "too large");
      return;
    }
    bytes_ += static_cast<std::uintmax_t>(std::max<off_t>(0, ::lseek(source, 0, SEEK_END)));
    ::lseek(source, 0, SEEK_SET);
    if (bytes_ > most_bytes) {
      ::close(source);
      throw std::invalid_argument("is larger than " + std::to_string(most_bytes >> 20) + " MiB");
    }
    sink_.file(source, from, name, executable);
  }

  void leave_out(const fs::path& name, const std::string& why) {
    constexpr std::size_t most_named = 20;
    if (left_out.size() < most_named) {
      left_out.push_back("left out: " + printable(name.string(), 200) + " (" + why + ")");
    }
  }

  Sink& sink_;
  std::size_t files_ = 0;
  std::uintmax_t bytes_ = 0;
};

/// Of where the copy goes. Where an entry cannot be read, std::system_error is thrown: it is left
/// out.
[[noreturn]] void cannot_copy(const fs::path& from, int reason) {
  throw CannotCopy("cannot copy " + from.string() + ": " + std::strerror(reason));
}

class Copy : public Sink {
 public:
  explicit Copy(fs::path to) : to_(std::move(to)) {}

  void link(const fs::path& from, const fs::path& name) override {
    const fs::path target = fs::read_symlink(from);
    std::error_code failed;
    fs::create_symlink(target, at(name), failed);
    if (failed) cannot_copy(from, failed.value());
  }
  void folder(const fs::path& name) override {
    std::error_code failed;
    fs::create_directory(at(name), failed);
    if (failed) cannot_copy(name, failed.value());
  }
  void file(int source, const fs::path& from, const fs::path& name, bool executable) override {
    const int target =
        ::open(at(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0555 : 0444);
    if (target < 0) {
      const int reason = errno;
      ::close(source);
      cannot_copy(from, reason);
    }
    try {
      read_plain(source, from, [&](std::span<const char> part) {
        const ssize_t written = ::write(target, part.data(), part.size());
        if (written == static_cast<ssize_t>(part.size())) return;
        // A disk that fills up takes a part first.
        cannot_copy(from, written < 0 ? errno : ENOSPC);
      });
    } catch (...) {
      ::close(target);
      throw;
    }
    ::close(target);
  }

 private:
  fs::path at(const fs::path& name) const { return name.empty() ? to_ : to_ / name; }
  fs::path to_;
};

class Hash : public Sink {
 public:
  void link(const fs::path& from, const fs::path& name) override {
    digest.add("link").add(name.string()).add(fs::read_symlink(from).string());
  }
  void folder(const fs::path& name) override { digest.add("folder").add(name.string()); }
  void file(int source, const fs::path& from, const fs::path& name, bool executable) override {
    Digest bytes;
    read_plain(source, from, [&](std::span<const char> part) { bytes.add_bytes(part); });
    digest.add(executable ? "program" : "file").add(name.string()).add(bytes.hex());
  }
  Digest digest;
};

/// The youngest file's time.
class Youngest : public Sink {
 public:
  void link(const fs::path&, const fs::path&) override {}
  void folder(const fs::path&) override {}
  void file(int source, const fs::path&, const fs::path&, bool) override {
    struct stat info {};
    if (::fstat(source, &info) == 0) {
      time = std::max(time.value_or(info.st_mtime), std::int64_t{info.st_mtime});
    }
    ::close(source);
  }
  std::optional<std::int64_t> time;
};

class Read : public Sink {
 public:
  Read(std::size_t most, const std::function<bool(const fs::path&)>& wanted,
       const std::function<void(const fs::path&, const std::string&)>& take)
      : most_(most), wanted_(wanted), take_(take) {}

  void link(const fs::path&, const fs::path&) override {}
  void folder(const fs::path&) override {}
  void file(int source, const fs::path& from, const fs::path& name, bool) override {
    // Of a file alone the name in the submission is empty.
    const fs::path shown = name.empty() ? from.filename() : name;
    if (!wanted_(shown)) {
      ::close(source);
      return;
    }
    std::string bytes;
    read_plain(source, from, [&](std::span<const char> part) {
      bytes.append(part.data(), std::min(part.size(), most_ - bytes.size()));
    });
    take_(shown, bytes);
  }

 private:
  std::size_t most_;
  const std::function<bool(const fs::path&)>& wanted_;
  const std::function<void(const fs::path&, const std::string&)>& take_;
};

}  // namespace

bool is_no_work(const fs::path& folder) {
  std::error_code ignored;
  return std::ranges::find(usual_folders, folder.filename().string()) != usual_folders.end() ||
         fs::exists(fs::symlink_status(folder / "pyvenv.cfg", ignored)) || is_build(folder);
}

std::vector<std::string> copy_snapshot(const fs::path& from, const fs::path& to) {
  Copy copy(to);
  Walk walk(copy);
  walk.add(from, "");
  return walk.left_out;
}

std::string digest_snapshot(const fs::path& from) {
  Hash hash;
  Walk walk(hash);
  walk.add(from, "");
  return hash.digest.hex();
}

std::optional<std::int64_t> last_change(const fs::path& from) {
  Youngest youngest;
  try {
    Walk(youngest).add(from, "");
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return youngest.time;
}

void read_snapshot(
    const fs::path& from, std::size_t most, const std::function<bool(const fs::path& name)>& wanted,
    const std::function<void(const fs::path& name, const std::string& bytes)>& take) {
  Read read(most, wanted, take);
  Walk(read).add(from, "");
}

}  // namespace prenorm::harness
