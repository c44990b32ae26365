#include "grade/marks.hpp"

#include "base/text.hpp"
#include "fixture/compare.hpp"
#include "fixture/describe.hpp"

#include <algorithm>

namespace prenorm::harness {

GradedCase graded(const ExamCase& question, const Case& info, Result result, const Exam& exam,
                  const std::string& submission) {
  const std::string& problem = question.file->problem;
  result.fixture = question.file->path;
  result.problem = problem;
  result.case_name = question.name;
  result.solution = submission;
  result.dtype = name(info.dtype());
  result.batch_invariant.reset();

  GradedCase graded;
  graded.hidden = question.hidden;
  graded.groups = question.groups;
  if (!question.hidden) {
    result.repeat =
        exam.options.repeat + " " + shell_line({"--problem", problem, "--case", question.name});
    graded.told = failure_text(info, question.file->fixture->signature(), result);
    graded.result = std::move(result);
    return graded;
  }
  graded.result.fixture = result.fixture;
  graded.result.problem = problem;
  graded.result.case_name = question.name;
  graded.result.solution = submission;
  graded.result.status = result.status;
  result.repeat = exam.options.repeat + " " +
                  shell_line({"--problem", problem, "--seed", std::to_string(exam.options.seed)});
  graded.secret = GradedCase::Secret{std::move(result), question.stored->name,
                                     describe_sizes(info, question.file->fixture->signature())};
  return graded;
}

Marker::Marker(const Exam& exam, const ExamPart& part, std::string submission,
               std::function<void(LoadedCase&)> give)
    : exam_(exam), part_(part), submission_(std::move(submission)) {
  marks_.cases.resize(part.questions.size());
  fresh_.resize(part.questions.size());
  left_out_.resize(part.questions.size(), 0);
  accepted_.resize(part.questions.size());
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
  const std::vector<std::string>& names = part_.questions[number].accepts;
  if (names.empty()) return;
  accepted_[number] =
      accepted_deviations(names, part_.problem, *evidence_.signature, load(number), mistakes);
}

LoadedCase Marker::load(std::size_t number) const {
  const ExamCase& question = part_.questions[number];
  LoadedCase loaded =
      question.hidden ? *fresh_[number] : load_case(*question.file->fixture, *question.stored);
  for (std::size_t i = 0; i < loaded.info.outputs.size(); ++i) {
    OutputInfo& output = loaded.info.outputs[i];
    for (std::optional<Tolerance>* tolerance : {&output.tolerance, &output.tolerance_tf32}) {
      if (!*tolerance) continue;
      double& atol = (*tolerance)->atol;
      if (atol > 0) atol = std::max(atol, question.tolerance);  // what is exact stays so
      if (!accepted_[number].empty()) atol += accepted_[number][i];
    }
  }
  return loaded;
}

bool Marker::can_be_asked(std::size_t number) const {
  if (left_out_[number] != 0) return false;
  return !part_.questions[number].hidden || fresh_[number].has_value();
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
  const ExamCase& question = part_.questions[number];
  return question.hidden ? fresh_[number]->info : *question.stored;
}

void Marker::add(std::size_t number, const LoadedCase& loaded, Result result,
                 std::vector<Tensor> outputs) {
  const ExamCase& question = part_.questions[number];
  GradedCase& marked = marks_.cases[number];
  marked = graded(question, loaded.info, result, exam_, submission_);
  add_case(evidence_, number, loaded, result, std::move(outputs), question.stored->elements(),
           question.hidden ? nullptr : &marked.told);  // what hidden cases look like is secret
}

void Marker::tell(std::size_t number, std::string hint, std::string snippet) {
  marks_.cases[number].told.hint = std::move(hint);
  marks_.cases[number].told.snippet = std::move(snippet);
}

void Marker::add(std::size_t number, Result result, const Case* info) {
  const ExamCase& question = part_.questions[number];
  marks_.cases[number] = graded(question, info == nullptr ? *question.stored : *info,
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
    for (const ExamCase& question : exam.parts[i].questions) {
      Result result;
      result.status = status;
      result.message = message;
      all[i].cases.push_back(
          graded(question, *question.stored, std::move(result), exam, submission));
    }
  }
  return all;
}

}  // namespace prenorm::harness
