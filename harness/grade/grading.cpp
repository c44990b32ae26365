#include "grade/grading.hpp"

#include "base/text.hpp"
#include "grade/marks.hpp"

#include <array>
#include <chrono>
#include <fmt/format.h>
#include <map>

namespace prenorm::harness {
namespace {

/// The symbol, or the library, that the rubric forbids and the submission takes from elsewhere.
std::string forbidden_import(const Rubric& rubric, const Submission& submission) {
  for (const std::string& symbol : submission.imports) {
    // A library may be named by its path, too.
    const std::string name = symbol.substr(symbol.rfind('/') + 1);
    for (const std::string& pattern : rubric.forbidden) {
      if (matches(pattern, symbol) || matches(pattern, name)) return symbol;
    }
  }
  return "";
}

/// Where every function needs what could not be loaded, or a device that is not here, the whole
/// does.
void note_nothing_ran(const std::vector<Marks>& marks, Grading& grading) {
  std::map<Status, std::string> reasons;
  for (const Marks& each : marks) {
    for (const GradedCase& graded : each.cases) {
      const Result& result = graded.result;
      if (result.status == Status::not_implemented) continue;
      if (result.status != Status::load_error && result.status != Status::skipped) return;
      std::string& why = reasons[result.status];
      if (why.empty()) why = result.message;  // of hidden cases there is none
    }
  }
  for (const Status status : {Status::load_error, Status::skipped}) {
    const auto found = reasons.find(status);
    if (found == reasons.end()) continue;
    grading.status = status;
    grading.message = found->second;
    return;
  }
}

/// The answers, or one status for all; `grading` receives what holds for the whole.
std::vector<Marks> mark(const Exam& exam, const Submission& submission, Grading& grading) {
  grading.status = submission.status;
  grading.message = submission.message;
  if (const std::string symbol = forbidden_import(exam.rubric, submission); !symbol.empty()) {
    grading.status = Status::sandbox_violation;
    grading.message = "takes " + symbol + " from another library, which the rubric forbids";
    grading.notes.push_back(grading.message);
  }
  if (grading.status == Status::passed && !exam.rubric.forbidden.empty() &&
      !submission.imports_known) {
    grading.status = Status::load_error;
    grading.message =
        "what it takes from other libraries cannot be listed, which this rubric needs";
  }
  if (grading.status != Status::passed) {
    // The first line says what, the others where.
    return mark_alike(exam, grading.submission, grading.status,
                      grading.message.substr(0, grading.message.find('\n')));
  }
  if (submission.kind == SubmissionKind::outputs) return mark_outputs(exam, submission);
  std::vector<Marks> marks = mark_code(exam, submission, grading);
  if (grading.status == Status::passed) note_nothing_ran(marks, grading);
  return marks;
}

bool has_public_answers(const ExamPart& part) {
  return std::ranges::any_of(part.cases, &ExamCase::is_public);
}

/// Whether outputs of that case may be anybody's: its answer is public.
bool anybody_has(const Exam& exam, const Result& result) {
  for (const ExamPart& part : exam.parts) {
    if (part.problem != result.problem) continue;
    for (const ExamCase& exam_case : part.cases) {
      if (exam_case.name == result.case_name && exam_case.file->path == result.fixture) {
        return exam_case.is_public;
      }
    }
  }
  return false;
}

bool is_repeatable(const GradedCase& graded) {
  return (graded.secret ? graded.secret->result : graded.result).deterministic.value_or(true);
}

/// The stored case that is the only one to fail, itself and perhaps in its redraws; empty if there
/// are several, or others'. `failing`: of one group.
std::string only_one(const std::vector<const GradedCase*>& failing) {
  const GradedCase* one = nullptr;
  for (const GradedCase* graded : failing) {
    if (graded->hidden) continue;
    if (one) return "";
    one = graded;
  }
  if (!one) return "";
  for (const GradedCase* graded : failing) {
    if (!graded->hidden) continue;
    const bool redrawn = graded->result.problem == one->result.problem && graded->secret &&
                         graded->secret->from == one->result.case_name;
    if (!redrawn) return "";
  }
  return one->result.case_name.value_or("");
}

double sum_of(const std::vector<GradedItem>& items, double GradedItem::*number) {
  double all = 0;
  for (const GradedItem& item : items) all += item.*number;
  return all;
}

/// What an item's groups earn of its points.
double earned_points(const GradedItem& item) {
  std::int64_t earned = 0, shares = 0;
  for (const GradedGroup& group : item.groups) {
    if (group.asked() == 0) continue;  // nothing of it could be asked
    shares += group.share;
    earned += group.earned ? group.share : 0;
  }
  if (shares == 0) return 0;
  // All of it exactly, whatever is rounded.
  return earned == shares
             ? item.points
             : item.points * (static_cast<double>(earned) / static_cast<double>(shares));
}

/// What a group may ask of a case besides that it passes.
struct Demand {
  bool (*met)(const GradedCase&, const RubricGroup&);
  std::string_view unmet;
};
constexpr std::array demands{
    Demand{[](const GradedCase& graded, const RubricGroup& group) {
             return !group.deterministic || is_repeatable(graded);
           },
           "two calls with the same inputs gave other bits"},
    Demand{[](const GradedCase& graded, const RubricGroup& group) {
             return group.within == 0 || graded.times_tolerance <= group.within;
           },
           "numbers are off by more than rounding, and than a group allows"},
};

/// Counts the cases of each group, and what they earn. `ran`: by code, not handed in as outputs:
/// these must be of a case that is not public in each of the group's problems. (Some answers, of no
/// elements say, are public in any file.)
void count(GradedItem& item, const RubricItem& asked, const Exam& exam, bool ran) {
  for (GradedGroup& group : item.groups) {
    std::set<std::string> problems, proven;
    std::vector<const GradedCase*> failing;
    const RubricGroup& rules = *std::ranges::find(asked.groups, group.name, &RubricGroup::name);
    for (const GradedCase& graded : item.cases) {
      if (!graded.is_in(group.name)) continue;
      const bool counts = graded.result.status == Status::passed &&
                          std::ranges::all_of(demands, [&](const Demand& demand) {
                            return demand.met(graded, rules);
                          });
      if (!counts) failing.push_back(&graded);
      const std::int64_t passed = counts ? 1 : 0;
      ++(graded.hidden ? group.hidden_total : group.total);
      (graded.hidden ? group.hidden_passed : group.passed) += passed;
      problems.insert(graded.result.problem);
      if (ran || !anybody_has(exam, graded.result)) proven.insert(graded.result.problem);
    }
    const bool all = group.passed == group.total && group.hidden_passed == group.hidden_total;
    group.earned = group.asked() > 0 && all && proven == problems;
    if (group.passed > 0) group.lost_by = only_one(failing);
  }
  item.earned = earned_points(item);
}

/// "linear: in 5 cases that passed, ...": where that costs points; with one of them.
std::string note_of(const Demand& demand, const GradedItem& item, const RubricItem& asked) {
  const auto costs = [&](const GradedCase& graded) {
    return graded.result.status == Status::passed &&
           std::ranges::any_of(asked.groups, [&](const RubricGroup& group) {
             return graded.is_in(group.name) && !demand.met(graded, group);
           });
  };
  const auto some = std::ranges::count_if(item.cases, costs);
  if (some == 0) return "";
  std::string text = fmt::format("{}: in {} that passed, {}", item.name,
                                 counted(static_cast<std::size_t>(some), "case"), demand.unmet);
  const auto one = std::ranges::find_if(
      item.cases, [&](const GradedCase& graded) { return !graded.hidden && costs(graded); });
  if (one != item.cases.end()) text += "; " + *one->result.case_name + ": " + one->result.message;
  return text;
}

/// An item, of the marks of its problems.
GradedItem assemble(const RubricItem& asked, const Exam& exam, std::vector<Marks>& marks,
                    bool ran) {
  GradedItem item;
  item.name = asked.name;
  item.problems = asked.problems;
  item.points = asked.points;
  for (const RubricGroup& group : asked.groups) {
    item.groups.push_back({group.name, group.hidden, group.share});
  }
  for (std::size_t i = 0; i < exam.parts.size(); ++i) {
    const std::string& problem = exam.parts[i].problem;
    if (!asked.has(problem)) continue;
    std::ranges::move(marks[i].cases, std::back_inserter(item.cases));
    std::ranges::move(marks[i].reasons.diagnoses, std::back_inserter(item.diagnoses));
    std::ranges::move(marks[i].reasons.clues, std::back_inserter(item.clues));
    std::ranges::move(marks[i].reasons.properties, std::back_inserter(item.properties));
    if (marks[i].reasons.undiagnosed) item.undiagnosed.push_back(problem);
  }
  // Groups of which nothing is asked are no loss.
  std::erase_if(item.groups, [&](const GradedGroup& group) {
    return std::ranges::none_of(item.cases,
                                [&](const GradedCase& graded) { return graded.is_in(group.name); });
  });
  count(item, asked, exam, ran);
  return item;
}

Grading begin(const Exam& exam, const std::string& submission, std::string_view kind) {
  Grading grading;
  grading.submission = submission;
  grading.kind = kind;
  grading.rubric = exam.rubric.name;
  grading.title = exam.rubric.title;
  grading.seed = exam.options.seed;
  return grading;
}

/// Takes the points of items that make calls which the rubric forbids, where it says so.
void take_for_forbidden_calls(GradedItem& item, Grading& grading) {
  const bool called = std::ranges::any_of(item.problems, [&](const std::string& problem) {
    return grading.forbidden_calls.contains(problem);
  });
  if (!called) return;
  for (GradedGroup& group : item.groups) group.earned = false;
  item.earned = 0;
  grading.notes.push_back(item.name + ": earns nothing, for it makes forbidden calls");
}

/// Notes how many cases count for nothing for that reason, if any does.
void note_left_out(Grading& grading, const std::vector<Marks>& marks, std::int64_t Marks::*count,
                   std::string_view noun, const std::string& why) {
  std::int64_t all = 0;
  for (const Marks& each : marks) all += each.*count;
  if (all == 0) return;
  grading.notes.push_back(counted(static_cast<std::size_t>(all), noun) + " left out: " + why);
}

/// Makes items of the marks, with points.
void finish(Grading& grading, const Exam& exam, std::vector<Marks>& marks, bool ran,
            std::chrono::steady_clock::time_point start) {
  for (const RubricItem& asked : exam.rubric.items) {
    GradedItem item = assemble(asked, exam, marks, ran);
    for (const Demand& demand : demands) {
      if (std::string why = note_of(demand, item, asked); !why.empty()) {
        grading.notes.push_back(std::move(why));
      }
    }
    if (!exam.rubric.forbidden_calls_earn) take_for_forbidden_calls(item, grading);
    if (!exam.partial || !item.cases.empty()) grading.items.push_back(std::move(item));
  }
  note_left_out(grading, marks, &Marks::cannot_be_asked, "case",
                "the functions that the rubric names have no argument for something in them");
  note_left_out(grading, marks, &Marks::too_large, "case",
                fmt::format("the emulator takes too long for more than {} elements "
                            "(--emulator-limit)",
                            exam.options.emulator_limit));
  if (!exam.options.hidden) grading.notes.emplace_back("hidden cases were not run");
  if (exam.partial) grading.notes.emplace_back("only some cases were run: this is not a grade");
  note_left_out(grading, marks, &Marks::not_drawn, "hidden case",
                "the truth has no answer to what was drawn");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  grading.seconds = seconds.count();
}

}  // namespace

void take_points(GradedItem& item, const RubricItem& asked) {
  item.points = asked.points;
  for (GradedGroup& group : item.groups) {
    for (const RubricGroup& other : asked.groups) {
      if (other.name == group.name) group.share = other.share;
    }
  }
  item.earned = earned_points(item);
}

bool Grading::gradeable() const {
  if (decided) return true;
  if (status == Status::skipped) return false;
  if (status != Status::load_error) return true;
  // It was built by whoever hands it in, or of what was handed in.
  return kind == name(SubmissionKind::library) || kind == name(SubmissionKind::cmake) ||
         kind == name(SubmissionKind::cuda);
}

std::string Grading::not_whole() const {
  if (not_asked == 0) return "";
  return "not graded whole: " + counted(static_cast<std::size_t>(not_asked), "case") +
         (not_asked == 1 ? " was" : " were") + " not run";
}

double Grading::points() const { return sum_of(items, &GradedItem::points); }

double Grading::earned() const { return sum_of(items, &GradedItem::earned); }

std::vector<Result> Grading::results(bool secret) const {
  std::vector<Result> all;
  for (const GradedItem& item : items) {
    for (const GradedCase& graded : item.cases) {
      all.push_back(secret && graded.secret ? graded.secret->result : graded.result);
    }
  }
  return all;
}

Grading grade(const Submission& submission, const Exam& exam) {
  const auto start = std::chrono::steady_clock::now();
  Grading grading = begin(exam, submission.name, name(submission.kind));
  grading.emulated = submission.emulated;
  grading.files = submission.files;
  grading.notes = submission.notes;
  grading.imports = submission.imports;
  std::vector<Marks> marks = mark(exam, submission, grading);
  Submission::Notes noted = submission.noted();
  // Their process is the submission's, which may have them say anything.
  for (const std::string& line : noted.lines) grading.notes.push_back("its process says: " + line);
  grading.forbidden_calls = std::move(noted.forbidden_calls);
  grading.unreadable = noted.code_is_unreadable;
  const bool ran = submission.kind != SubmissionKind::outputs;
  if (!ran && exam.options.hidden) {
    grading.notes.emplace_back("hidden cases need code: none was asked");
  }
  if (!ran && std::ranges::any_of(exam.parts, has_public_answers)) {
    grading.notes.emplace_back(
        "outputs earn nothing on public fixtures, whose answers anybody can copy; on fixtures of "
        "your own (prenorm fixtures make --seed N, --fixtures DIR) they do");
  }
  finish(grading, exam, marks, ran, start);
  return grading;
}

Grading grade_unusable(const std::string& submission, const std::string& why, const Exam& exam) {
  const auto start = std::chrono::steady_clock::now();
  Grading grading = begin(exam, submission, "nothing that can be graded");
  grading.status = Status::load_error;
  grading.message = why;
  std::vector<Marks> marks = mark_alike(exam, submission, grading.status, why);
  finish(grading, exam, marks, true, start);
  return grading;
}

}  // namespace prenorm::harness
