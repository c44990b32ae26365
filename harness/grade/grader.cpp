#include "grade/grader.hpp"

#include "base/digest.hpp"
#include "base/paths.hpp"
#include "base/text.hpp"
#include "grade/budget.hpp"
#include "replay/runner.hpp"

#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// For all that a grader does but building and asking: copying, drawing hidden cases, diagnosing.
/// On a machine that has much else to do.
constexpr double seconds_of_grader = 1800;

/// The sandbox that was typed, or the best that works here; `note` says where that is not the best
/// there is.
SandboxKind choose_sandbox(const std::string& word, std::string& note) {
  for (const SandboxKind kind :
       {SandboxKind::none, SandboxKind::process, SandboxKind::bubblewrap}) {
    if (word != name(kind)) continue;
    if (const auto why = unavailable(kind)) {
      throw UsageError("--sandbox " + word + " does not work here: " + *why);
    }
    if (kind == SandboxKind::none) note = "no sandbox: the submission could do what it liked";
    return kind;
  }
  const auto no_namespaces = unavailable(SandboxKind::bubblewrap);
  if (!no_namespaces) return SandboxKind::bubblewrap;
  if (const auto why = unavailable(SandboxKind::process)) {
    throw UsageError("no sandbox works here: bubblewrap: " + *no_namespaces + "; process: " + *why +
                     " (--sandbox none runs without one)");
  }
  note = "sandbox: process, as bubblewrap does not work here: " + *no_namespaces;
  return SandboxKind::process;
}

/// The program of that name, or at that path.
std::string find_program(const fs::path& name) {
  std::vector<fs::path> candidates{fs::absolute(name)};
  if (!name.has_parent_path()) {
    candidates.clear();
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      candidates.push_back(fs::absolute(folder) / name);
    }
  }
  for (const fs::path& candidate : candidates) {
    if (::access(candidate.c_str(), X_OK) != 0 || fs::is_directory(candidate)) continue;
    std::array<char, 2> first{};
    std::ifstream(candidate).read(first.data(), first.size());
    if (first == std::array{'#', '!'}) {  // what it would run is not there in the sandbox
      throw UsageError("--python " + candidate.string() +
                       " is a script; wanted the interpreter itself, or that of an environment");
    }
    return candidate.string();
  }
  throw UsageError("--python " + name.string() + ": no such program");
}

Adapters adapters_of(const Exam& exam) {
  const Rubric& rubric = exam.rubric;
  if (rubric.adapters.empty()) return {};
  return as_usage(
      [&] { return Adapters(rubric.path.parent_path() / rubric.adapters, exam.signatures()); });
}

/// Whether a dataset of handed-in outputs answers a case of the exam: by its case and name, with
/// the wanted type and shape. Of all others nothing is read. The exam must live as long as the
/// function.
std::function<bool(const std::string& problem, const OutputsFile::Entry& entry)> wanted_outputs(
    const Exam& exam) {
  using Key = std::tuple<std::string, std::string, std::string>;  // problem, case, tensor
  std::map<Key, const OutputInfo*> wanted;
  for (const ExamPart& part : exam.parts) {
    for (const ExamCase& exam_case : part.cases) {
      if (exam_case.hidden) continue;
      const std::vector<TensorSpec>& names = part.file->fixture->signature().outputs;
      const std::vector<OutputInfo>& outputs = exam_case.stored->outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        wanted[{part.problem, exam_case.name, names[i].name}] = &outputs[i];
      }
    }
  }
  return
      [wanted, &rubric = exam.rubric](const std::string& problem, const OutputsFile::Entry& entry) {
        const auto found = wanted.find({problem, entry.case_name, entry.tensor});
        return found != wanted.end() && is_taken(rubric, entry.value.dtype, found->second->dtype) &&
               entry.value.shape == found->second->shape;
      };
}

/// Fixtures and solutions lie where a submission does not look.
SubmissionOptions submission_options(const GradeSettings& settings, const Exam& exam,
                                     SandboxKind kind) {
  SubmissionOptions result;
  result.sandbox = kind;
  result.limits.seconds = settings.timeout;
  result.build_seconds = settings.build_timeout;
  result.emulate = settings.emulate;
  result.python = settings.python;
  result.wanted_outputs = wanted_outputs(exam);
  result.memory = static_cast<std::size_t>(settings.memory * 0x1p30);
  result.forbidden_symbols = exam.rubric.forbidden;
  result.forbidden_calls = exam.rubric.forbidden_calls;
  result.round_float64 = exam.rubric.round_float64;
  // The command that repeats a case. What is graded as a whole is built anew.
  result.reuse_build = !exam.options.selection.cases.empty();
  std::set<fs::path> hidden;
  for (const SelectedFixture& file : exam.files) {
    hidden.insert(fs::absolute(file.path).parent_path());
  }
  if (!exam.options.drawn.empty()) hidden.insert(fs::absolute(exam.options.drawn));
  result.hidden.assign(hidden.begin(), hidden.end());
  return result;
}

GradeSettings& completed(GradeSettings& settings) {
  if (settings.rubric.empty()) settings.rubric = usual_rubric;
  if (settings.python != system_python) settings.python = find_program(settings.python);
  if (!settings.seed) settings.seed = fresh_seed();
  return settings;
}

