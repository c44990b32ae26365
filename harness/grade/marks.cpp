#include "grade/marks.hpp"

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "fixture/verdict.hpp"
#include "fixture/describe.hpp"
#include "replay/replay.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {

Result ended(Status status, std::string message) {
  Result result;
  result.status = status;
  result.message = std::move(message);
  return result;
}

GradedCase graded(const ExamCase& exam_case, const Case& info, Result result, const Exam& exam,
                  const std::string& submission) {
  const std::string& problem = exam_case.file->problem;
  result.fixture = exam_case.file->path;
  result.problem = problem;
  result.case_name = exam_case.name;
  result.solution = submission;
  result.dtype = name(info.dtype());
  result.batch_invariant.reset();

  GradedCase graded;
  graded.hidden = exam_case.hidden;
  graded.groups = exam_case.groups;
  if (!exam_case.hidden) {
    result.repeat =
        exam.options.repeat + " " + shell_line({"--problem", problem, "--case", exam_case.name});
    graded.told = failure_text(info, exam_case.file->fixture->signature(), result);
    graded.result = std::move(result);
    return graded;
  }
  graded.result.fixture = result.fixture;
  graded.result.problem = problem;
  graded.result.case_name = exam_case.name;
  graded.result.solution = submission;
  graded.result.status = result.status;
  result.repeat = exam.options.repeat + " " +
                  shell_line({"--problem", problem, "--seed", std::to_string(exam.options.seed)});
  graded.secret = GradedCase::Secret{std::move(result), exam_case.stored->name,
                                     describe_sizes(info, exam_case.file->fixture->signature())};
  return graded;
}

Marker::Marker(const Exam& exam, const ExamPart& part, std::string submission,
               std::function<void(LoadedCase&)> give, bool tf32)
    : exam_(exam), part_(part), submission_(std::move(submission)), tf32_(tf32) {
  marks_.cases.resize(part.cases.size());
  fresh_.resize(part.cases.size());
  left_out_.resize(part.cases.size(), 0);
  accepted_.resize(part.cases.size());
  evidence_.problem = part.problem;
  evidence_.signature = &part.file->fixture->signature();
  evidence_.load = [this, give = std::move(give)](std::size_t number) {
    LoadedCase loaded = load(number);
    if (give) give(loaded);
    return loaded;
  };
  evidence_.shown = [this](std::size_t number) {
    return part_.cases[number].hidden ? nullptr : &info(number);
  };
}

void Marker::accept(std::size_t number, Solution& mistakes) {
  const std::vector<std::string>& names = part_.cases[number].accepts;
  if (names.empty()) return;
  accepted_[number] =
      accepted_deviations(names, part_.problem, *evidence_.signature, load(number), mistakes);
}

Tolerance Marker::accepting(Tolerance tolerance, std::size_t number, std::size_t output) const {
  const double more = accepted_[number].empty() ? 0 : accepted_[number][output];
  tolerance.atol += more;
  // What is accepted may be off everywhere.
  if (more > 0) tolerance.rms = tolerance.bias = std::nullopt;
  return tolerance;
}

Result Marker::precisely(std::size_t number, const LoadedCase& loaded,
                         const std::vector<Tensor>& outputs) const {
  std::vector<Tolerance> allowed;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& output = info(number).outputs[i];
    const std::optional<Tolerance>& own = tf32_ ? output.tolerance_tf32 : output.tolerance;
    allowed.push_back(accepting(own.value_or(Tolerance{}), number, i));
  }
  Result result = ended(Status::passed, "");
  compare_outputs(*evidence_.signature, loaded.expected, allowed, outputs, result);
  return result;
}

LoadedCase Marker::load(std::size_t number) const {
  const ExamCase& exam_case = part_.cases[number];
  LoadedCase loaded =
      exam_case.hidden ? *fresh_[number] : load_case(*exam_case.file->fixture, *exam_case.stored);
  for (std::size_t i = 0; i < loaded.info.outputs.size(); ++i) {
    OutputInfo& output = loaded.info.outputs[i];
    for (std::optional<Tolerance>* tolerance : {&output.tolerance, &output.tolerance_tf32}) {
      if (!*tolerance) continue;
      **tolerance = exam_case.widening.of(accepting(**tolerance, number, i));
    }
  }
  return loaded;
}

