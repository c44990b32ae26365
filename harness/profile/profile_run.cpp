#include "profile/profile_run.hpp"

#include "base/paths.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "bench/workload.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <numeric>

namespace prenorm::harness::profile {
namespace {

using Works = std::vector<std::shared_ptr<const Work>>;

constexpr std::string_view prefix = "libprenorm_", suffix = ".so";

// ---- what is called -----------------------------------------------------------------------------

std::shared_ptr<const Work> work_of(const bench::Workload& workload, std::uint64_t seed) {
  Work work{workload.entry.problem, workload.entry.name, workload.dtype,
            workload.signature,     workload.info,       {},
            workload.bytes,         workload.flops};
  work.inputs = bench::Values(seed).fresh(workload);
  return std::make_shared<const Work>(std::move(work));
}

double bytes_of(const TensorType& type) {
  return static_cast<double>(element_count(type.shape)) * static_cast<double>(size_of(type.dtype));
}

std::shared_ptr<const Work> work_of(const SelectedFixture& file, const Case& info) {
  Work work{file.problem,
            info.name,
            info.dtype(),
            file.fixture->signature(),
            info,
            file.fixture->inputs(info),
            0,
            0};
  for (const auto& input : info.inputs) work.bytes += input ? bytes_of(input->type) : 0;
  for (const OutputInfo& output : info.outputs) {
    work.bytes += bytes_of({output.dtype, output.shape});
  }
  return std::make_shared<const Work>(std::move(work));
}

bench::Workloads workloads_of(const fs::path& file, const ProfileOptions& options) {
  bench::BenchOptions all;
  all.file = file.string();
  all.selection.fixtures = options.selection.fixtures;
  bench::Workloads workloads = bench::read_workloads(all);
  std::erase_if(workloads, [&](const auto& workload) {
    return !selects(options.selection.problems, workload->entry.problem) ||
           !selects(options.shapes, workload->entry.name) ||
           !selects(options.selection.dtypes, std::string(name(workload->dtype)));
  });
  return workloads;
}

/// Of the profile's own shapes, which are small; the bench's are there where they are named.
Works named_shapes(const ProfileOptions& options) {
  const fs::path own = data_folder() / "shapes.json";
  const fs::path timed = home() / "share/prenorm/bench/shapes.json";
  std::vector<bench::ShapeEntry> entries = bench::read_entries(own);
  std::ranges::copy(bench::read_entries(timed), std::back_inserter(entries));
  bench::BenchOptions wanted;
  wanted.selection = options.selection;
  wanted.shapes = options.shapes;
  bench::check_names(entries, wanted);
  bench::Workloads workloads = workloads_of(own, options);
  if (workloads.empty() && !options.shapes.empty()) workloads = workloads_of(timed, options);
  Works works;
  for (const auto& workload : workloads) works.push_back(work_of(*workload, options.seed));
  return works;
}

Works cases(const ProfileOptions& options) {
  Works works;
  for (const SelectedFixture& file :
       open_files(options.selection, 1, Requirements{.tolerances = false})) {
    if (!file.fixture) throw UsageError(file.error);
    for (const Case* info : file.cases) {
      if (!info->error) works.push_back(work_of(file, *info));
    }
  }
  return works;
}

// ---- who is called ------------------------------------------------------------------------------

fs::path counted_folder() { return home() / "lib/prenorm/counted"; }

fs::path counted_library(const std::string& name) {
  return counted_folder() / (std::string(prefix) + name + std::string(suffix));
}

/// The shipped solution's twin that counts, or a library by its path or its source's.
Solution find_counting(const std::string& label, const ProfileOptions& all,
                       const Solution::Options& options) {
  if (const auto own = all.compiled.find(label); own != all.compiled.end()) {
    return {label, own->second.library, "", options};
  }
  const std::size_t slash = label.find('/');
  const std::string shipped = label.substr(0, slash);
  const std::string variant = slash == label.npos ? "" : label.substr(slash + 1);
  std::error_code ignored;
  const bool is_name = !shipped.empty() && shipped != "." && shipped != "..";
  if (is_name && fs::exists(counted_library(shipped), ignored)) {
    return {label, counted_library(shipped), variant, options};
  }
  return solution_of_user(label, options);
}

bool is_step(const std::string& variant) {
  return variant.size() > 1 && variant[0] == 'v' &&
         std::ranges::all_of(variant.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

/// The versions of a problem, from the first on: cuda-naive-emulated, cuda-emulated/v2,
/// cuda-emulated.
std::vector<std::string> versions_of(const std::string& problem, Solution& launched) {
  std::vector<std::string> names{"cuda-naive-emulated"};
  for (const std::string& function : launched.functions()) {
    if (!function.starts_with(problem + "__")) continue;
    const std::string variant = function.substr(problem.size() + 2);
    if (is_step(variant)) names.push_back("cuda-emulated/" + variant);
  }
  names.emplace_back("cuda-emulated");
  return names;
}

// ---- the run ------------------------------------------------------------------------------------

class Profiling {
 public:
  Profiling(const ProfileOptions& options, const DeviceLimits& device)
      : options_(options), resources_(built_resources(device.architecture)) {
    limits_.limits = {.seconds = options.timeout, .bytes = 0};
    limits_.in_process = options.only_call;
  }

  ProfileRow row(std::shared_ptr<const Work> work, const std::string& label) {
    Solution& solution = solution_named(label);
    ProfileRow row{std::move(work), label, Status::passed, "", {}};
    const Outcome outcome = call(solution, *row.work);
    row.status = outcome.status;
    row.message = outcome.message;
    if (options_.only_call) return row;
    const std::string text = solution.take_counts();
    if (row.ok() && text.empty()) throw UsageError(label + ": " + without_counts);
    if (!row.ok()) return row;
    row.kernels = parse_counts(text);
    find_lines(row.kernels, solution.library());
    const auto compiled = options_.compiled.find(label);
    add_resources(row.kernels,
                  compiled == options_.compiled.end() ? resources_ : compiled->second.resources);
    return row;
  }

  Solution& solution_named(const std::string& label) {
    const auto known = solutions_.find(label);
    if (known != solutions_.end()) return known->second;
    Solution& solution =
        solutions_.emplace(label, find_counting(label, options_, limits_)).first->second;
    if (!solution.load()) throw UsageError(label + ": " + solution.message());
    return solution;
  }

 private:
  static constexpr const char* without_counts =
      "counts nothing: profile is for kernels built for the counting emulator (cuda-emulated, "
      "cuda-naive-emulated, a CUDA source, or a library that is linked with it)";

  static Outcome call(Solution& solution, const Work& work) {
    const std::string function = solution.function_for(work.problem);
    if (function.empty()) {
      Outcome outcome;
      outcome.status = Status::not_implemented;
      outcome.message = "no function prenorm_" + solution.absent_for(work.problem);
      return outcome;
    }
    solution.take_counts();  // not of this call
    return solution.call(call_of(function, work.signature, work.inputs, work.info));
  }

  const ProfileOptions& options_;
  const Resources resources_;
  Solution::Options limits_;
  std::map<std::string, Solution> solutions_;
};

}  // namespace

double ProfileRow::least_bytes() const {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0, [](double sum, const auto& kernel) {
    return sum + static_cast<double>(kernel.least_bytes());
  });
}

double ProfileRow::sector_bytes() const {
  std::uint64_t sectors = 0;
  for (const KernelCounts& kernel : kernels) {
    sectors += kernel.loads(Space::global).sectors + kernel.stores(Space::global).sectors +
               kernel.atomics(Space::global).sectors;
  }
  return 32 * static_cast<double>(sectors);
}

double ProfileRow::tensor_flops() const {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0, [](double sum, const auto& kernel) {
    return sum + static_cast<double>(kernel.tensor_flops());
  });
}

Bound ProfileRow::bound(const DeviceLimits& device) const {
  const double by_tensor_cores = tensor_flops();
  const double others = std::max(0.0, work->flops - by_tensor_cores);
  return bound_of(least_bytes(), others, by_tensor_cores, work->dtype, device);
}

DeviceLimits device_named(const std::string& id) {
  std::vector<std::string> ids;
  for (DeviceLimits& device : read_devices(data_folder() / "devices.json")) {
    if (device.id == id) return device;
    ids.push_back(device.id);
  }
  throw UsageError("no device '" + id + "'" + did_you_mean(id, ids) + ": " + joined(ids));
}

fs::path data_folder() { return home() / "share/prenorm/profile"; }

ProfileReport run_profile(const ProfileOptions& options) {
  ProfileReport report{device_named(options.device), options.seed, "", {}};
  const Works works = options.selection.cases.empty() ? named_shapes(options) : cases(options);
  if (works.empty()) throw UsageError("no shape is selected; --shape and --dtype name some");
  Profiling run(options, report.device);
  CounterSource counters(options);
  Progress progress;
  for (const auto& work : works) {
    const std::vector<std::string> versions =
        options.solutions.empty() ? versions_of(work->problem, run.solution_named("cuda-emulated"))
                                  : options.solutions;
    for (const std::string& version : versions) {
      progress.show(work->shape + ", " + std::string(name(work->dtype)) + ", " + version);
      report.rows.push_back(run.row(work, version));
      if (!options.only_call) counters.add(report.rows.back());
    }
  }
  report.counters_of = counters.device();
  return report;
}

}  // namespace prenorm::harness::profile
