#include "base/zip.hpp"

#include <fstream>
#include <limits>
#include <memory>
#include <minizip/zip.h>
#include <stdexcept>
#include <sys/stat.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr uLong first_of_1980 = 1u << 21 | 1u << 16;  // as MS-DOS writes it: month, day
/// Made on Unix: the upper half of an entry's attributes is its file mode.
constexpr uLong made_by_unix = 3u << 8 | 20;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  return bytes;
}

void add(zipFile archive, const ZipEntry& entry) {
  const std::string copied = entry.bytes ? "" : read(entry.from);
  const std::string& bytes = entry.bytes ? *entry.bytes : copied;
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
