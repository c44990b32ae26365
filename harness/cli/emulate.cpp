// prenorm emulate: compiles a CUDA program for the emulator and runs it.
#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/cuda_compiler.hpp"
#include "cli/options.hpp"
#include "profile/program_profile.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sys/personality.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct EmulateOptions {
  CudaSources sources;
  std::vector<std::string> arguments;
  std::string check;
  bool profile = false;
  std::string html, svg, output;
  profile::LineFilter wanted;

  bool counts() const { return profile || !html.empty() || !svg.empty() || !wanted.line.empty(); }
};

// --- what sanitizers say, in the words of kernels ---------------------------------------------

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

/// Returns the exit code: the program's own, or 1 where there is nothing for a file that was asked
/// for.
int tell_counts(const EmulateOptions& options, const std::vector<profile::KernelCounts>& kernels,
                int code) {
  if (kernels.empty()) {
    fmt::print(stderr, "prenorm: no counts: no kernel ran, or the program did not end\n");
    return options.html.empty() && options.svg.empty() ? code : 1;
  }
  const fs::path name = fs::path(options.sources.files.front()).filename();
  if (!options.html.empty()) {
    write_text(options.html, profile::program_html(name, kernels, options.wanted));
  }
  if (!options.svg.empty()) write_text(options.svg, profile::program_svg(kernels, options.wanted));
  if (options.html != "-" && options.svg != "-") {
    print(profile::program_text(kernels, options.wanted, wants_colour(false)));
  }
  return code;
}

int emulate(const EmulateOptions& options) {
  for (const std::string& path : {options.html, options.svg}) {
    if (!path.empty()) require_writable(path);
  }
  const TemporaryFolder folder;
  const fs::path program =
      options.output.empty() ? folder.path() / "program" : fs::path(options.output);
  if (!compile_cuda_program(options.sources, options.check, folder.path(), program)) return 2;
  if (!options.output.empty()) return 0;
  const std::string log = (folder.path() / "findings").string();
  const std::string words = "exitcode=1:halt_on_error=1:log_path=" + log;
  ::setenv("TSAN_OPTIONS", words.c_str(), 1);
  ::setenv("ASAN_OPTIONS", (words + ":detect_leaks=0").c_str(), 1);
  ::unsetenv("OMP_NUM_THREADS");  // set for workers, by main()
  const fs::path counts = folder.path() / "counts.json";
  if (options.counts()) ::setenv("PRENORM_COUNTS", counts.c_str(), 1);
  std::vector<std::string> command{program.string()};
  if (options.check == "race") keep_addresses();
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  const int code = run_program(command, true);
  if (tell_findings(folder.path())) return 1;
  if (!options.counts()) return code;
  return tell_counts(options, profile::program_kernels(read(counts), program), code);
}

}  // namespace

void add_emulate(Arguments& app, Action& chosen) {
  auto options = std::make_shared<EmulateOptions>();
  Arguments& command = *app.add_subcommand(
      "emulate", "Compile a CUDA program for the CPU, run it, and check what its kernels do");
  command.add_option("FILE", options->sources.files, "CUDA sources (.cu); one of them has main()")
      ->required();
  add_repeatable(command, "-I,--include", options->sources.includes, "Folder of headers")
      ->type_name("PATH");
  add_repeatable(command, "-D,--define", options->sources.defines, "Macro of the preprocessor")
      ->type_name("NAME[=VALUE]");
  command
      .add_option("--check", options->check,
                  "What to look for: init (default), memory, race or none")
      ->check(is_member({"init", "memory", "race", "none"}))
      ->type_name("WHAT");
  command.add_flag("--profile", options->profile, "Count what kernels do to memory; check nothing");
  add_picture_options(command, options->html, options->svg);
  command
      .add_option("--line", options->wanted.line,
                  "Only this source line of the profile; as its table names it")
      ->type_name("FILE:LINE");
  command.add_option("-o,--output", options->output, "Write the program there, and do not run it")
      ->type_name("PATH");
  command.leave_words_after_dashes(options->arguments);
  command.footer(
      "--check init finds reads of shared memory that nothing wrote, memory accesses out of "
      "bounds,\n"
      "race accesses that no barrier orders. Barriers and warp operations that not all threads "
      "reach\n"
      "are always found.\n\n"
      "--profile, --html, --svg and --line count, and check nothing.\n\n"
      "What comes after -- are the program's own arguments.\n\n"
      "Examples:\n"
      "  prenorm emulate sum.cu\n"
      "  prenorm emulate sum.cu --check race -- 1024\n"
      "  prenorm emulate sum.cu --profile --html profile.html\n\n"
      "Exit code: the program's own, 1 if a kernel does something undefined or nothing was "
      "counted\n"
      "for a page or a picture, 2 if the program does not compile");
  command.callback([options, &chosen] {
    if (options->counts() && (!options->check.empty() || !options->output.empty())) {
      throw UsageError(
          "counting (--profile, --html, --svg, --line) checks and keeps nothing: leave "
          "out --check and -o");
    }
    if (options->counts()) options->check = "profile";
    if (options->check.empty()) options->check = "init";
    chosen = [options] { return emulate(*options); };
  });
}

}  // namespace prenorm::harness
