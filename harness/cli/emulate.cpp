// prenorm emulate: compiles a CUDA program for the emulator and runs it.
#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "emulate/emulate.hpp"
#include "profile/profile_report.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

struct EmulateOptions {
  CudaSources sources;
  std::vector<std::string> arguments;
  std::string check;
  bool profile = false;
  std::string html, svg, output;
  profile::LineFilter wanted;

  bool counts() const { return profile || !html.empty() || !svg.empty() || !wanted.line.empty(); }
};

/// Returns the exit code: the program's own, or 1 where there is nothing for a file that was asked
/// for.
int report_counts(const EmulateOptions& options, const std::vector<profile::KernelCounts>& kernels,
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

int emulate(EmulateOptions options) {
  if (options.counts() && (!options.check.empty() || !options.output.empty())) {
    throw UsageError(
        "counting (--profile, --html, --svg, --line) checks and keeps nothing: leave "
        "out --check and -o");
  }
  if (options.counts()) options.check = "profile";
  if (options.check.empty()) options.check = "init";
  require_reports({options.html, options.svg});
  // The linker replaces what is there, which may be running.
  if (!options.output.empty() && !fs::exists(options.output)) require_writable(options.output);
  const TemporaryFolder folder;
  const fs::path program =
      options.output.empty() ? folder.path() / "program" : fs::path(options.output);
  if (!compile_cuda_program(options.sources, options.check, folder.path(), program)) return 2;
  if (!options.output.empty()) return 0;
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  const CheckedRun ran = run_checked(words, options.check, folder.path());
  if (ran.found || !options.counts()) return ran.exit_code;
  return report_counts(options, profile::program_kernels(ran.counts, program), ran.exit_code);
}

}  // namespace

Command emulate_command() {
  const auto options = std::make_shared<EmulateOptions>();
  EmulateOptions& o = *options;
  return {
      .name = "emulate",
      .description = "Compile a CUDA program for the CPU, run it, and check what its kernels do",
      .options = {{"FILE TEXT", o.sources.files, "CUDA sources (.cu); one of them has main()",
                   Trait::required},
                  {"-I,--include PATH", o.sources.includes, "Folder of headers"},
                  {"-D,--define NAME[=VALUE]", o.sources.defines, "Macro of the preprocessor"},
                  {"--std", o.sources.standard, "Language (default: c++17, as nvcc has it)",
                   OneOf{"c++17", "c++20"}},
                  {"--check", o.check, "What to look for (default: init)",
                   OneOf{"init", "memory", "race", "none"}},
                  {"--profile", o.profile, "Count what kernels do to memory; check nothing"},
                  picture_options(o.html, o.svg),
                  {"--line FILE:LINE", o.wanted.line,
                   "Only this source line of the profile; as its table names it"},
                  {"-o,--output PATH", o.output, "Write the program there, and do not run it"}},
      .footer =
          R"(--check init finds reads of memory that nothing wrote, accesses out of bounds, and accesses to the
device's memory by the host or to the host's by kernels; memory the same as far as AddressSanitizer
sees it, also after a free; race accesses that no barrier orders. Barriers and warp operations that
not all threads reach are always found.

--profile, --html, --svg and --line count, and check nothing.

What comes after -- are the program's own arguments.

Examples:
  prenorm emulate sum.cu
  prenorm emulate sum.cu --check race -- 1024
  prenorm emulate sum.cu --profile --html profile.html

Exit code: the program's own, 1 if a kernel does something undefined or nothing was counted
for a page or a picture, 2 if the program does not compile)",
      .run = [options] { return emulate(*options); },
      .after_dashes = &o.arguments};
}

}  // namespace prenorm::harness
