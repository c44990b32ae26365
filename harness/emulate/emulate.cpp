#include "emulate/emulate.hpp"

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "emulate/compile_errors.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <regex>
#include <spawn.h>
#include <sstream>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

using CommandLine = std::vector<std::string>;

void append(CommandLine& words, const CommandLine& more) {
  words.insert(words.end(), more.begin(), more.end());
}

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

/// The emulator sees also what the C library copies, and which reads are volatile.
Flags seen(Flags flags) {
  append(flags.compile, {"-DPRENORM_EMULATOR_SEEN", "-fno-builtin-memcpy", "-fno-builtin-memmove",
                         "-fno-builtin-memset", "--param=tsan-distinguish-volatile=1"});
  return flags;
}

const std::map<std::string, Flags>& flags_of_checks() {
  // The first one's calls are answered by the emulator, which is not linked with ThreadSanitizer.
  // Vectors are accessed as a whole.
  static const std::map<std::string, Flags> all{
      {"init",
       seen({{"-fsanitize=thread", "-fsanitize=float-cast-overflow", "-fno-tree-sra"}, {}})},
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

/// Runs the compiler; of what it says where it fails, the first errors.
bool compile_briefly(const CommandLine& compiler, const std::string& source,
                     const fs::path& folder) {
  const CommandOutput said = command_output(posix_line(compiler) + " 2>&1");
  if (said.exit_code == 0) return true;
  const fs::path log = folder / "log";
  write_whole(log, said.text);
  run_program({"/bin/sh", "-c", std::string(first_errors) + R"(first_errors "$1" "$2" >&2)", "sh",
               source, log.string()});
  return false;
}

/// Compiles each file, and links all with an archive of the emulator. `whole`: all that the
/// compiler says is told.
bool compile_and_link(const CudaSources& sources, const std::string& emulator, const Flags& flags,
                      const fs::path& folder, const fs::path& output, bool whole) {
  const fs::path library = archive(emulator);
  if (!fs::exists(library)) throw UsageError(library.string() + ": not built");
  CommandLine link = cxx_compiler();
  append(link, {"-o", output.string()});
  for (const std::string& file : sources.files) {
    if (!fs::exists(file)) throw UsageError(file + ": no such file");
    const std::string object = (folder / fmt::format("{}.o", link.size())).string();
    CommandLine compile{(home() / "libexec/prenorm/prenorm-cu++").string()};
    append(compile, cxx_compiler());
    append(compile, {"-std=" + sources.standard, "-O2", "-g", "-w"});
    append(compile, flags.compile);
    for (const std::string& name : sources.defines) compile.push_back("-D" + name);
    for (const std::string& path : sources.includes) compile.push_back("-I" + path);
    append(compile, {"-c", file, "-o", object});
    if (!(whole ? run_program(compile) == 0 : compile_briefly(compile, file, folder))) return false;
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
  return compile_and_link(sources, check, flags_of_checks().at(check), folder, program, true);
}

bool compile_cuda_solution(const CudaSources& sources, const fs::path& folder,
                           const fs::path& library) {
  const Flags flags = seen({{counting_options(), "-fPIC", "-fvisibility=hidden"}, {"-shared"}});
  return compile_and_link(sources, "submission", flags, folder, library, false);
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
  const CudaSources sources{{source}, {(home() / "include").string()}, {}, "c++20"};
  if (!compile_cuda_solution(sources, objects, library)) {
    throw UsageError(source +
                     " does not compile; docs/cuda-submissions.md says what a function is like");
  }
  return library;
}

// ---- Running programs

namespace {

constexpr const char* findings_file = "findings";  // how the names of a sanitizer's files begin
/// A frame of a sanitizer's stack, whose place may have blanks: "    #0 function |mine.cu:12:3|".
constexpr const char* frame_format = "stack_trace_format='    #%n %f |%S|'";

/// The first line of a stack in `text` that is none of the emulator's own: "file.cu:12".
std::string users_line(const std::string& text) {
  static const std::regex frame(R"(#\d+ [^\n]*\|([^\n|]+?:\d+)(?::\d+)?\|)");
  for (std::sregex_iterator each(text.begin(), text.end(), frame), end; each != end; ++each) {
    const std::string place = (*each)[1];
    // The emulator's sources have this name in what is compiled for it (cuda/emulator/front).
    const bool own = place.starts_with("/prenorm-emulator/");
    const bool library =
        place.find("/include/c++/") != place.npos || place.find("/libsanitizer/") != place.npos;
    if (!own && !library) return place;
  }
  return "";
}

/// "a race: no barrier orders these accesses", and for each a line "mine.cu:12: write of 4 bytes by
/// thread ..."; a place that is that of the line above is left out. Of memory that was freed only
/// the access: who has it now may be anybody.
std::string race_in_words(const std::string& report) {
  // The report names threads by numbers, and says the numbers' names at its end.
  static const std::regex access(
      R"(((?:Previous )?(?:Atomic |atomic )?(?:[Rr]ead|[Ww]rite)) of size (\d+) at \S+ by (main thread|thread T\d+)[^\n]*\n((?:    #[^\n]*\n)*))");
  static const std::regex named(R"(Thread (T\d+) '([^']*)')");
  std::map<std::string, std::string> names;
  for (std::sregex_iterator each(report.begin(), report.end(), named), end; each != end; ++each) {
    names["thread " + (*each)[1].str()] = (*each)[2];
  }
  const bool freed = report.find("ThreadSanitizer: heap-use-after-free") != report.npos;
  std::string words, before;
  for (std::sregex_iterator each(report.begin(), report.end(), access), end; each != end; ++each) {
    if (freed && !words.empty()) break;
    std::string what = (*each)[1];
    if (what.starts_with("Previous ")) what.erase(0, 9);
    what[0] = static_cast<char>(std::tolower(what[0]));
    const auto name = names.find((*each)[3]);
    const std::string place = users_line((*each)[4]) + ": ";
    words += fmt::format("\n  {}{} of {} bytes by {}",
                         place == before ? std::string(place.size(), ' ') : place, what,
                         (*each)[2].str(), name == names.end() ? (*each)[3].str() : name->second);
    before = place;
  }
  if (words.empty()) return "";
  return (freed ? "memory that was freed is accessed"
                : "a race: no barrier orders these accesses") +
         words;
}

/// What AddressSanitizer says, without its map of memory.
std::string memory_in_words(const std::string& report) {
  static const std::regex error(R"(AddressSanitizer: (\S+)[^\n]*\n([^\n]*)\n((?:    #[^\n]*\n)*))");
  static const std::regex region(R"(is located [^\n]*)");
  std::smatch found;
  if (!std::regex_search(report, found, error)) return "";
  static const std::regex size(R"((READ|WRITE) of size (\d+))");
  std::smatch access;
  const std::string second = found[2];
  if (!std::regex_search(second, access, size)) return "";
  const std::string kind =
      found[1] == "use-after-poison" ? "outside of a static shared array" : found[1].str();
  std::string words = fmt::format("{}: {}, a {} of {} bytes", users_line(found[3]), kind,
                                  access[1] == "READ" ? "read" : "write", access[2].str());
  std::smatch where;
  if (std::regex_search(report, where, region)) {
    words += "; the address " + where.str();
    if (const auto begin = words.find(" ["); begin != words.npos) words.resize(begin);
  }
  return words;
}

/// Anything else, such as a second free: the report's first line, and a line of the program.
std::string other_in_words(const std::string& report) {
  static const std::regex headline(R"((?:ERROR|WARNING): \w+Sanitizer: ([^\n]*[^:\n]))");
  std::smatch found;
  if (!std::regex_search(report, found, headline)) return report;
  return users_line(report) + ": " + found[1].str();
}

/// Prints what a sanitizer has written to files of the folder; false if it found nothing.
bool print_findings(const fs::path& folder) {
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(findings_file)) continue;
    const std::string report = read_whole(entry.path()).value_or("");
    std::string words = race_in_words(report);
    if (words.empty()) words = memory_in_words(report);
    if (words.empty()) words = other_in_words(report);
    fmt::print(stderr, "prenorm: {}\n", words);
    any = true;
  }
  return any;
}

/// Programs started from now on have their memory where ThreadSanitizer expects it.
void keep_addresses() {
  constexpr unsigned long ask = 0xffffffff;
  const int now = ::personality(ask);
  if (now >= 0 && ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0) return;
  throw UsageError(
      fmt::format("--check race: addresses cannot be kept from being random here (personality: {})",
                  std::strerror(errno)));
}

}  // namespace

int run_program(const std::vector<std::string>& words, bool in_foreground) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // Ctrl-C ends the program, and then this one as after any other end.
  const auto before = in_foreground ? std::signal(SIGINT, SIG_IGN) : SIG_DFL;
  pid_t child = 0;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::posix_spawnattr_setsigdefault(&attributes, &interrupt);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error =
      ::posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw UsageError(words[0] + ": " + std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (in_foreground) std::signal(SIGINT, before);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  fmt::print(stderr, "prenorm: {} was ended by {}\n", in_foreground ? "the program" : words[0],
             ::strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

CheckedRun run_checked(const std::vector<std::string>& words, const std::string& check,
                       const fs::path& folder) {
  const std::string log = (folder / findings_file).string();
  const char quote = log.find('\'') == log.npos ? '\'' : '"';
  const std::string options =
      fmt::format("exitcode=1:halt_on_error=1:{}:log_path={}{}{}", frame_format, quote, log, quote);
  ::setenv("TSAN_OPTIONS", options.c_str(), 1);
  ::setenv("ASAN_OPTIONS", (options + ":detect_leaks=0").c_str(), 1);
  ::unsetenv("OMP_NUM_THREADS");  // set for workers, when the command line was read
  const fs::path counts = folder / "counts.json";
  if (check == "profile") ::setenv("PRENORM_COUNTS", counts.c_str(), 1);
  if (check == "race") keep_addresses();
  CheckedRun ran;
  ran.exit_code = run_program(words, true);
  ran.found = print_findings(folder);
  if (ran.found) ran.exit_code = 1;
  ran.counts = read_whole(counts).value_or("");
  return ran;
}

}  // namespace prenorm::harness
