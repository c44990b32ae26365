#include "source_line.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <execinfo.h>
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

/// What this code is part of: the program, or a submission's library.
Dl_info own_object() {
  Dl_info own{};
  ::dladdr(reinterpret_cast<const void*>(&line_of), &own);
  return own;
}

/// Its file; the path of a program may be relative there.
std::string file_of(const Dl_info& object) {
  const std::filesystem::path named = object.dli_fname;
  std::error_code ignored;
  if (named.extension() == ".so") return named;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

/// A line that addr2line prints: "mine.cu:12". Empty for unknown ones, for the system's headers,
/// and for the emulator's own sources, to which cu++ and the emulator's own build give this name:
/// of a function of theirs that the compiler has put into the user's, the caller is meant.
std::string users_line(const std::string& line) {
  for (const char* other : {"/prenorm-emulator/", "/usr/", "??"}) {
    if (line.starts_with(other)) return "";
  }
  const std::filesystem::path place = line.substr(0, line.find(" (disc"));
  return place.lexically_normal();  // without "./"
}

/// Takes the first line from a text.
std::string next_line(std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  text.erase(0, line.size() + 1);
  return line;
}

}  // namespace

bool is_own(const void* code) {
  Dl_info object{};
  return code != nullptr && ::dladdr(code, &object) != 0 &&
         object.dli_fbase == own_object().dli_fbase;
}

std::string line_of(const void* code) {
  if (!is_own(code)) return "";
  const Dl_info own = own_object();
  const auto offset = static_cast<const char*>(code) - static_cast<const char*>(own.dli_fbase);
  char address[32];
  std::snprintf(address, sizeof address, "0x%tx", offset - 1);
  std::string lines = output_of("addr2line -i -e " + quoted(file_of(own)) + " " + address);
  while (!lines.empty()) {
    const std::string line = users_line(next_line(lines));
    if (!line.empty()) return line;
  }
  return "";
}

std::string line_of_callers() {
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    const std::string line = line_of(frames[i]);
    if (!line.empty()) return line;
  }
  return "";
}

std::vector<std::vector<std::string>> lines_of(const std::vector<std::uint64_t>& places) {
  constexpr std::size_t most = 4000;  // a command line has room for so many
  std::vector<std::vector<std::string>> found(places.size());
  const Dl_info own = own_object();
  const auto begin = reinterpret_cast<std::uint64_t>(own.dli_fbase);
  for (std::size_t first = 0; first < places.size(); first += most) {
    std::string command = "addr2line -a -i -e " + quoted(file_of(own));
    for (std::size_t i = first; i < std::min(first + most, places.size()); ++i) {
      char address[32];
      std::snprintf(address, sizeof address, " 0x%llx",
                    static_cast<unsigned long long>(places[i] - begin - 1));
      command += address;
    }
    std::string text = output_of(command);
    for (std::size_t at = first; !text.empty();) {
      const std::string line = next_line(text);
      if (line.starts_with("0x")) {
        ++at;  // what follows is of place at - 1
      } else if (at > first && at <= places.size()) {
        const std::string own = users_line(line);
        if (!own.empty()) found[at - 1].push_back(own);
      }
    }
  }
  return found;
}

std::string in_brackets(const std::string& line) {
  return line.empty() || line.starts_with("??") ? "" : " (" + line + ")";
}

std::string describe(const Place& place, const void* code) {
  return in_brackets(place.line() == 0 ? line_of(code)
                                       : place.file_name() + (":" + std::to_string(place.line())));
}

}  // namespace prenorm::emulator