Exam exam_of(const GradeSettings& settings, unsigned jobs, Grader::Progress progress) {
  GradeOptions how;
  how.seed = *settings.seed;
  how.hidden = !settings.no_hidden;
  how.selection = settings.selection;
  if (!settings.files.empty()) how.selection.fixtures = settings.files;
  how.quick = settings.quick;
  how.jobs = jobs;
  how.budget = settings.budget;
  how.emulator_limit = settings.emulator_limit.value_or(most_elements_emulated);
  how.progress = std::move(progress);
  return make_exam(as_usage([&] { return read_rubric(settings.rubric); }), how);
}

/// Whoever handed it in knows no path of ours.
std::string without_path(std::string why, const fs::path& path) {
  const std::string prefix = path.string() + ": ";
  return why.starts_with(prefix) ? why.substr(prefix.size()) : why;
}

void add_words(Digest& digest, const std::vector<std::string>& words) {
  digest.add(std::to_string(words.size()));
  for (const std::string& word : words) digest.add(word);
}

}  // namespace

std::uint64_t fresh_seed() {
  std::random_device system;
  return (std::uint64_t{system()} << 32) | system();
}

Grader::Grader(GradeSettings& settings, unsigned jobs, Progress progress)
    : settings_(completed(settings)),
      sandbox_(choose_sandbox(settings.sandbox, note_)),
      exam_(exam_of(settings, jobs, std::move(progress))),
      adapters_(adapters_of(exam_)) {
  settings.whole_seconds =
      usual_clock_factor * (settings.build_timeout + budget_of(exam_)) + seconds_of_grader;
}

std::string Grader::exam_digest() const {
  Digest digest;
  digest.add(std::to_string(scoring_rules));
  const Rubric& rubric = exam_.rubric;
  add_words(digest, rubric.forbidden);
  add_words(digest, rubric.forbidden_calls);
  digest.add(rubric.forbidden_calls_earn ? "earn" : "earn nothing");
  digest.add(rubric.round_float64 ? "rounded" : "as it is");
  digest.add(rubric.inputs_may_change ? "inputs may change" : "inputs stay");
  if (rubric.require_kernel) digest.add("kernels are required");
  if (settings_.emulate) digest.add("CUDA is emulated");
  if (settings_.emulator_limit) digest.add(fmt::format("up to {}", *settings_.emulator_limit));
  if (!rubric.adapters.empty()) digest.add_file(rubric.path.parent_path() / rubric.adapters);
  for (const RubricItem& item : rubric.items) {
    digest.add(item.name);
    add_words(digest, item.problems);
    digest.add(fmt::format("{} {}", item.atol, item.rtol));
    for (const RubricGroup& group : item.groups) {
      digest.add(group.name).add(group.hidden ? "hidden" : "visible");
      for (const auto* words :
           {&group.problems, &group.dtypes, &group.cases, &group.except, &group.accepts}) {
        add_words(digest, *words);
      }
      digest.add(group.errors ? "errors" : "answers");
      digest.add(group.deterministic ? "same bits" : "any bits");
      digest.add(fmt::format("within {}", group.within));
    }
  }
  for (const SelectedFixture& file : exam_.files) digest.add(file.problem).add_file(file.path);
  digest.add(exam_.options.hidden ? std::to_string(exam_.options.seed) : "no hidden cases");
  return digest.hex();
}

void Grader::draw_into(const fs::path& folder, unsigned jobs) {
  exam_.options.jobs = jobs;
  std::vector<SolutionPool> pools = make_pools(jobs);
  write_drawn(folder, exam_, draw_hidden(exam_, pools, false));
}

std::optional<PythonImports> Grader::imports_of(const fs::path& path) const {
  try {
    return read_imports(path, submission_options(settings_, exam_, sandbox_));
  } catch (const std::invalid_argument& error) {
    PythonImports none;
    none.failure = without_path(error.what(), path);
    return none;
  }
}

Grading Grader::grade(const fs::path& path) {
  exam_.options.repeat = repeat_line(settings_, path);
  exam_.options.progress("making " + path.string() + " ready", 0, 0);
  const Submission submission(path, submission_options(settings_, exam_, sandbox_), adapters_);
  Grading grading = harness::grade(submission, exam_);
  grading.sandbox = name(sandbox_);
  if (grading.not_asked > 0) {
    GradeSettings more = settings_;
    more.budget = grading.larger_budget();
    grading.notes.insert(
        grading.notes.begin(),
        fmt::format("{}, as the time for all, {} of processor time, was over; go on with: {}",
                    grading.not_whole(), duration(grading.budget), repeat_line(more, path)));
  }
  if (submission.noted().package_is_missing) {
    grading.notes.push_back(
        fmt::format("Python is {}; `--python PATH` names another, as that of a virtual environment",
                    settings_.python));
  }
  return grading;
}

Grading Grader::grade_any(const fs::path& path) {
  try {
    return grade(path);
  } catch (const std::invalid_argument& error) {
    const std::string why = without_path(error.what(), path);
    Grading grading = grade_unusable(submission_name(path), why, exam_);
    grading.sandbox = name(sandbox_);
    return grading;
  }
}

}  // namespace prenorm::harness
