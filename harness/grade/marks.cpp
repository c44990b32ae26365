#include "grade/marks.hpp"

#include "base/text.hpp"
#include "fixture/compare.hpp"
#include "fixture/describe.hpp"

#include <algorithm>

namespace prenorm::harness {

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
               std::function<void(LoadedCase&)> give)
    : exam_(exam), part_(part), submission_(std::move(submission)) {
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
}

void Marker::drawn(std::size_t number, std::optional<LoadedCase> fresh) {
  fresh_[number] = std::move(fresh);
}

void Marker::accept(std::size_t number, Solution& mistakes) {
  const std::vector<std::string>& names = part_.cases[number].accepts;
  if (names.empty()) return;
  accepted_[number] =
      accepted_deviations(names, part_.problem, *evidence_.signature, load(number), mistakes);
}

LoadedCase Marker::load(std::size_t number) const {
  const ExamCase& exam_case = part_.cases[number];
  LoadedCase loaded =
      exam_case.hidden ? *fresh_[number] : load_case(*exam_case.file->fixture, *exam_case.stored);
  for (std::size_t i = 0; i < loaded.info.outputs.size(); ++i) {
    OutputInfo& output = loaded.info.outputs[i];
    for (std::optional<Tolerance>* tolerance : {&output.tolerance, &output.tolerance_tf32}) {
      if (!*tolerance) continue;
      double& atol = (*tolerance)->atol;
      if (atol > 0) atol = std::max(atol, exam_case.tolerance);  // what is exact stays so
      if (!accepted_[number].empty()) atol += accepted_[number][i];
    }
  }
  return loaded;
}

bool Marker::can_be_asked(std::size_t number) const {
  if (left_out_[number] != 0) return false;
  return !part_.cases[number].hidden || fresh_[number].has_value();
}

void Marker::leave_out_large(std::size_t number) {
  left_out_[number] = 1;
  ++marks_.too_large;
}

void Marker::leave_out(std::size_t number) {
  left_out_[number] = 1;
  ++marks_.cannot_be_asked;
}

const Case& Marker::info(std::size_t number) const {
  const ExamCase& exam_case = part_.cases[number];
  return exam_case.hidden ? fresh_[number]->info : *exam_case.stored;
}

void Marker::add(std::size_t number, const LoadedCase& loaded, Result result,
                 std::vector<Tensor> outputs) {
  const ExamCase& exam_case = part_.cases[number];
  GradedCase& marked = marks_.cases[number];
  marked = graded(exam_case, loaded.info, result, exam_, submission_);
  add_case(evidence_, number, loaded, result, std::move(outputs), exam_case.stored->elements(),
           exam_case.hidden ? nullptr : &marked.told);  // what hidden cases look like is secret
}

void Marker::tell(std::size_t number, std::string hint, std::string snippet) {
  marks_.cases[number].told.hint = std::move(hint);
  marks_.cases[number].told.snippet = std::move(snippet);
}

void Marker::add(std::size_t number, Result result, const Case* info) {
  const ExamCase& exam_case = part_.cases[number];
  marks_.cases[number] = graded(exam_case, info == nullptr ? *exam_case.stored : *info,
                                std::move(result), exam_, submission_);
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
      Result result;
      result.status = status;
      result.message = message;
      all[i].cases.push_back(
          graded(exam_case, *exam_case.stored, std::move(result), exam, submission));
    }
  }
  return all;
}

}  // namespace prenorm::harness
