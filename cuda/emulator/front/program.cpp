// A program that `prenorm emulate` runs: what a kernel does wrong ends it, and the message says
// where in the source.
#include "emulator.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

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

/// The source line of the code before this address: binutils know it. A function of the emulator's
/// headers that the compiler has put into a kernel is not meant, but who calls it.
std::string line_of(const void* code) {
  Dl_info object{};
  if (code == nullptr || ::dladdr(code, &object) == 0) return "";
  const auto offset = static_cast<const char*>(code) - static_cast<const char*>(object.dli_fbase);
  char address[32];
  std::snprintf(address, sizeof address, "0x%tx", offset - 1);
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::string lines = output_of("addr2line -i -e " + quoted(program) + " " + address);
  while (!lines.empty()) {
    const std::string line = lines.substr(0, lines.find('\n'));
    lines.erase(0, line.size() + 1);
    // cu++ and the emulator's own build give its sources this name.
    if (!line.starts_with("/prenorm-emulator/")) return line.substr(0, line.find(" (disc"));
  }
  return "";
}

std::string describe(const Place& place, const void* code) {
  std::string where =
      place.line() == 0 ? line_of(code) : place.file_name() + (":" + std::to_string(place.line()));
  if (where.empty() || where.starts_with("??")) return "";
  return " (" + where + ")";
}

[[noreturn]] void end_program() {
  std::fflush(stdout);
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const KernelError& error) {
    std::fprintf(stderr, "prenorm: %s\n", error.what());
    std::_Exit(1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "terminated by an exception: %s\n", error.what());
  } catch (...) {
  }
  std::abort();
}

/// In place of the C library's: what fails in a kernel is told as other errors of kernels are.
[[noreturn]] void assertion_failed(const char* text, const char* file, unsigned line,
                                   const char* function) {
  std::fflush(stdout);
  const std::string kernel = where();
  if (!kernel.empty()) {
    std::fprintf(stderr, "prenorm: %s: assert(%s) fails (%s:%u)\n", kernel.c_str(), text, file,
                 line);
    std::_Exit(1);
  }
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
  std::abort();
}

// Before main().
const bool set = (describe_place = describe, std::set_terminate(end_program), true);

}  // namespace
}  // namespace prenorm::emulator

extern "C" void __assert_fail(const char* text, const char* file, unsigned line,
                              const char* function) noexcept {
  prenorm::emulator::assertion_failed(text, file, line, function);
}
