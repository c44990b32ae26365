// The results of an exam's cases: run through a submission's code, or looked up in its outputs.
#pragma once

#include "grade/exam.hpp"

namespace prenorm::harness {

/// One problem's cases, answered.
struct Marks {
  std::vector<GradedCase> cases;  // in the order asked; without those that were not drawn
  Reasons reasons;
  std::int64_t not_drawn = 0;        // hidden cases that could be given no answer
  std::int64_t cannot_be_asked = 0;  // by the functions that the rubric names
  std::int64_t too_large = 0;        // took the emulator too long
};

/// A result of which only these are known.
Result ended(Status status, std::string message);

/// The case as a report shows it; `result` holds status, message, dtype, seconds and outputs.
GradedCase graded(const ExamCase& exam_case, const Case& info, Result result, const Exam& exam,
                  const std::string& submission);

/// What a case that has failed does where nothing is called before it.
struct ToldAlone {
  bool passes = false;
  std::string words;
};

/// Calls it twice in a worker that nothing was called in. Nothing where both calls fail alike.
std::optional<ToldAlone> called_alone(const std::string& problem, const Signature& signature,
                                      const LoadedCase& loaded, Solution& solution,
                                      bool inputs_may_change);

/// Gathers the results of one problem's cases. Not to be moved.
class Marker {
 public:
  /// `give` makes of a case what the submission is asked, whose mode is "tf32" if `tf32`.
  Marker(const Exam& exam, const ExamPart& part, std::string submission,
         std::function<void(LoadedCase&)> give = nullptr, bool tf32 = false);
  Marker(Marker&&) = delete;  // nor copied

  /// What was drawn for each hidden case; nothing where none could be given an answer: it is not
  /// asked.
  void drawn(std::vector<std::optional<LoadedCase>> fresh) { fresh_ = std::move(fresh); }
  bool can_be_asked(std::size_t number) const;
  /// The case is neither run nor counted, for a reason that has a count of its own.
  void leave_out(std::size_t number, std::int64_t Marks::*count);
  /// The case as it is asked: drawn, or stored.
  const Case& info(std::size_t number) const;
  /// Computes by how much the mistakes that the case accepts widen its tolerances.
  void accept(std::size_t number, Solution& mistakes);
  /// The case's data: read, or as they were drawn; with the tolerances that it is judged by, which
  /// are those of the widest of its groups.
  LoadedCase load(std::size_t number) const;

  /// The result of a case, with the outputs that were compared (none where there are none).
  void add(std::size_t number, const LoadedCase& loaded, Result result,
           std::vector<Tensor> outputs);
  /// The same without data.
  void add(std::size_t number, Result result);
  /// What is known of a visible case besides: a hint on its axes, lines that show the failure.
  void tell(std::size_t number, std::string hint, std::string snippet);

  /// Of these visible cases, which have failed, at most so many: the simplest first.
  std::vector<std::size_t> simplest(std::vector<std::size_t> failed, std::size_t most) const;
  /// What a visible case that has failed does where nothing is called before it.
  void tell_alone(std::size_t number, ToldAlone alone);

  /// Whether numbers were compared, and some were wrong.
  bool has_wrong_numbers() const { return !evidence_.wrong.empty(); }
  /// Of the wrong numbers; float32 where it is one of several types. Nothing where calls differ:
  /// whatever is asked then, the answer tells of chance.
  std::optional<DType> wrong_type() const;

  /// All of it, explained by known mistakes and, with the `truth` that computes the problem, by
  /// properties. Either may be nullptr: then that is left out.
  Marks finish(Solution* mistakes, Solution* truth);

 private:
  /// The tolerance of one of the case's outputs, wider by the mistakes that it accepts.
  Tolerance accepting(Tolerance tolerance, std::size_t number, std::size_t output) const;
  /// Compares the outputs of a case that passed once more, without what the rubric accepts besides
  /// its tolerance.
  Result precisely(std::size_t number, const LoadedCase& loaded,
                   const std::vector<Tensor>& outputs) const;

  const Exam& exam_;
  const ExamPart& part_;
  std::string submission_;
  bool tf32_;
  std::vector<std::optional<LoadedCase>> fresh_;
  std::vector<char> left_out_;
  std::vector<std::vector<double>> accepted_;  // of each case, by its outputs
  bool calls_differ_ = false;
  Evidence evidence_;
  Marks marks_;
};

/// What the laws of a problem tell, asked in that type.
struct ToldByLaws {
  DType dtype = DType::float32;
  std::vector<Clue> clues;
};

/// What is told where a part of a composite is wrong by itself.
Clue wrong_part(const std::string& problem, const std::string& part);

/// Adds the clues to what no known mistake explains: a part that is wrong too, or laws. `asked`
/// has those of each of the exam's parts.
void add_clues(const Exam& exam, std::vector<ToldByLaws> asked, std::vector<Marks>& marks);

/// The same status in every case.
std::vector<Marks> mark_alike(const Exam& exam, const std::string& submission, Status status,
                              const std::string& message);

/// Outputs that were handed in, compared with the visible cases.
std::vector<Marks> mark_outputs(const Exam& exam, const Submission& submission);

/// Code, run in workers of its own. `grading` receives what is wrong where nothing of it can be
/// run: a library that cannot be loaded, a device that is not here; and notes.
std::vector<Marks> mark_code(const Exam& exam, const Submission& submission, Grading& grading);

}  // namespace prenorm::harness
