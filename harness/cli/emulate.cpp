// prenorm emulate: compiles a CUDA program for the emulator and runs it.
#include "base/home.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/emulate_profile.hpp"
#include "cli/options.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
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

namespace fs = std::filesystem;

struct EmulateOptions {
  std::vector<std::string> files, includes, defines, arguments;
  std::string check = "init";
  bool profile = false;
  std::string output;
};

/// What a program is linked with.
fs::path archive(const std::string& check, const std::string& suffix = ".a") {
  return home() / "lib/prenorm" / ("libprenorm-emulator-" + check + suffix);
}

/// What a check is compiled and linked with; the profile is one of them.
struct Check {
  std::vector<std::string> compile, link;
};
const std::map<std::string, Check>& checks() {
  // The first one's calls are answered by the emulator, which is not linked with ThreadSanitizer.
  static const std::map<std::string, Check> all{
      {"init", {{"-fsanitize=thread"}, {}}},
      {"memory", {{"-fsanitize=address"}, {"-fsanitize=address"}}},
      {"race", {{"-fsanitize=thread"}, {"-fsanitize=thread"}}},
      {"none", {}},
      {"profile", {{"@" + archive("profile", ".options").string()}, {}}},
  };
  return all;
}

/// Runs a program to its end; returns its exit code, or 128 and the signal's number, which it says.
int run(const std::vector<std::string>& words, bool in_foreground = false) {
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

/// The words of CXX, which may begin with a launcher: "ccache g++".
std::vector<std::string> compiler() {
  const char* chosen = std::getenv("CXX");
  std::istringstream text(chosen == nullptr ? "" : chosen);
  std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  if (words.empty()) words.push_back("c++");
  return words;
}

/// Compiles and links; false if that fails, which the compiler has said.
bool build(const EmulateOptions& options, const fs::path& folder, const fs::path& program) {
  const Check& check = checks().at(options.check);
  const fs::path emulator = archive(options.check);
  if (!fs::exists(emulator)) throw UsageError(emulator.string() + ": not built");
  std::vector<std::string> link = compiler();
  link.insert(link.end(), {"-o", program.string()});
  for (const std::string& file : options.files) {
    if (!fs::exists(file)) throw UsageError(file + ": no such file");
    const std::string object = (folder / fmt::format("{}.o", link.size())).string();
    std::vector<std::string> compile = compiler();
    compile.insert(compile.begin(), (home() / "libexec/prenorm/prenorm-cu++").string());
    compile.insert(compile.end(), {"-std=c++20", "-O2", "-g", "-w"});
    compile.insert(compile.end(), check.compile.begin(), check.compile.end());
    for (const std::string& name : options.defines) compile.push_back("-D" + name);
    for (const std::string& path : options.includes) compile.push_back("-I" + path);
    compile.insert(compile.end(), {"-c", file, "-o", object});
    if (run(compile) != 0) return false;
    link.push_back(object);
  }
  // Whole: what a program's end is told by is called by nothing in it.
  link.insert(link.end(), {"-Wl,--whole-archive", emulator.string(), "-Wl,--no-whole-archive"});
  link.insert(link.end(), check.link.begin(), check.link.end());
  link.insert(link.end(), {"-lboost_context", "-pthread"});
  return run(link) == 0;
}

// --- what sanitizers say, in the words of kernels
// ---------------------------------------------------

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first line of a stack in `text` that is none of the emulator's own: "file.cu:12".
std::string users_line(const std::string& text) {
  static const std::regex frame(R"(#\d+ .*? (\S+?:\d+)(?::\d+)?(?: \(|\n|$))");
  for (std::sregex_iterator each(text.begin(), text.end(), frame), end; each != end; ++each) {
    const std::string place = (*each)[1];
    // The emulator's sources have this name in what is compiled for it (cuda/emulator/front).
    const bool own = place.starts_with("/prenorm-emulator/");
    if (!own && place.find("/include/c++/") == place.npos) return place;
  }
  return "";
}

/// "a race: nothing orders these two", and for each a line "mine.cu:12: write of 4 bytes by thread
/// ...".
std::string race_in_words(const std::string& report) {
  // The report names threads by numbers, and says the numbers' names at its end.
  static const std::regex access(
      R"(((?:Previous )?(?:Atomic |atomic )?(?:[Rr]ead|[Ww]rite)) of size (\d+) at \S+ by (main thread|thread T\d+)[^\n]*\n((?:    #[^\n]*\n)*))");
  static const std::regex named(R"(Thread (T\d+) '([^']*)')");
  std::map<std::string, std::string> names;
  for (std::sregex_iterator each(report.begin(), report.end(), named), end; each != end; ++each) {
    names["thread " + (*each)[1].str()] = (*each)[2];
  }
  std::string words;
  for (std::sregex_iterator each(report.begin(), report.end(), access), end; each != end; ++each) {
    std::string what = (*each)[1];
    if (what.starts_with("Previous ")) what.erase(0, 9);
    what[0] = static_cast<char>(std::tolower(what[0]));
    const auto name = names.find((*each)[3]);
    words += fmt::format("\n  {}: {} of {} bytes by {}", users_line((*each)[4]), what,
                         (*each)[2].str(), name == names.end() ? (*each)[3].str() : name->second);
  }
  return words.empty() ? "" : "a race: no barrier orders these accesses" + words;
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
  std::string words = users_line(found[3]) + ": " + found[1].str();
  if (std::regex_search(second, access, size)) {
    words +=
        fmt::format(", a {} of {} bytes", access[1] == "READ" ? "read" : "write", access[2].str());
  }
  std::smatch where;
  if (std::regex_search(report, where, region)) {
    words += "; the address " + where.str();
    if (const auto begin = words.find(" ["); begin != words.npos) words.resize(begin);
  }
  return words;
}

/// Prints what a sanitizer has written to files that begin with `log`; false if it found nothing.
bool tell_findings(const fs::path& folder) {
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("findings")) continue;
    const std::string report = read(entry.path());
    std::string words = race_in_words(report);
    if (words.empty()) words = memory_in_words(report);
    if (words.empty()) words = report;
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

int emulate(const EmulateOptions& options) {
  const TemporaryFolder folder;
  const fs::path program =
      options.output.empty() ? folder.path() / "program" : fs::path(options.output);
  if (!build(options, folder.path(), program)) return 2;
  if (!options.output.empty()) return 0;
  const std::string log = (folder.path() / "findings").string();
  const std::string words = "exitcode=1:halt_on_error=1:log_path=" + log;
  ::setenv("TSAN_OPTIONS", words.c_str(), 1);
  ::setenv("ASAN_OPTIONS", (words + ":detect_leaks=0").c_str(), 1);
  ::unsetenv("OMP_NUM_THREADS");  // set for workers, by main()
  const fs::path counts = folder.path() / "counts.json";
  if (options.profile) ::setenv("PRENORM_COUNTS", counts.c_str(), 1);
  std::vector<std::string> command{program.string()};
  if (options.check == "race") keep_addresses();
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  const int code = run(command, true);
  if (tell_findings(folder.path())) return 1;
  if (options.profile) {
    const bool colour = wants_colour(false);
    fmt::print("{}", profile_of_program(read(counts), program, colour));
  }
  return code;
}

}  // namespace

