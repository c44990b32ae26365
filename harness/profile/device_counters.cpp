// A device's own counters, for kernels that the emulator has counted: from ncu (Nsight Compute),
// around a call of the device's solution, or from a file that ncu has written.
#include "base/files.hpp"
#include "base/process.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "profile/profile_run.hpp"
#include "profile/resources.hpp"
#include "report/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/printf.h>
#include <limits>
#include <unistd.h>

namespace prenorm::harness::profile {
namespace {

/// Where a counter's value goes.
struct Counter {
  const char* name;
  double DeviceCounters::*value;
};
constexpr Counter counters[] = {
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", &DeviceCounters::load_requests},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", &DeviceCounters::load_sectors},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", &DeviceCounters::store_requests},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", &DeviceCounters::store_sectors},
    {"dram__bytes_read.sum", &DeviceCounters::bytes_read},
    {"dram__bytes_write.sum", &DeviceCounters::bytes_written},
};

/// The rows of the table, without what ncu says before, between and after them.
std::vector<CsvRow> rows_of(const std::string& text) {
  std::string table;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with('"')) table += line + '\n';
  }
  return csv_rows(table);
}

/// The cells of a table's row by the names of its columns.
class NamedCells {
 public:
  NamedCells(const CsvRow& head, const CsvRow& row) : head_(head), row_(row) {
    if (row.cells.size() != head.cells.size()) {
      throw std::invalid_argument("a row has not as many cells as the head");
    }
  }

  const std::string& operator[](const std::string& name) const {
    const auto found = std::ranges::find(head_.cells, name);
    if (found == head_.cells.end()) throw std::invalid_argument("there is no column " + name);
    return row_.cells[static_cast<std::size_t>(found - head_.cells.begin())];
  }

 private:
  const CsvRow& head_;
  const CsvRow& row_;
};

/// "1,048,576"; NaN for "n/a" and for what is not there.
double number(std::string cell) {
  std::erase(cell, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = error == std::errc() && end == cell.data() + cell.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

/// "(256, 1, 1)".
std::array<std::uint64_t, 3> triple(const std::string& cell) {
  unsigned long x = 0, y = 0, z = 0;
  if (std::sscanf(cell.c_str(), "(%lu, %lu, %lu)", &x, &y, &z) != 3) {
    throw std::invalid_argument("no size: " + printable(cell, 60));
  }
  return {x, y, z};
}

/// The name of the function that these launches are of, if it is among the kernel's.
bool is_of(const DeviceLaunch& launch, const KernelCounts& kernel) {
  return std::ranges::any_of(kernel.functions, [&](const std::string& symbol) {
    return function_name(symbol) == launch.function;
  });
}

bool has_size(const DeviceLaunch& launch, const KernelCounts& kernel) {
  return launch.grid == kernel.grid && launch.block == kernel.block;
}

DeviceCounters sum_of(const std::vector<const DeviceLaunch*>& launches, std::uint64_t counted) {
  DeviceCounters sum;
  sum.launches = launches.size();
  const double each = static_cast<double>(counted) / static_cast<double>(launches.size());
  for (const DeviceLaunch* launch : launches) {
    for (const Counter& counter : counters) {
      sum.*counter.value += each * launch->counters.*counter.value;
    }
  }
  return sum;
}

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

/// The counters that are read, as ncu calls them.
std::vector<std::string> counter_names() {
  std::vector<std::string> names;
  for (const Counter& counter : counters) names.emplace_back(counter.name);
  return names;
}

/// Reads what ncu writes with --csv --page raw --print-units base --print-kernel-base mangled.
/// Throws std::invalid_argument for what is no such text.
std::vector<DeviceLaunch> parse_launches(const std::string& text) {
  const std::vector<CsvRow> rows = rows_of(text);
  std::vector<DeviceLaunch> launches;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const NamedCells cells(rows.front(), rows[i]);
    if (cells["ID"].empty()) continue;  // the units
    DeviceLaunch launch;
    launch.function = function_name(cells["Kernel Name"]);
    launch.grid = triple(cells["Grid Size"]);
    launch.block = triple(cells["Block Size"]);
    launch.counters.launches = 1;
    for (const Counter& counter : counters) {
      launch.counters.*counter.value = number(cells[counter.name]);
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

/// Gives kernels what the device counted of them: launches of the same function with the same grid
/// and block; or with another grid, where the device had one only, and here is one only. (A kernel
/// may be launched with as many blocks as fit the device.)
void add_counters(std::vector<KernelCounts>& kernels, const std::vector<DeviceLaunch>& launches) {
  for (KernelCounts& kernel : kernels) {
    std::vector<const DeviceLaunch*> of_function, of_size;
    for (const DeviceLaunch& launch : launches) {
      if (!is_of(launch, kernel)) continue;
      of_function.push_back(&launch);
      if (has_size(launch, kernel)) of_size.push_back(&launch);
    }
    if (of_function.empty()) continue;
    if (of_size.empty()) {
      const DeviceLaunch& first = *of_function.front();
      const bool one_there = std::ranges::all_of(of_function, [&](const DeviceLaunch* each) {
        return each->grid == first.grid && each->block == kernel.block;
      });
      const bool one_here = std::ranges::count_if(kernels, [&](const KernelCounts& each) {
                              return is_of(first, each);
                            }) == 1;
      if (!one_there || !one_here) continue;
      of_size = of_function;
    }
    kernel.device_counters = sum_of(of_size, kernel.launches);
  }
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
