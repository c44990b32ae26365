#include "base/files.hpp"

#include "base/terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <memory>
#include <minizip/zip.h>
#include <random>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// "report.json.1204.part": a cluster's task may still write although its replacement does.
fs::path part_of(const fs::path& file) {
  static const unsigned own = std::random_device()();
  return file.string() + "." + std::to_string(own) + ".part";
}

/// Where the path is a name of one of this process's own descriptors (/dev/stdout, /dev/fd/3, a
/// link to one): that one once more, so that a file it leads to goes on where it is. Else none.
OpenFile own_descriptor(fs::path path) {
  constexpr int most_links = 40;  // as the kernel has it
  std::error_code error;
  const fs::path own = fs::canonical("/proc/self/fd", error);
  for (int links = 0; links < most_links && !error && fs::is_symlink(path, error); ++links) {
    if (fs::canonical(fs::absolute(path).parent_path(), error) == own) {
      std::fflush(stdout);
      return OpenFile(::fcntl(std::atoi(path.filename().c_str()), F_DUPFD_CLOEXEC, 0));
    }
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return OpenFile();
}

/// How many of the bytes could be written; errno says why not all.
std::size_t write_bytes(int file, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

constexpr uLong first_of_1980 = 1u << 21 | 1u << 16;  // as MS-DOS writes it: month, day
/// Made on Unix: the upper half of an entry's attributes is its file mode.
constexpr uLong made_by_unix = 3u << 8 | 20;

/// ": No space left on device", where the system has told minizip, which does not tell it.
std::string why() { return errno == 0 ? "" : std::string(": ") + std::strerror(errno); }

void add(zipFile archive, const ZipEntry& entry) {
  const auto copied = entry.bytes ? std::nullopt : read_whole(entry.from);
  if (!entry.bytes && !copied) throw std::runtime_error(entry.from.string() + ": cannot be read");
  const std::string& bytes = entry.bytes ? *entry.bytes : *copied;
  // No entry here comes near this limit, so 32-bit sizes suffice below.
  if (bytes.size() > std::numeric_limits<unsigned>::max() / 2) {
    throw std::runtime_error(entry.name + ": too large for the archive");
  }
  zip_fileinfo info{};
  info.dosDate = first_of_1980;
  info.external_fa = uLong{S_IFREG | (entry.executable ? 0755u : 0644u)} << 16;
  if (zipOpenNewFileInZip4_64(archive, entry.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                              entry.bytes ? 0 : Z_DEFLATED, Z_BEST_COMPRESSION, 0, -MAX_WBITS,
                              DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, made_by_unix, 0,
                              0) != ZIP_OK ||
      zipWriteInFileInZip(archive, bytes.data(), static_cast<unsigned>(bytes.size())) != ZIP_OK ||
      zipCloseFileInZip(archive) != ZIP_OK) {
    throw std::runtime_error(entry.name + ": cannot be added to the archive" + why());
  }
}

}  // namespace

NewFile::NewFile(const fs::path& path, bool is_private) : path_(path), file_(own_descriptor(path)) {
  if (file_.is_open()) return;
  std::error_code absent;
  const fs::path target = fs::canonical(path, absent);  // not the link that leads to it
  if (!absent) path_ = target;
  struct stat there {};
  const bool exists = ::stat(path_.c_str(), &there) == 0;
  const mode_t mode = is_private ? 0600 : exists ? there.st_mode & 07777 : 0666;
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  if (!exists || S_ISREG(there.st_mode)) {
    part_ = part_of(path_);
    file_ = OpenFile(::open(part_.c_str(), flags, mode));
  }
  if (!file_.is_open() && exists) {
    part_.clear();
    file_ = OpenFile(::open(path_.c_str(), flags, mode));
  }
  if (!file_.is_open()) fail();
  // A new file of everybody's has the mode that the user's mask leaves of it; one that is written
  // directly may be somebody else's.
  const bool is_regular = !exists || S_ISREG(there.st_mode);
  const bool has_mode = is_private ? is_regular : exists && !part_.empty();
  if (has_mode && ::fchmod(file_.get(), mode) != 0) fail();
}

NewFile::~NewFile() {
  if (file_.is_open() && !part_.empty()) ::unlink(part_.c_str());
}

void NewFile::fail() const {
  throw UsageError("cannot write " + path_.string() + ": " + std::strerror(errno));
}

void NewFile::copy_over() {
  const std::optional<std::string> bytes = read_whole(part_);
  file_ = OpenFile(::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!bytes || !file_.is_open()) fail();
  write(*bytes);
  ::unlink(part_.c_str());
}

void NewFile::write(std::string_view text) {
  if (write_bytes(file_.get(), text) != text.size()) fail();
}

void NewFile::commit(bool is_durable) {
  if (is_durable && ::fsync(file_.get()) != 0) fail();
  if (!part_.empty() && ::rename(part_.c_str(), path_.c_str()) != 0) {
    if (errno != EBUSY) fail();
    copy_over();  // a file that is mounted there, as containers have them
  }
  part_.clear();
}

void require_writable(const std::string& path) {
  if (path == "-") return;
  std::error_code ignored;
  const auto kind = fs::status(path, ignored).type();
  const bool is_new = kind == fs::file_type::not_found;
  const bool is_plain =
      is_new || kind == fs::file_type::regular || kind == fs::file_type::directory;
  if (!is_plain) return;  // opening a pipe to test it would look like its end to the reader
  const bool opened = std::ofstream(path, std::ios::binary | std::ios::app).is_open();
  const int reason = errno;
  if (!opened) throw UsageError("cannot write " + path + ": " + std::strerror(reason));
  if (is_new) fs::remove(path, ignored);
}

void require_empty_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) {
    throw UsageError(folder.string() + ": is a file; wanted a new or empty folder");
  }
  const bool empty = fs::is_empty(folder, error);
  if (error) throw UsageError(folder.string() + ": " + error.message());
  if (!empty) {
    throw UsageError(folder.string() + ": the folder is not empty; wanted a new or empty one");
  }
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    print(text);
    return;
  }
  NewFile file(path);
  file.write(text);
  file.commit();
}

