#include "base/process.hpp"
#include "base/paths.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "grade/grade_settings.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"
#include "sandbox/sandbox.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>

namespace prenorm::harness {
namespace {

/// The output of a shell command without its final line break; nothing if it fails.
std::optional<std::string> output_of(const std::string& command) {
  auto [text, exit_code] = command_output("{ " + command + "; } 2>/dev/null");
  if (exit_code != 0) return std::nullopt;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The first line of the first command that succeeds.
std::optional<std::string> first_of(const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    if (const auto text = output_of(command)) return first_line(*text);
  }
  return std::nullopt;
}

std::optional<std::string> memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  double total = 0, available = 0;
  for (std::string line; std::getline(file, line);) {
    std::sscanf(line.c_str(), "MemTotal: %lf", &total);
    std::sscanf(line.c_str(), "MemAvailable: %lf", &available);
  }
  if (total == 0) return std::nullopt;
  return fmt::format("{:.1f} GiB, {:.1f} GiB available", total / 0x1p20, available / 0x1p20);
}

std::optional<std::string> blas() {
  void* library = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  using Text = char* (*)();
  const auto config = reinterpret_cast<Text>(::dlsym(library, "openblas_get_config"));
  return config == nullptr ? "OpenBLAS" : config();
}

/// A table with one row per part: its name, its state, what was found.
class Findings {
 public:
  void found(const std::string& what, const std::string& value) {
    table_.rows.push_back({{what}, {"ok", Tone::good}, {printable(value)}});
  }
  void absent(const std::string& what, const std::string& consequence) {
    table_.rows.push_back({{what}, {"none", Tone::quiet}, {consequence}});
  }
  void missing(const std::string& what, const std::string& consequence) {
    table_.rows.push_back({{what}, {"MISSING", Tone::bad}, {consequence}});
    ++missing_;
  }
  /// Found, or absent with the consequence.
  void optional(const std::string& what, const std::optional<std::string>& value,
                const std::string& consequence) {
    value ? found(what, *value) : absent(what, consequence);
  }

  std::string text(bool colour) const { return render(table_, colour); }
  int count_missing() const { return missing_; }

 private:
  Table table_{{"what", "", "found"}, {}};
  int missing_ = 0;
};

void look_at_machine(Findings& findings) {
  const Json facts = describe_environment();
  for (const auto& [what, value] : facts.items()) {
    if (what != "cores" && what != "machine") findings.found(what, value);
  }
  findings.found("cores", std::to_string(processors()));
  findings.optional("memory", memory(), "unknown: /proc is not mounted");
}

/// "NVIDIA H200, compute capability 9.0, 139.8 GiB, 50.0 MiB of L2, driver 580.65.06, CUDA 13.0".
std::string describe(const DeviceFacts& device) {
  return fmt::format("{}, compute capability {}, {:.1f} GiB, {:.1f} MiB of L2, driver {}",
                     device.name, device.compute_capability,
                     static_cast<double>(device.memory) / 0x1p30,
                     static_cast<double>(device.l2) / 0x1p20, device.driver);
}

/// The device as a solution's worker reports it, or else nvidia-smi.
std::optional<std::string> device(SolutionPool& pool) {
  for (const std::string& name : shipped_solutions()) {
    Solution& solution = pool.get(name);
    if (solution.load() && solution.device_facts()) return describe(*solution.device_facts());
  }
  return output_of("nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader");
}

void look_at_tools(Findings& findings, SolutionPool& pool) {
  findings.optional("C++ compiler", first_of({"c++ --version", "g++ --version"}),
                    "needed to build solutions, not to run them (Debian: g++)");
  findings.optional("Python",
                    first_of({std::string(system_python) + " --version", "python3 --version"}),
                    "needed by Python submissions, notebooks and study (Debian: python3)");
  findings.optional("BLAS", blas(), "libopenblas.so.0 not found; the reference and fast need it");
  findings.optional("CUDA device", device(pool), "CUDA solutions are skipped");
  findings.optional("nvcc", output_of("nvcc --version | grep release"),
                    "CUDA sources are not compiled for a device");
}

/// "a worker starts in 18 ms": the median of five starts, each until a library is loaded. Only
/// "works" if there is no worker or library to try.
std::string start_up(SandboxKind kind) {
  const fs::path worker = home() / "libexec/prenorm/prenorm-worker";
  const fs::path library = home() / "lib/prenorm/libprenorm_plain.so";
  std::error_code ignored;
  if (!fs::exists(worker, ignored) || !fs::exists(library, ignored)) return "works";
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    Sandbox sandbox;
    sandbox.kind = kind;
    sandbox.readable = {worker, library};
    Process::Command command;
    command.program = worker;
    Solution::Options options;
    options.worker = [&] { return WorkerStart{confined(command, sandbox), library}; };
    const auto start = std::chrono::steady_clock::now();
    Solution solution("plain", library, "", options);
    if (!solution.load()) return "a worker does not start: " + solution.message();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count());
  }
  std::ranges::sort(times);
  return fmt::format("a worker starts in {:.0f} ms", times[times.size() / 2]);
}

