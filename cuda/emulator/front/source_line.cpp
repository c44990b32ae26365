#include "source_line.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
#include <memory>

namespace prenorm::emulator {
namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             ::pclose);
  std::string text;
  char part[512];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe.get()) != nullptr) text += part;
  return text;
}

/// As one word of the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// The file that the code is in: a library, or the program itself, whose path may be relative
/// there.
std::string file_of(const Dl_info& object) {
  const std::filesystem::path named = object.dli_fname;
  std::error_code ignored;
  if (named.extension() == ".so") return named;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

}  // namespace

std::string line_of(const void* code) {
  Dl_info object{};
  if (code == nullptr || ::dladdr(code, &object) == 0) return "";
  const auto offset = static_cast<const char*>(code) - static_cast<const char*>(object.dli_fbase);
  char address[32];
  std::snprintf(address, sizeof address, "0x%tx", offset - 1);
  std::string lines = output_of("addr2line -i -e " + quoted(file_of(object)) + " " + address);
  while (!lines.empty()) {
    const std::string line = lines.substr(0, lines.find('\n'));
    lines.erase(0, line.size() + 1);
    // cu++ and the emulator's own build give the emulator's sources this name: of a function of its
    // headers that the compiler has put into a kernel, the caller is meant.
    if (line.starts_with("/prenorm-emulator/")) continue;
    const std::filesystem::path place = line.substr(0, line.find(" (disc"));
    return place.lexically_normal();  // without "./"
  }
  return "";
}

std::string in_brackets(const std::string& line) {
  return line.empty() || line.starts_with("??") ? "" : " (" + line + ")";
}

std::string describe(const Place& place, const void* code) {
  return in_brackets(place.line() == 0 ? line_of(code)
                                       : place.file_name() + (":" + std::to_string(place.line())));
}

}  // namespace prenorm::emulator
