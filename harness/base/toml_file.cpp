#include "base/toml_file.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <fstream>
#include <system_error>

namespace prenorm::harness {

toml::table read_toml(const fs::path& file) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(file, ignored);
  errno = 0;
  std::ifstream stream(file);
  if (!stream || is_folder) {
    const std::error_code why(is_folder ? EISDIR : errno, std::generic_category());
    throw std::invalid_argument(
        fmt::format("{}: cannot be read: {}", fs::absolute(file, ignored).string(), why.message()));
  }
  try {
    return toml::parse(stream, file.string());
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(fmt::format("{}:{}: {}", file.string(), error.source().begin.line,
                                            printable(error.description())));
  }
}

}  // namespace prenorm::harness
