#include "grade/snapshot.hpp"

#include "base/digest.hpp"
#include "base/printable.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
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

constexpr std::uintmax_t most_bytes_of_file = 64ull << 20, most_bytes_of_library = 256ull << 20;

constexpr std::array<std::string_view, 9> usual_folders{
    ".git",        ".hg",           ".svn",         ".venv", "__pycache__",
    ".mypy_cache", ".pytest_cache", "node_modules", ".idea"};

/// Longer paths do not fit into those of the copy, the sandbox and a build.
constexpr std::size_t longest_path = 2048;

/// Whether a folder has an entry of that name.
bool has(const TreeEntry& folder, const char* name) {
  const std::string path = folder.name + "/" + name;
  struct stat info {};
  return ::fstatat(folder.folder, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_build(const TreeEntry& folder) { return has(folder, "CMakeCache.txt"); }

/// A file is larger than a submission's may be.
struct FileTooLarge {};

/// A regular file of a submission. Where it grows while it is read, that counts, too.
class PlainFile {
 public:
  /// Throws std::system_error; FileTooLarge.
  PlainFile(const TreeEntry& entry, const std::function<void(std::uintmax_t)>& count)
      // Between a look at a name and its opening it may become a link, or a pipe that never
      // answers.
      : file_(::openat(entry.folder, entry.name.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)),
        most_(fs::path(entry.name).extension() == ".so" ? most_bytes_of_library
                                                        : most_bytes_of_file),
        count_(count) {
    if (!file_.is_open() || ::fstat(file_.get(), &info_) != 0) fail();
    if (!S_ISREG(info_.st_mode)) throw std::system_error(EINVAL, std::generic_category());
    reach(info_.st_size);
  }

  const struct stat& info() const { return info_; }
  bool is_executable() const { return (info_.st_mode & S_IXUSR) != 0; }

  /// Hands over the bytes in order; `skip` gets the sizes of holes, which are zeros.
  template <class Take, class Skip>
  void read(Take take, Skip skip) {
    off_t at = 0;
    while (true) {
      const off_t data = begin_of_data(at);
      if (data > at) skip(static_cast<std::size_t>(data - at));
      at = data;
      const ssize_t got = ::pread(file_.get(), part_.data(), bytes_from(at), at);
      if (got < 0) fail();
      if (got == 0) return;
      reach(at += got);
      take(std::span<const char>(part_).first(static_cast<std::size_t>(got)));
    }
  }

 private:
  [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category()); }

  /// The file is known to have that many bytes.
  void reach(off_t end) {
    const auto size = static_cast<std::uintmax_t>(end);
    if (size > most_) throw FileTooLarge();
    if (size > counted_) count_(size - counted_);
    counted_ = std::max(counted_, size);
  }

  /// The next place that is in no hole; the end, where there is none.
  off_t begin_of_data(off_t at) {
    const off_t data = ::lseek(file_.get(), at, SEEK_DATA);
    if (data >= 0) return data;
    if (errno != ENXIO) return at;  // no file system that knows holes
    struct stat now {};
    if (::fstat(file_.get(), &now) != 0) fail();
    reach(now.st_size);
    return std::max(at, now.st_size);
  }

  /// How many bytes to read at once: up to the next hole.
  std::size_t bytes_from(off_t at) {
    const off_t hole = ::lseek(file_.get(), at, SEEK_HOLE);
    if (hole <= at) return part_.size();
    return std::min(part_.size(), static_cast<std::size_t>(hole - at));
  }

  OpenFile file_;
  std::uintmax_t most_, counted_ = 0;
  const std::function<void(std::uintmax_t)>& count_;
  struct stat info_ {};
  std::array<char, 65536> part_;
};

/// Where a link leads. Throws std::system_error.
std::string target_of(const TreeEntry& link) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(link.folder, link.name.c_str(), target.data(), target.size());
  if (size < 0) throw std::system_error(errno, std::generic_category());
  return {target.data(), static_cast<std::size_t>(size)};
}

