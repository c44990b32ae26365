#include "grade/snapshot.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

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

  /// Hands over the first `most` bytes in order; `skip` gets the sizes of holes, which are zeros.
  template <class Take, class Skip>
  void read(std::size_t most, Take take, Skip skip) {
    off_t at = 0;
    const auto left = [&] { return most - static_cast<std::size_t>(at); };
    while (left() > 0) {
      const off_t data = begin_of_data(at);
      const std::size_t hole = std::min(left(), static_cast<std::size_t>(data - at));
      if (hole > 0) skip(hole);
      if (hole == left()) break;
      at = data;
      const ssize_t got = ::pread(file_.get(), part_.data(), std::min(bytes_from(at), left()), at);
      if (got < 0) fail();
      if (got == 0) return;
      reach(at += got);
      take(std::span<const char>(part_).first(static_cast<std::size_t>(got)));
    }
    reach(size_now());  // of what is not read
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
    const off_t end = size_now();
    reach(end);
    return std::max(at, end);
  }

  off_t size_now() const {
    struct stat now {};
    if (::fstat(file_.get(), &now) != 0) fail();
    return now.st_size;
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
  virtual void link(const fs::path&, const std::string& /*target*/) {}
  virtual void folder(const fs::path&) {}
  /// A file begins. Returns how many of its bytes are wanted.
  virtual std::size_t file(const fs::path& name, const PlainFile& source) = 0;
  /// The next bytes: perhaps more than are wanted, where another sink wants them.
  virtual void bytes(std::span<const char> part) = 0;
  virtual void hole(std::size_t size) = 0;
  /// It ends; not whole where it turned out to be too large, or cannot be read: nothing of it is
  /// kept then.
  virtual void end(bool whole) = 0;
};

/// Goes through a submission once, in the order of names, for all that want something of it.
class Walk {
 public:
  explicit Walk(std::vector<Sink*> sinks) : sinks_(std::move(sinks)) {}
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
      const std::string target = target_of(entry);
      for (Sink* sink : sinks_) sink->link(name, target);
    } else if (entry.is_folder()) {
      if (!name.empty() && is_no_work(entry)) {
        if (is_build(entry)) leave_out(name, "an earlier build");
        return;
      }
      for (Sink* sink : sinks_) sink->folder(name);
      tree.enter();
    } else if (S_ISREG(entry.info.st_mode)) {
      PlainFile source(entry, count_);
      add_file(name, source);
    } else {
      leave_out(name, "no file, folder or link");
    }
  }

  void add_file(const fs::path& name, PlainFile& source) {
    std::size_t most = 0;
    for (Sink* sink : sinks_) most = std::max(most, sink->file(name, source));
    const auto end = [this](bool whole) {
      for (Sink* sink : sinks_) sink->end(whole);
    };
    try {
      source.read(
          most,
          [this](std::span<const char> part) {
            for (Sink* sink : sinks_) sink->bytes(part);
          },
          [this](std::size_t hole) {
            for (Sink* sink : sinks_) sink->hole(hole);
          });
    } catch (...) {
      end(false);
      throw;
    }
    end(true);
  }

  void leave_out(const fs::path& name, const std::string& why) {
    constexpr std::size_t most_named = 20;
    if (left_out.size() < most_named) {
      left_out.push_back("left out: " + printable(name.string(), 200) + " (" + why + ")");
    }
  }

  std::vector<Sink*> sinks_;
  std::uintmax_t bytes_ = 0;
  const std::function<void(std::uintmax_t)> count_ = [this](std::uintmax_t more) {
    bytes_ += more;
    if (bytes_ > snapshot_limits.bytes) {
      throw std::invalid_argument("is larger than " + std::to_string(snapshot_limits.bytes >> 20) +
                                  " MiB");
    }
  };
};

constexpr std::size_t all_bytes = std::numeric_limits<std::size_t>::max() / 2;

class Copy : public Sink {
 public:
  explicit Copy(fs::path to) : to_(std::move(to)) {}

