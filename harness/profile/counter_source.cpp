#include "profile/counter_source.hpp"

#include "base/process.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/printf.h>
#include <unistd.h>

namespace prenorm::harness::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view emulated_suffix = "-emulated";

/// How much longer than a call by itself one under ncu may take: it runs each kernel several times.
constexpr double patience = 10;

/// $PRENORM_NCU, or ncu on PATH; empty: neither.
std::string find_ncu() {
  if (const char* given = std::getenv("PRENORM_NCU"); given != nullptr && *given != '\0') {
    return given;
  }
  const CommandOutput found = command_output("command -v ncu 2>/dev/null");
  return found.exit_code == 0 ? lines_of(found.text).at(0) : "";
}

/// "cuda/v2" for "cuda-emulated/v2": the solution of the same kernels on a device. Empty: none.
std::string device_name(const std::string& emulated) {
  const std::size_t slash = std::min(emulated.find('/'), emulated.size());
  const std::string shipped = emulated.substr(0, slash);
  if (!shipped.ends_with(emulated_suffix)) return "";
  return shipped.substr(0, shipped.size() - emulated_suffix.size()) + emulated.substr(slash);
}

/// What ncu gives as the reason, or else what was printed last.
std::string reason_of(const std::string& table, const CommandOutput& printed) {
  std::string last;
  for (const std::string& line : lines_of(printed.text)) {
    if (!line.empty()) last = line;
  }
  for (const std::string& line : lines_of(table)) {
    if (line.starts_with("==ERROR==")) {
      last = line.substr(std::min(line.size(), line.find_first_not_of(' ', 9)));
      break;
    }
  }
  return last.empty() ? fmt::format("exit code {}", printed.exit_code) : printable(last, 300);
}

}  // namespace

CounterSource::CounterSource(const ProfileOptions& options) : options_(options) {
  if (options.counters == "none") return;
  asked_for_ = options.counters == "ncu";
  if (options.counters.empty() || asked_for_) {
    ncu_ = find_ncu();
    if (ncu_.empty() && asked_for_) {
      throw UsageError(
          "--counters ncu: there is no ncu (Nsight Compute) on PATH; PRENORM_NCU names it");
    }
    return;
  }
  const auto text = read_whole(options.counters);
  if (!text) throw UsageError(options.counters + ": cannot be read");
  try {
    stored_ = parse_launches(*text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(options.counters + ": " + error.what() +
                     " (wanted is what ncu --csv --page raw writes: docs/profile.md)");
  }
  if (stored_.empty())
    throw UsageError(options.counters + ": there is no launch of a kernel in it");
  device_ = fs::path(options.counters).filename().string();
}

void CounterSource::add(ProfileRow& row) {
  if (!row.ok()) return;
  if (!stored_.empty()) return add_counters(row.kernels, stored_);
  if (ncu_.empty()) return;
  const std::string name = device_name(row.solution);
  Solution* solution = name.empty() ? nullptr : device_solution(name);
  if (solution == nullptr || solution->function_for(row.work->problem).empty()) return;
  try {
    ask(row, name);
    device_ = solution->device_facts() ? solution->device_facts()->name : "the device";
  } catch (const std::runtime_error& error) {
    const std::string text = fmt::format("ncu, {} at {}: {}", name, row.work->shape, error.what());
    if (asked_for_) throw UsageError(text);
    fmt::print(stderr, "prenorm: {}; no counters of the device\n", text);
    ncu_.clear();
  }
}

/// Nothing where it was not built, or finds no device.
Solution* CounterSource::device_solution(const std::string& name) {
  const auto known = solutions_.find(name);
  std::optional<Solution>& solution = known != solutions_.end() ? known->second : solutions_[name];
  if (known == solutions_.end()) {
    std::string why;
    try {
      solution.emplace(find_solution(name, {}));
      if (!solution->load()) {
        why = solution->message();
      } else if (!solution->on_device()) {
        why = "runs on no device";
      }
    } catch (const std::invalid_argument& error) {
      why = error.what();
    }
    if (!why.empty()) solution.reset();
    if (!why.empty() && asked_for_) throw UsageError("--counters ncu: " + name + ": " + why);
  }
  return solution ? &*solution : nullptr;
}

/// `table` is what ncu writes.
std::string CounterSource::command(const ProfileRow& row, const std::string& solution,
                                   const fs::path& table) const {
  std::vector<std::string> words{
      "timeout", "-k", "5", fmt::format("{:.0f}", std::ceil(patience * options_.timeout)), ncu_};
  // The caches are empty before each launch, as ncu has it without being told otherwise. Clocks are
  // left alone, for no time is read.
  for (const char* word :
       {"--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled",
        "--target-processes", "application-only", "--clock-control", "none", "--metrics"}) {
    words.emplace_back(word);
  }
  words.push_back(joined(counter_names(), ","));
  words.insert(words.end(), {"--log-file", table.string()});

  const bool is_case = !options_.selection.cases.empty();
  words.insert(words.end(), {fs::read_symlink("/proc/self/exe").string(), "profile",
                             row.work->problem, is_case ? "--case" : "--shape", row.work->shape,
                             "--dtype", std::string(name(row.work->dtype)), "--solution", solution,
                             "--seed", std::to_string(options_.seed), "--only-call"});
  for (const std::string& path : options_.selection.fixtures) {
    words.insert(words.end(), {"--fixtures", path});
  }
  return posix_line(words) + " </dev/null 2>&1";
}

void CounterSource::ask(ProfileRow& row, const std::string& solution) {
  const TemporaryFolder folder;
  const fs::path table = folder.path() / "counters.csv";
  const CommandOutput printed = command_output(command(row, solution, table));
  const std::string text = read_whole(table).value_or("");
  std::vector<DeviceLaunch> launches;
  try {
    launches = parse_launches(text);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  if (printed.exit_code != 0 || launches.empty()) {
    throw std::runtime_error(reason_of(text, printed));
  }
  add_counters(row.kernels, launches);
}

}  // namespace prenorm::harness::profile