bool Marker::can_be_asked(std::size_t number) const {
  if (left_out_[number] != 0) return false;
  return !part_.cases[number].hidden || fresh_[number].has_value();
}

void Marker::leave_out(std::size_t number, std::int64_t Marks::*count) {
  left_out_[number] = 1;
  ++(marks_.*count);
}

const Case& Marker::info(std::size_t number) const {
  const ExamCase& exam_case = part_.cases[number];
  return exam_case.hidden ? fresh_[number]->info : *exam_case.stored;
}

void Marker::add(std::size_t number, const LoadedCase& loaded, Result result,
                 std::vector<Tensor> outputs) {
  const ExamCase& exam_case = part_.cases[number];
  GradedCase& marked = marks_.cases[number];
  double times = 0;
  if (result.status == Status::passed && !loaded.info.error && exam_case.widening.any()) {
    const Result precise = precisely(number, loaded, outputs);
    for (const OutputReport& output : precise.outputs) {
      times = std::max(times, output.times_allowed());
    }
    if (!precise.message.empty()) {
      result.message +=
          (result.message.empty() ? "" : "; ") +
          (std::isfinite(times) ? fmt::format("beyond rounding, by {:.3g} times: ", times)
                                : "not exact: ") +
          precise.message;
    }
  }
  marked = graded(exam_case, loaded.info, result, exam_, submission_);
  marked.times_tolerance = times;
  add_case(evidence_, number, loaded, result, std::move(outputs), exam_case.stored->work(),
           exam_case.hidden ? nullptr : &marked.told);  // what hidden cases look like is secret
}

void Marker::tell(std::size_t number, std::string hint, std::string snippet) {
  marks_.cases[number].told.hint = std::move(hint);
  marks_.cases[number].told.snippet = std::move(snippet);
}

std::vector<std::size_t> Marker::simplest(std::vector<std::size_t> failed, std::size_t most) const {
  std::ranges::stable_sort(failed, {}, [this](std::size_t number) {
    return simplicity({&marks_.cases[number].result, &marks_.cases[number].told});
  });
  failed.resize(std::min(most, failed.size()));
  return failed;
}

void Marker::tell_alone(std::size_t number, ToldAlone alone) {
  calls_differ_ = true;
  for (GradedCase& each : marks_.cases) {
    if (each.hidden || each.result.status == Status::passed) continue;
    each.told.not_repeated = "may pass by itself";
    each.told.hint.clear();  // with other axes it was another call, too
  }
  FailureText& told = marks_.cases[number].told;
  told.alone = std::move(alone.words);
  if (alone.passes) told.not_repeated = "passes by itself";
}

void Marker::add(std::size_t number, Result result) {
  const ExamCase& exam_case = part_.cases[number];
  marks_.cases[number] =
      graded(exam_case, *exam_case.stored, std::move(result), exam_, submission_);
}

std::optional<DType> Marker::wrong_type() const {
  std::optional<DType> type;
  if (calls_differ_) return type;
  for (const Evidence::Wrong& wrong : evidence_.wrong) {
    const DType each = info(wrong.number).dtype();
    if (!type || each == DType::float32) type = each;
  }
  return type;
}

Marks Marker::finish(Solution* mistakes, Solution* truth) {
  std::ranges::sort(evidence_.passed);
  marks_.reasons = reasons_of(evidence_, mistakes, truth, true);
  if (mistakes == nullptr) marks_.reasons.undiagnosed = false;
  std::vector<GradedCase> cases;
  for (std::size_t i = 0; i < marks_.cases.size(); ++i) {
    if (can_be_asked(i)) {
      cases.push_back(std::move(marks_.cases[i]));
    } else if (left_out_[i] == 0) {
      ++marks_.not_drawn;
    }
  }
  marks_.cases = std::move(cases);
  fresh_.clear();  // of many problems that is much
  evidence_.wrong.clear();
  return std::move(marks_);
}