void add_emulate(Arguments& app, Action& chosen) {
  auto options = std::make_shared<EmulateOptions>();
  Arguments& command = *app.add_subcommand(
      "emulate", "Compile a CUDA program for the CPU, run it, and check what its kernels do");
  command.add_option("FILE", options->files, "CUDA sources (.cu); one of them has main()")
      ->required();
  add_repeatable(command, "-I,--include", options->includes, "Folder of headers")
      ->type_name("PATH");
  add_repeatable(command, "-D,--define", options->defines, "Macro of the preprocessor")
      ->type_name("NAME[=VALUE]");
  command.add_option("--check", options->check, "What to look for: init, memory, race or none")
      ->check(is_member({"init", "memory", "race", "none"}))
      ->capture_default_str();
  command.add_flag("--profile", options->profile,
                   "Tell what kernels do to memory, and check nothing");
  command.add_option("-o,--output", options->output, "Write the program there, and do not run it")
      ->type_name("PATH");
  command.leave_words_after_dashes(options->arguments);
  command.footer(
      "--check init finds reads of shared memory that nothing wrote, memory accesses out of "
      "bounds,\n"
      "race accesses that no barrier orders. Barriers and warp operations that not all threads "
      "reach\n"
      "are found always.\n\n"
      "What comes after -- are the program's own arguments.\n\n"
      "Examples:\n"
      "  prenorm emulate sum.cu\n"
      "  prenorm emulate sum.cu --check race -- 1024\n"
      "  prenorm emulate sum.cu --profile\n\n"
      "Exit code: the program's own, 1 if a kernel does something undefined, 2 if the program "
      "does\n"
      "not compile");
  command.callback([options, &chosen] {
    if (options->profile) options->check = "profile";
    chosen = [options] { return emulate(*options); };
  });
}

}  // namespace prenorm::harness