void write_private(const std::string& path, const std::string& text) {
  if (path == "-") return print(text);
  NewFile file(path, true);
  file.write(text);
  file.commit();
}

void write_whole(const fs::path& file, std::string_view text) {
  NewFile part(file, true);
  part.write(text);
  part.commit(true);
}

void require_lines(const std::string& option, const std::string& path) {
  if (path == "-") throw UsageError(option + " needs a file, not standard output");
  if (!path.empty()) require_writable(path);
}

LineFile::LineFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_ = own_descriptor(path);
  if (file_.is_open()) return;
  file_ = OpenFile(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw UsageError("cannot write " + path + ": " + std::strerror(errno));
  is_own_ = fs::is_regular_file(path);
  if (is_own_ && ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw UsageError("cannot write " + path + ": another command writes there now");
  }
  if (is_own_ && ::ftruncate(file_.get(), 0) != 0) {
    throw UsageError("cannot write " + path + ": " + std::strerror(errno));
  }
}

void LineFile::write(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  if (error_ != 0) return;
  if (write_bytes(file_.get(), line + '\n') == line.size() + 1) {
    size_ += static_cast<off_t>(line.size()) + 1;
    ++lines_;
    return;
  }
  error_ = errno;
  // Without the part of a line. Of a pipe nothing can be taken back, nor of what others write to.
  if (!is_own_ || ::ftruncate(file_.get(), size_) != 0) return;
}

void LineFile::require_all() const {
  if (error_ == 0) return;
  throw UsageError("cannot write " + path_ + ": " + std::strerror(error_) + "; it ends after " +
                   counted(lines_, "line"));
}

std::optional<std::string> read_whole(const fs::path& file, std::size_t most) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code ignored;
  if (!stream || fs::is_directory(file, ignored)) return std::nullopt;  // a folder opens, too
  std::string text;
  for (std::array<char, 65536> part; stream && text.size() < most;) {
    stream.read(part.data(), part.size());
    text.append(part.data(),
                std::min(static_cast<std::size_t>(stream.gcount()), most - text.size()));
  }
  return text;
}

void write_zip(const fs::path& path, const std::vector<ZipEntry>& entries, bool is_private) {
  const auto close = [](void* archive) { zipClose(archive, nullptr); };
  NewFile whole(path, is_private);
  std::unique_ptr<void, decltype(close)> archive(
      zipOpen64(whole.place().c_str(), APPEND_STATUS_CREATE), close);
  if (!archive) throw std::runtime_error(path.string() + ": cannot be written");
  errno = 0;
  for (const ZipEntry& entry : entries) add(archive.get(), entry);
  if (zipClose(archive.release(), nullptr) != ZIP_OK) {
    throw std::runtime_error(path.string() + ": cannot be written" + why());
  }
  whole.commit();
}

}  // namespace prenorm::harness