  void link(const fs::path& name, const std::string& target) override {
    if (::symlink(target.c_str(), at(name).c_str()) != 0) Walk::cannot_copy(name, errno);
  }
  void folder(const fs::path& name) override {
    if (::mkdir(at(name).c_str(), 0777) != 0) Walk::cannot_copy(name, errno);
  }
  std::size_t file(const fs::path& name, const PlainFile& source) override {
    name_ = name;
    end_ = 0;
    target_ = OpenFile(::open(at(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                              source.is_executable() ? 0555 : 0444));
    if (!target_.is_open()) Walk::cannot_copy(name, errno);
    return all_bytes;
  }
  void bytes(std::span<const char> part) override {
    const ssize_t written = ::pwrite(target_.get(), part.data(), part.size(), end_);
    if (written < 0) Walk::cannot_copy(name_, errno);
    // A disk that fills up takes a part first.
    if (written != static_cast<ssize_t>(part.size())) Walk::cannot_copy(name_, ENOSPC);
    end_ += written;
  }
  void hole(std::size_t size) override { end_ += static_cast<off_t>(size); }
  void end(bool whole) override {
    if (whole && ::ftruncate(target_.get(), end_) != 0) Walk::cannot_copy(name_, errno);
    if (!whole) ::unlink(at(name_).c_str());
    target_ = OpenFile();
  }

 private:
  fs::path at(const fs::path& name) const { return name.empty() ? to_ : to_ / name; }

  fs::path to_, name_;
  OpenFile target_;
  off_t end_ = 0;
};

/// What tells two states apart, and when the youngest file was changed.
class State : public Sink {
 public:
  void link(const fs::path& name, const std::string& target) override {
    digest.add("link").add(name.string()).add(target);
  }
  void folder(const fs::path& name) override { digest.add("folder").add(name.string()); }
  std::size_t file(const fs::path& name, const PlainFile& source) override {
    name_ = name;
    bytes_.emplace();
    is_executable_ = source.is_executable();
    time_ = source.info().st_mtime;
    return all_bytes;
  }
  void bytes(std::span<const char> part) override { bytes_->add_bytes(part); }
  void hole(std::size_t size) override {
    static constexpr std::array<char, 65536> zeros{};
    for (; size > 0; size -= std::min(size, zeros.size())) {
      bytes_->add_bytes(std::span(zeros).first(std::min(size, zeros.size())));
    }
  }
  void end(bool whole) override {
    if (!whole) return;
    digest.add(is_executable_ ? "program" : "file").add(name_.string()).add(bytes_->hex());
    changed = std::max(changed.value_or(time_), time_);
  }

  Digest digest;
  std::optional<std::int64_t> changed;

 private:
  fs::path name_;
  std::optional<Digest> bytes_;
  bool is_executable_ = false;
  std::int64_t time_ = 0;
};

class Read : public Sink {
 public:
  Read(const fs::path& from, std::size_t most, const std::function<bool(const fs::path&)>& wanted,
       const std::function<void(const fs::path&, const std::string&)>& take)
      : own_name_(from.filename()), most_(most), wanted_(wanted), take_(take) {}

  std::size_t file(const fs::path& name, const PlainFile&) override {
    // Of a file alone the name in the submission is empty.
    name_ = name.empty() ? own_name_ : name;
    text_.clear();
    is_wanted_ = wanted_(name_);
    return is_wanted_ ? most_ : 0;
  }
  void bytes(std::span<const char> part) override { text_.append(part.data(), part.size()); }
  void hole(std::size_t size) override { text_.append(size, '\0'); }
  void end(bool whole) override {
    if (whole && is_wanted_) take_(name_, text_);
  }

 private:
  fs::path own_name_, name_;
  std::size_t most_;
  const std::function<bool(const fs::path&)>& wanted_;
  const std::function<void(const fs::path&, const std::string&)>& take_;
  std::string text_;
  bool is_wanted_ = false;
};

}  // namespace

bool is_no_work(const TreeEntry& folder) {
  return std::ranges::find(usual_folders, folder.name) != usual_folders.end() ||
         has(folder, "pyvenv.cfg") || is_build(folder);
}

Snapshot copy_snapshot(const fs::path& from, const fs::path& to) {
  Copy copy(to);
  State state;
  Walk walk({&copy, &state});
  walk.run(from);
  return {state.digest.hex(), state.changed, walk.left_out};
}

Snapshot look_at_snapshot(const fs::path& from) {
  State state;
  Walk walk({&state});
  walk.run(from);
  return {state.digest.hex(), state.changed, walk.left_out};
}

void read_snapshot(
    const fs::path& from, std::size_t most, const std::function<bool(const fs::path& name)>& wanted,
    const std::function<void(const fs::path& name, const std::string& bytes)>& take) {
  Read read(from, most, wanted, take);
  Walk({&read}).run(from);
}

}  // namespace prenorm::harness
