#include "emulate/compile.hpp"

#include "base/process.hpp"
#include "base/error.hpp"
#include "base/home.hpp"
#include "base/text.hpp"
#include "emulate/run.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <sstream>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

using CommandLine = std::vector<std::string>;

/// What a check is compiled and linked with.
struct Flags {
  CommandLine compile, link;
};
/// What a program is linked with.
fs::path archive(const std::string& check, const std::string& suffix = ".a") {
  return home() / "lib/prenorm" / ("libprenorm-emulator-" + check + suffix);
}

/// What kernels are compiled with whose accesses are counted: a file of options.
std::string counting_options() { return "@" + archive("profile", ".options").string(); }

const std::map<std::string, Flags>& flags_of_checks() {
  // The first one's calls are answered by the emulator, which is not linked with ThreadSanitizer.
  static const std::map<std::string, Flags> all{
      {"init", {{"-fsanitize=thread"}, {}}},
      {"memory", {{"-fsanitize=address"}, {"-fsanitize=address"}}},
      {"race", {{"-fsanitize=thread"}, {"-fsanitize=thread"}}},
      {"none", {}},
      {"profile", {{counting_options()}, {}}},
  };
  return all;
}

/// The words of CXX, which may begin with a launcher: "ccache g++".
CommandLine cxx_compiler() {
  const char* chosen = std::getenv("CXX");
  std::istringstream text(chosen == nullptr ? "" : chosen);
  CommandLine words{std::istream_iterator<std::string>(text), {}};
  if (words.empty()) words.push_back("c++");
  return words;
}

void append(CommandLine& words, const CommandLine& more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// Compiles each file, and links all with an archive of the emulator.
bool compile_and_link(const CudaSources& sources, const std::string& emulator, const Flags& flags,
                      const fs::path& folder, const fs::path& output) {
  const fs::path library = archive(emulator);
  if (!fs::exists(library)) throw UsageError(library.string() + ": not built");
  CommandLine link = cxx_compiler();
  append(link, {"-o", output.string()});
  for (const std::string& file : sources.files) {
    if (!fs::exists(file)) throw UsageError(file + ": no such file");
    const std::string object = (folder / fmt::format("{}.o", link.size())).string();
    CommandLine compile{(home() / "libexec/prenorm/prenorm-cu++").string()};
    append(compile, cxx_compiler());
    append(compile, {"-std=c++20", "-O2", "-g", "-w"});
    append(compile, flags.compile);
    for (const std::string& name : sources.defines) compile.push_back("-D" + name);
    for (const std::string& path : sources.includes) compile.push_back("-I" + path);
    append(compile, {"-c", file, "-o", object});
    if (run_program(compile) != 0) return false;
    link.push_back(object);
  }
  // Whole: what a program's end is told by is called by nothing in it.
  append(link, {"-Wl,--whole-archive", library.string(), "-Wl,--no-whole-archive"});
  append(link, flags.link);
  append(link, {"-lboost_context", "-pthread"});
  return run_program(link) == 0;
}

/// The path of nvcc; empty: none.
std::string find_nvcc() {
  if (const char* given = std::getenv("CUDACXX"); given != nullptr && *given != '\0') return given;
  const CommandOutput found = command_output("command -v nvcc 2>/dev/null");
  if (found.exit_code == 0) return lines_of(found.text).at(0);
  return ::access(PRENORM_NVCC, X_OK) == 0 ? PRENORM_NVCC : "";
}

}  // namespace

bool compile_cuda_program(const CudaSources& sources, const std::string& check,
                          const fs::path& folder, const fs::path& program) {
  return compile_and_link(sources, check, flags_of_checks().at(check), folder, program);
}

bool compile_cuda_solution(const CudaSources& sources, const fs::path& folder,
                           const fs::path& library) {
  const Flags flags{{counting_options(), "-fPIC", "-fvisibility=hidden"}, {"-shared"}};
  return compile_and_link(sources, "submission", flags, folder, library);
}

std::string ptxas_report(const std::string& source, const std::string& architecture,
                         const fs::path& folder) {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) return "";
  const CommandLine words{nvcc,
                          "-std=c++20",
                          "-arch=" + architecture,
                          "-cubin",
                          "-Xptxas=-v",
                          "-w",
                          "-I" + (home() / "include").string(),
                          source,
                          "-o",
                          (folder / "mine.cubin").string()};
  const CommandOutput said = command_output(posix_line(words) + " 2>&1");
  if (said.exit_code == 0) return said.text;
  fmt::print(stderr, "prenorm: {} does not take {}, so registers are not known:\n{}", nvcc, source,
             said.text);
  return "";
}

bool is_cuda_source(const std::string& solution) {
  return solution.ends_with(".cu") && fs::is_regular_file(solution);
}

fs::path compile_cuda_solution(const std::string& source, const fs::path& folder) {
  const fs::path objects = folder / std::to_string(std::hash<std::string>()(source));
  fs::create_directory(objects);
  const fs::path library = objects / "libmine.so";
  const CudaSources sources{{source}, {(home() / "include").string()}, {}};
  if (!compile_cuda_solution(sources, objects, library)) {
    throw UsageError(source + " does not compile");
  }
  return library;
}

}  // namespace prenorm::harness