void look_at_sandboxes(Findings& findings) {
  const ControlGroup::Availability groups = ControlGroup::availability();
  if (groups.available) {
    findings.found("control groups", "limit a submission's " + groups.what);
  } else {
    findings.absent("control groups",
                    "the grader counts a submission's memory itself: " + groups.what);
  }
  for (const SandboxKind kind : {SandboxKind::bubblewrap, SandboxKind::process}) {
    const std::string what = "sandbox " + std::string(name(kind));
    if (const auto why = unavailable(kind)) {
      findings.absent(what, "submissions cannot be sandboxed with it: " + printable(*why));
    } else {
      findings.found(what, start_up(kind));
    }
  }
}

/// The package of the notebooks, which Python finds by itself only in their folder.
void look_at_python_package(Findings& findings) {
  std::error_code missing;
  const fs::path package = fs::canonical(home() / "share/prenorm/notebooks/prenorm", missing);
  if (missing) {
    findings.absent("Python package", "not installed: notebooks cannot import prenorm");
  } else {
    const std::string folder = shell_word(package.parent_path().string());
    findings.found("Python package", "import prenorm after: export PYTHONPATH=" + folder);
  }
}

void look_at_parts(Findings& findings, SolutionPool& pool) {
  const fs::path helpers = home() / "libexec/prenorm";
  if (const auto hdf5 = output_of(shell_word((helpers / "prenorm-hdf5").string()) + " --version")) {
    findings.found("HDF5", *hdf5);
  } else {
    findings.missing("HDF5", "prenorm-hdf5 does not run");
  }
  for (const char* helper : {"prenorm-worker", "prenorm-hdf5"}) {
    std::error_code ignored;
    if (fs::exists(helpers / helper, ignored)) {
      findings.found(helper, (helpers / helper).string());
    } else {
      findings.missing(helper, "not in " + helpers.string());
    }
  }
  const std::vector<std::string> names = shipped_solutions();
  if (names.empty()) findings.missing("solutions", "none in " + (home() / "lib/prenorm").string());
  for (const std::string& name : names) {
    Solution& solution = pool.get(name);
    if (solution.load()) {
      findings.found("solution " + name, counted(solution.functions().size(), "function"));
    } else if (solution.status() == Status::skipped) {
      findings.absent("solution " + name, printable(solution.message()));
    } else {
      findings.missing("solution " + name, printable(solution.message()));
    }
  }
  try {
    const std::vector<std::string> files = fixture_files(Selection{});
    if (files.empty()) {
      findings.missing("fixtures", "no .h5 file");
    } else {
      findings.found("fixtures", counted(files.size(), "file") + " in " +
                                     fs::path(files.front()).parent_path().string());
    }
  } catch (const UsageError& error) {
    findings.missing("fixtures", error.what());
  }
  look_at_python_package(findings);
}

/// "52 of 54 cases of 3 problems on NVIDIA H200, 2026-11-21; changed since last device run".
std::string describe(const Record& record, SolutionPool& pool) {
  std::size_t passed = 0, total = 0;
  for (const auto& [problem, cases] : record.problems) {
    total += cases.size();
    passed += record.passed(problem);
  }
  std::string text = fmt::format("{} of {} passed in {} {}", passed, counted(total, "case"),
                                 counted(record.problems.size(), "problem"), record.origin());
  if (!is_shipped(record.solution)) return text;
  Solution& solution = pool.get(record.solution);
  solution.load();
  return text + record.note_of_change(solution.sources());
}

void look_at_records(Findings& findings, SolutionPool& pool) {
  const Records records = read_records(records_folder());
  for (const Record& record : records.all) {
    findings.found("record of " + printable(record.solution), describe(record, pool));
  }
  for (const std::string& reason : records.unreadable) {
    findings.absent("device record", "cannot be read: " + reason);
  }
  if (records.all.empty() && records.unreadable.empty()) {
    findings.absent("device records", "none in " + records_folder().string());
  }
}

int doctor(bool no_color) {
  Findings findings;
  SolutionPool pool;
  look_at_machine(findings);
  look_at_tools(findings, pool);
  look_at_sandboxes(findings);
  look_at_parts(findings, pool);
  look_at_records(findings, pool);
  print(findings.text(wants_colour(no_color)));
  if (findings.count_missing() == 0) return 0;
  print(fmt::format("\n{} missing that the program needs\n", findings.count_missing()));
  return 1;
}

}  // namespace

Command doctor_command() {
  const auto no_color = std::make_shared<bool>(false);
  return {
      .name = "doctor",
      .description = "Show what works on this machine: compiler, BLAS, HDF5, CUDA device, sandbox",
      .options = {{"--no-color", *no_color, "Disable colours"}},
      .footer = "Example:\n  prenorm doctor\n\nExit code: 0, or 1 if a required part is missing",
      .run = [no_color] { return doctor(*no_color); }};
}

}  // namespace prenorm::harness