/// What becomes of the files that belong to a submission. `name` is the path in it.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void link(const fs::path& name, const std::string& target) = 0;
  virtual void folder(const fs::path& name) = 0;
  /// Throws FileTooLarge where the file turns out to be so; nothing of it is kept then.
  virtual void file(const fs::path& name, PlainFile& source) = 0;
};

/// Goes through a submission, in the order of names.
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}
  std::vector<std::string> left_out;

  void run(const fs::path& from) {
    std::optional<TreeWalk> tree;
    try {
      tree.emplace(from, snapshot_limits);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory) throw;
      throw std::invalid_argument("no such file or folder");
    }
    while (const TreeEntry* entry = tree->next()) {
      try {
        if (entry->error != 0) throw std::system_error(entry->error, std::generic_category());
        add(*entry, *tree);
      } catch (const std::system_error& error) {  // of this entry alone
        const int reason = error.code().value();
        if (reason == EMFILE || reason == ENFILE || reason == ENOMEM) cannot_copy(from, reason);
        if (entry->path.empty()) throw;
        leave_out(entry->path, error.code().message());
      } catch (const FileTooLarge&) {
        leave_out(entry->path, "too large");
      }
    }
  }

  /// Of where the copy goes, or of this machine. Where an entry cannot be read, std::system_error
  /// is thrown: it is left out.
  [[noreturn]] static void cannot_copy(const fs::path& what, int reason) {
    throw CannotCopy("cannot copy " + what.string() + ": " + std::strerror(reason));
  }

 private:
  void add(const TreeEntry& entry, TreeWalk& tree) {
    const fs::path& name = entry.path;
    if (name.native().size() > longest_path) return leave_out(name, "its path is too long");
    if (S_ISLNK(entry.info.st_mode)) {
      sink_.link(name, target_of(entry));
    } else if (entry.is_folder()) {
      if (!name.empty() && is_no_work(entry)) {
        if (is_build(entry)) leave_out(name, "an earlier build");
        return;
      }
      sink_.folder(name);
      tree.enter();
    } else if (S_ISREG(entry.info.st_mode)) {
      PlainFile source(entry, count_);
      sink_.file(name, source);
    } else {
      leave_out(name, "no file, folder or link");
    }
  }

  void leave_out(const fs::path& name, const std::string& why) {
    constexpr std::size_t most_named = 20;
    if (left_out.size() < most_named) {
      left_out.push_back("left out: " + printable(name.string(), 200) + " (" + why + ")");
    }
  }

  Sink& sink_;
  std::uintmax_t bytes_ = 0;
  const std::function<void(std::uintmax_t)> count_ = [this](std::uintmax_t more) {
    bytes_ += more;
    if (bytes_ > snapshot_limits.bytes) {
      throw std::invalid_argument("is larger than " + std::to_string(snapshot_limits.bytes >> 20) +
                                  " MiB");
    }
  };
};

class Copy : public Sink {
 public:
  explicit Copy(fs::path to) : to_(std::move(to)) {}

  void link(const fs::path& name, const std::string& target) override {
    if (::symlink(target.c_str(), at(name).c_str()) != 0) Walk::cannot_copy(name, errno);
  }
  void folder(const fs::path& name) override {
    if (::mkdir(at(name).c_str(), 0777) != 0) Walk::cannot_copy(name, errno);
  }
  void file(const fs::path& name, PlainFile& source) override {
    const fs::path path = at(name);
    const OpenFile target(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                 source.is_executable() ? 0555 : 0444));
    if (!target.is_open()) Walk::cannot_copy(name, errno);
    off_t end = 0;
    try {
      source.read(
          [&](std::span<const char> part) {
            const ssize_t written = ::pwrite(target.get(), part.data(), part.size(), end);
            if (written < 0) Walk::cannot_copy(name, errno);
            // A disk that fills up takes a part first.
            if (written != static_cast<ssize_t>(part.size())) Walk::cannot_copy(name, ENOSPC);
            end += written;
          },
          [&](std::size_t hole) { end += static_cast<off_t>(hole); });
    } catch (...) {
      ::unlink(path.c_str());
      throw;
    }
    if (::ftruncate(target.get(), end) != 0) Walk::cannot_copy(name, errno);
  }

 private:
  fs::path at(const fs::path& name) const { return name.empty() ? to_ : to_ / name; }
  fs::path to_;
};

