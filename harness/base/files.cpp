#include "base/files.hpp"

#include "base/open_file.hpp"
#include "base/terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <minizip/zip.h>
#include <random>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

[[noreturn]] void cannot_write(const fs::path& file) {
  throw std::runtime_error("cannot write " + file.string() + ": " + std::strerror(errno));
}

constexpr uLong first_of_1980 = 1u << 21 | 1u << 16;  // as MS-DOS writes it: month, day
/// Made on Unix: the upper half of an entry's attributes is its file mode.
constexpr uLong made_by_unix = 3u << 8 | 20;

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
    throw std::runtime_error(entry.name + ": cannot be added to the archive");
  }
}

}  // namespace

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
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw UsageError("cannot write " + path + ": " + std::strerror(errno));
}

void make_private(const std::string& path) {
  std::error_code ignored;
  // Only regular files are changed: opening a pipe would look like its end to the reader.
  if (path == "-" || fs::is_other(path, ignored)) return;
  const OpenFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (file.is_open() && ::fchmod(file.get(), 0600) == 0) return;
  throw UsageError("cannot write " + path + ": " + std::strerror(errno));
}

void write_private(const std::string& path, const std::string& text) {
  make_private(path);
  write_text(path, text);
}

// Written and synced under a temporary name, then renamed.
void write_whole(const fs::path& file, std::string_view text) {
  // A cluster's task may still run although the cluster has started its replacement.
  static const unsigned own = std::random_device()();
  const fs::path part = file.string() + "." + std::to_string(own) + ".part";
  const int target = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (target < 0) cannot_write(part);
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t written = ::write(target, text.data(), text.size());
    good = written > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(written));
  }
  good = good && ::fsync(target) == 0;
  ::close(target);
  if (!good || ::rename(part.c_str(), file.c_str()) != 0) cannot_write(file);
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

void write_zip(const fs::path& path, const std::vector<ZipEntry>& entries) {
  const auto close = [](void* archive) { zipClose(archive, nullptr); };
  std::unique_ptr<void, decltype(close)> archive(zipOpen64(path.c_str(), APPEND_STATUS_CREATE),
                                                 close);
  if (!archive) throw std::runtime_error(path.string() + ": cannot be written");
  for (const ZipEntry& entry : entries) add(archive.get(), entry);
  if (zipClose(archive.release(), nullptr) != ZIP_OK) {
    throw std::runtime_error(path.string() + ": cannot be written");
  }
}

}  // namespace prenorm::harness