std::vector<Marks> mark_alike(const Exam& exam, const std::string& submission, Status status,
                              const std::string& message) {
  std::vector<Marks> all(exam.parts.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const ExamCase& exam_case : exam.parts[i].cases) {
      all[i].cases.push_back(
          graded(exam_case, *exam_case.stored, ended(status, message), exam, submission));
    }
  }
  return all;
}

// ---- Outputs that were handed in, without code: hidden cases cannot be asked

namespace {

/// The entry of one output; nullptr where it was not handed in.
const OutputsFile::Entry* find(const OutputsFile& file, const std::string& case_name,
                               const std::string& tensor) {
  const auto entry = std::ranges::find_if(file.entries, [&](const OutputsFile::Entry& each) {
    return each.case_name == case_name && each.tensor == tensor;
  });
  return entry == file.entries.end() ? nullptr : &*entry;
}

/// What is wrong with what was handed in before its numbers count; PASSED and the tensors where
/// nothing is.
Result take(const Case& info, const Signature& signature, const OutputsFile* handed_in,
            const Rubric& rubric, std::vector<Tensor>& outputs) {
  if (handed_in == nullptr) return ended(Status::not_implemented, "no outputs for this problem");
  if (info.error) return ended(Status::not_implemented, "a case that must be refused needs code");
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const std::string& tensor = signature.outputs[i].name;
    const OutputsFile::Entry* entry = find(*handed_in, info.name, tensor);
    if (entry == nullptr) return ended(Status::not_implemented, "no output " + tensor);
    const OutputInfo& wanted = info.outputs[i];
    const Tensor& value = entry->value;
    if (value.shape != wanted.shape) {
      return ended(Status::incorrect_shape,
                   tensor + " is " + to_text(value.shape) + ", wanted " + to_text(wanted.shape));
    }
    if (!is_taken(rubric, value.dtype, wanted.dtype)) {
      return ended(Status::incorrect_dtype, tensor + " is " + std::string(name(value.dtype)) +
                                                ", wanted " + std::string(name(wanted.dtype)));
    }
    outputs.push_back(converted(value, wanted.dtype));
  }
  return ended(Status::passed, "");
}

Marks mark(const Exam& exam, const ExamPart& part, const Submission& submission,
           SolutionPool& pool) {
  Solution& mistakes = pool.get("mistakes");
  Marker marker(exam, part, submission.name);
  const OutputsFile* handed_in = submission.outputs(part.problem);
  const Signature& signature = part.file->fixture->signature();
  for (std::size_t number = 0; number < part.cases.size(); ++number) {
    const ExamCase& exam_case = part.cases[number];
    if (exam_case.hidden) {
      marker.leave_out(number, &Marks::cannot_be_asked);
      continue;
    }
    std::vector<Tensor> outputs;
    Result result = take(*exam_case.stored, signature, handed_in, exam.rubric, outputs);
    if (result.status != Status::passed) {
      marker.add(number, std::move(result));
      continue;
    }
    marker.accept(number, mistakes);
    const LoadedCase loaded = marker.load(number);
    std::vector<Tolerance> allowed;
    for (const OutputInfo& output : loaded.info.outputs) {
      allowed.push_back(output.tolerance.value_or(Tolerance{}));
    }
    compare_outputs(signature, loaded.expected, allowed, outputs, result);
    marker.add(number, loaded, std::move(result), std::move(outputs));
  }
  Marks marks = marker.finish(&mistakes, &pool.get("reference"));
  marks.cannot_be_asked = 0;  // no fault of a function's
  return marks;
}

}  // namespace

std::vector<Marks> mark_outputs(const Exam& exam, const Submission& submission) {
  const unsigned jobs = exam.options.jobs;
  std::vector<Marks> marks(exam.parts.size());
  std::vector<SolutionPool> pools = make_pools(jobs);
  in_parallel(marks.size(), jobs, [&](std::size_t i, std::size_t thread) {
    marks[i] = mark(exam, exam.parts[i], submission, pools[thread]);
  });
  return marks;
}

}  // namespace prenorm::harness