/// Hands over zeros for a hole.
template <class Take>
auto zeros_to(Take take) {
  return [take](std::size_t hole) {
    static constexpr std::array<char, 65536> zeros{};
    for (; hole > 0; hole -= std::min(hole, zeros.size())) {
      take(std::span(zeros).first(std::min(hole, zeros.size())));
    }
  };
}

class Hash : public Sink {
 public:
  void link(const fs::path& name, const std::string& target) override {
    digest.add("link").add(name.string()).add(target);
  }
  void folder(const fs::path& name) override { digest.add("folder").add(name.string()); }
  void file(const fs::path& name, PlainFile& source) override {
    Digest bytes;
    const auto take = [&](std::span<const char> part) { bytes.add_bytes(part); };
    source.read(take, zeros_to(take));
    digest.add(source.is_executable() ? "program" : "file").add(name.string()).add(bytes.hex());
  }
  Digest digest;
};

/// The youngest file's time.
class Youngest : public Sink {
 public:
  void link(const fs::path&, const std::string&) override {}
  void folder(const fs::path&) override {}
  void file(const fs::path&, PlainFile& source) override {
    const std::int64_t changed = source.info().st_mtime;
    time = std::max(time.value_or(changed), changed);
  }
  std::optional<std::int64_t> time;
};

class Read : public Sink {
 public:
  Read(const fs::path& from, std::size_t most, const std::function<bool(const fs::path&)>& wanted,
       const std::function<void(const fs::path&, const std::string&)>& take)
      : own_name_(from.filename()), most_(most), wanted_(wanted), take_(take) {}

  void link(const fs::path&, const std::string&) override {}
  void folder(const fs::path&) override {}
  void file(const fs::path& name, PlainFile& source) override {
    // Of a file alone the name in the submission is empty.
    const fs::path shown = name.empty() ? own_name_ : name;
    if (!wanted_(shown)) return;
    std::string bytes;
    source.read(
        [&](std::span<const char> part) {
          bytes.append(part.data(), std::min(part.size(), most_ - bytes.size()));
        },
        [&](std::size_t hole) { bytes.append(std::min(hole, most_ - bytes.size()), '\0'); });
    take_(shown, bytes);
  }

 private:
  fs::path own_name_;
  std::size_t most_;
  const std::function<bool(const fs::path&)>& wanted_;
  const std::function<void(const fs::path&, const std::string&)>& take_;
};

}  // namespace

bool is_no_work(const TreeEntry& folder) {
  return std::ranges::find(usual_folders, folder.name) != usual_folders.end() ||
         has(folder, "pyvenv.cfg") || is_build(folder);
}

std::vector<std::string> copy_snapshot(const fs::path& from, const fs::path& to) {
  Copy copy(to);
  Walk walk(copy);
  walk.run(from);
  return walk.left_out;
}

std::string digest_snapshot(const fs::path& from) {
  Hash hash;
  Walk(hash).run(from);
  return hash.digest.hex();
}

std::optional<std::int64_t> last_change(const fs::path& from) {
  Youngest youngest;
  try {
    Walk(youngest).run(from);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return youngest.time;
}

void read_snapshot(
    const fs::path& from, std::size_t most, const std::function<bool(const fs::path& name)>& wanted,
    const std::function<void(const fs::path& name, const std::string& bytes)>& take) {
  Read read(from, most, wanted, take);
  Walk(read).run(from);
}

}  // namespace prenorm::harness
