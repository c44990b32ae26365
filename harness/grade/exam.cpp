#include "grade/exam.hpp"

#include "base/digest.hpp"
#include "base/paths.hpp"
#include "base/text.hpp"
#include "explain/laws.hpp"
#include "fixture/verdict.hpp"
#include "fixture/selection.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <set>

namespace prenorm::harness {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse(const Rubric& rubric, const RubricItem& item, const std::string& what) {
  throw UsageError(rubric.path.string() + ": item '" + item.name + "': " + what);
}

/// Leaves the items and problems that --problem names.
void restrict_to_problems(Exam& exam) {
  Words& wanted = exam.options.selection.problems;
  if (wanted.empty()) return;
  Words all;
  for (const RubricItem& item : exam.rubric.items) {
    all.insert(all.end(), item.problems.begin(), item.problems.end());
  }
  for (const RubricItem& item : exam.rubric.items) {  // an item's name stands for its problems
    const auto named = std::ranges::find(wanted, item.name);
    if (named == wanted.end() || std::ranges::find(all, item.name) != all.end()) continue;
    wanted.erase(named);
    wanted.insert(wanted.end(), item.problems.begin(), item.problems.end());
  }
  std::set<std::string> others;  // that the rubric lacks: they are graded for no points
  for (const std::string& pattern : wanted) {
    if (std::ranges::any_of(all, [&](const auto& name) { return matches(pattern, name); }))
      continue;
    Selection one = exam.options.selection;
    one.problems = {pattern};
    one.cases.clear();  // they may be other problems'
    for (const SelectedFixture& file : open_files(one, exam.options.jobs))
      others.insert(file.problem);
  }
  for (RubricItem& item : exam.rubric.items) {
    std::erase_if(item.problems,
                  [&](const std::string& problem) { return !selects(wanted, problem); });
    // What is asked of problems that are left out is not asked.
    std::erase_if(item.groups, [&](const RubricGroup& group) {
      return !group.problems.empty() &&
             std::ranges::none_of(item.problems, [&](const std::string& problem) {
               return selects(group.problems, problem);
             });
    });
  }
  std::erase_if(exam.rubric.items, [](const RubricItem& item) { return item.problems.empty(); });
  for (const std::string& problem : others) {
    RubricItem item;
    item.name = problem;
    item.problems = {problem};
    RubricGroup& every = item.groups.emplace_back();
    every.name = "every case";
    every.errors = true;
    exam.rubric.items.push_back(std::move(item));
  }
}

void open(Exam& exam) {
  Selection all = exam.options.selection;
  all.problems.clear();
  for (const RubricItem& item : exam.rubric.items) {
    all.problems.insert(all.problems.end(), item.problems.begin(), item.problems.end());
  }
  exam.files = open_files(all, exam.options.jobs);
  for (const SelectedFixture& file : exam.files) {
    if (!file.fixture) throw UsageError(file.error);
  }
}

std::string digest_of(const std::vector<Tensor>& tensors) {
  Digest digest;
  for (const Tensor& tensor : tensors) {
    digest.add(to_text(tensor.shape));
    digest.add_bytes({reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()});
  }
  return digest.hex();
}

/// The answers that everybody has: of a file that is shipped, all; of another, those that the
/// shipped file of its problem has too.
class PublicAnswers {
 public:
  bool have(const SelectedFixture& file, const Case& info) {
    if (info.error) return false;
    std::error_code ignored;
    const fs::path shipped = home() / "share" / "prenorm" / "fixtures" / (file.problem + ".h5");
    if (!fs::is_regular_file(shipped, ignored)) return false;
    if (fs::equivalent(shipped, file.path, ignored)) return true;
    const auto [place, is_new] = known_.try_emplace(file.problem);
    if (is_new) {
      const Fixture fixture(shipped);
      for (const Case& each : fixture.cases()) {
        if (!each.error) place->second.insert(digest_of(fixture.expected(each)));
      }
    }
    return place->second.contains(digest_of(file.fixture->expected(info)));
  }

 private:
  std::map<std::string, std::set<std::string>> known_;  // digests, by problem
};

Widening widening_of(const RubricItem& item, const RubricGroup& group) {
  if (group.within > 0) return {.times = group.within};
  return {.atol = item.atol, .rtol = item.rtol};
}

/// Whether outputs of zeros miss the case's answer; asked once a case.
class ZeroCheck {
 public:
  bool fail(const SelectedFixture& file, const Case& info, const RubricItem& item,
            const RubricGroup& group) {
    const auto [place, is_new] = known_.try_emplace({&info, group.within}, false);
    if (is_new) place->second = !info.error && look(file, info, widening_of(item, group));
    return place->second;
  }

 private:
  static bool look(const SelectedFixture& file, const Case& info, const Widening& widening) {
    const std::vector<Tensor> expected = file.fixture->expected(info);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const OutputInfo& output = info.outputs[i];
      const Tolerance tolerance = widening.of(output.tolerance.value_or(Tolerance{}));
      const Tensor zeros(output.dtype, output.shape);
      if (compare("", zeros, expected[i], tolerance).mismatches > 0) return true;
    }
    return false;
  }

  std::map<std::pair<const Case*, double>, bool> known_;  // by RubricGroup::within
};

struct CaseOfFile {
  const SelectedFixture* file;
  const Case* info;
};

/// All cases of an item's problems, the small ones first.
std::vector<CaseOfFile> cases_of(const Exam& exam, const RubricItem& item) {
  std::vector<CaseOfFile> all;
  for (const SelectedFixture& file : exam.files) {
    if (!item.has(file.problem)) continue;
    for (const Case& info : file.fixture->cases()) all.push_back({&file, &info});
  }
  std::ranges::stable_sort(all, {}, [](const CaseOfFile& each) { return each.info->elements(); });
  return all;
}

void check_group(const Exam& exam, const RubricItem& item, const RubricGroup& group,
                 const std::vector<CaseOfFile>& cases, ZeroCheck& zeros) {
  bool can_be_drawn = false;
  for (const auto& [file, info] : cases) {
    if (!group.has(file->problem, *info)) continue;
    if (group.hidden && !can_be_hidden(*info)) continue;
    can_be_drawn = true;
    if (zeros.fail(*file, *info, item, group)) return;
  }
  const std::string where = "group '" + group.name + "': ";
  if (group.hidden && !can_be_drawn) {
    refuse(exam.rubric, item,
           where +
               "none of its cases can be drawn anew, so stored answers would earn it; if they may, "
               "write hidden = false");
  }
  refuse(
      exam.rubric, item,
      where +
          "outputs of zeros, or refusing everything, would earn it: it needs a case whose answer "
          "is not zero" +
          (group.hidden ? ", and which can be drawn anew" : ""));
}

/// Names by problem: of cases, or of known mistakes.
using Names = std::map<std::string, std::set<std::string>>;

/// Patterns that fit nothing are misspelt.
void check_patterns(const Exam& exam, const RubricItem& item, const RubricGroup& group,
                    const Words& patterns, const Names& all, const std::string& what) {
  std::set<std::string> names;
  for (const auto& [problem, some] : all) {
    if (selects(group.problems, problem)) names.insert(some.begin(), some.end());
  }
  for (const std::string& pattern : patterns) {
    const auto fits = [&](const std::string& name) { return matches(pattern, name); };
    if (std::ranges::any_of(names, fits)) continue;
    refuse(exam.rubric, item,
           "group '" + group.name + "': no " + what + " '" + pattern + "'" +
               did_you_mean(pattern, Words(names.begin(), names.end())));
  }
}

/// The known mistakes of the problems, as `accepts` names them.
Names mistakes_of(const Names& problems) {
  Solution mistakes = find_solution("mistakes", {});
  Names names;
  for (const auto& [problem, cases] : problems) {
    for (const std::string& mistake : variants_of(problem, mistakes)) {
      names[problem].insert(problem + "/" + mistake);
    }
  }
  return names;
}

void check_patterns(const Exam& exam, const RubricItem& item, const Names& cases) {
  for (const RubricGroup& group : item.groups) {
    check_patterns(exam, item, group, group.cases, cases, "case");
    check_patterns(exam, item, group, group.except, cases, "case");
    if (group.accepts.empty()) continue;
    check_patterns(exam, item, group, group.accepts, mistakes_of(cases), "known mistake");
  }
}

void check_patterns(const Exam& exam) {
  Names shared;  // by all items that have no groups of their own
  const RubricItem* any_shared = nullptr;
  for (const RubricItem& item : exam.rubric.items) {
    Names own;
    Names& names = item.own_groups ? own : shared;
    for (const auto& [file, info] : cases_of(exam, item)) {
      names[file->problem].insert(info->name);
    }
    if (item.own_groups) {
      check_patterns(exam, item, own);
    } else {
      any_shared = &item;
    }
  }
  if (any_shared != nullptr) check_patterns(exam, *any_shared, shared);
}

void check(const Exam& exam) {
  // A part of the rubric cannot be compared with all of its patterns.
  if (exam.options.selection.problems.empty()) check_patterns(exam);
  ZeroCheck zeros;
  for (const RubricItem& item : exam.rubric.items) {
    const std::vector<CaseOfFile> cases = cases_of(exam, item);
    const auto is_asked = [&](const RubricGroup& group) {
      return std::ranges::any_of(
          cases, [&](const CaseOfFile& each) { return group.has(each.file->problem, *each.info); });
    };
    // Of the rubric's groups an item has those that it has cases for.
    const bool some = !item.own_groups && std::ranges::any_of(item.groups, is_asked);
    for (const RubricGroup& group : item.groups) {
      if (is_asked(group)) {
        check_group(exam, item, group, cases, zeros);
      } else if (!some) {
        refuse(exam.rubric, item, "group '" + group.name + "': no case belongs to it");
      }
    }
  }
}

/// The mistakes of that problem that a group accepts, without the problem's name.
Words accepted_by(const RubricGroup& group, const std::string& problem) {
  Words mistakes;
  for (const std::string& pattern : group.accepts) {
    const std::size_t slash = pattern.find('/');
    if (matches(pattern.substr(0, slash), problem)) mistakes.push_back(pattern.substr(slash + 1));
  }
  return mistakes;
}

/// The share of the group that is worth the most, of those that a problem is in.
std::int64_t largest_share(const RubricItem& item, const std::string& problem) {
  std::int64_t largest = 0;
  for (const RubricGroup& group : item.groups) {
    if (selects(group.problems, problem)) largest = std::max(largest, group.share);
  }
  return largest;
}

/// A stored case, or the one to be drawn from it; nothing where no group counts it.
std::optional<ExamCase> exam_case_of(const Exam& exam, const RubricItem& item,
                                     const SelectedFixture& file, const Case& info, bool hidden) {
  ExamCase exam_case;
  exam_case.file = &file;
  exam_case.stored = &info;
  exam_case.name = hidden ? "" : info.name;
  exam_case.hidden = hidden;
  const std::int64_t largest = largest_share(item, file.problem);
  bool by_course = false;
  for (const RubricGroup& group : item.groups) {
    if ((hidden && !group.hidden) || !group.has(file.problem, info)) continue;
    Words accepts = accepted_by(group, file.problem);
    if (!exam_case.groups.empty() && accepts != exam_case.accepts) {
      refuse(exam.rubric, item,
             "the case " + info.name + " is in the groups '" + exam_case.groups.back() + "' and '" +
                 group.name + "', which accept different mistakes");
    }
    exam_case.groups.push_back(group.name);
    const Widening here = widening_of(item, group);
    Widening& all = exam_case.widening;
    all = {std::max(all.atol, here.atol), std::max(all.rtol, here.rtol),
           std::max(all.times, here.times)};
    by_course = by_course || group.within == 0;
    if (by_course && all.times > 1) {
      refuse(exam.rubric, item,
             "the case " + info.name + " is in the groups '" + exam_case.groups.front() +
                 "' and '" + group.name + "': only one of them has within, and that above 1");
    }
    exam_case.is_worth_most = exam_case.is_worth_most || group.share == largest;
    exam_case.accepts = std::move(accepts);
  }
  if (exam_case.groups.empty()) return std::nullopt;
  return exam_case;
}

std::vector<ExamCase> visible_cases(const Exam& exam, const RubricItem& item,
                                    const SelectedFixture& file, PublicAnswers& answers) {
  std::vector<ExamCase> cases;
  for (const Case* info : file.cases) {
    if (auto exam_case = exam_case_of(exam, item, file, *info, false)) {
      exam_case->is_public = answers.have(file, *info);
      cases.push_back(std::move(*exam_case));
    }
  }
  return cases;
}

std::vector<ExamCase> hidden_cases(const Exam& exam, const RubricItem& item,
                                   const std::string& problem) {
  std::vector<ExamCase> drawn;
  const GradeOptions& options = exam.options;
  if (!options.hidden || !options.selection.cases.empty()) return drawn;
  for (const SelectedFixture& file : exam.files) {
    if (file.problem != problem) continue;
    for (const Case* info : file.cases) {
      if (!can_be_hidden(*info)) continue;
      if (auto exam_case = exam_case_of(exam, item, file, *info, true)) {
        drawn.push_back(std::move(*exam_case));
      }
    }
  }
  std::vector<ExamCase> cases;
  for (const std::size_t i : shuffled(drawn.size(), options.seed, problem + "/hidden")) {
    cases.push_back(drawn[i]);
    cases.back().name = "hidden_" + std::to_string(cases.size());
  }
  return cases;
}

void ask(Exam& exam) {
  PublicAnswers answers;
  for (const RubricItem& item : exam.rubric.items) {
    for (const std::string& problem : item.problems) {
      ExamPart part;
      part.problem = problem;
      for (const SelectedFixture& file : exam.files) {
        if (file.problem != problem) continue;
        if (part.file == nullptr) part.file = &file;
        std::ranges::move(visible_cases(exam, item, file, answers), std::back_inserter(part.cases));
      }
      if (part.file == nullptr) continue;  // --case or --dtype leave nothing of it
      std::ranges::move(hidden_cases(exam, item, problem), std::back_inserter(part.cases));
      exam.parts.push_back(std::move(part));
    }
  }
}

/// Looks up what the problems are made of and the exam does not ask for, where it is shipped.
void find_unasked(Exam& exam) {
  std::set<std::string> unasked;
  for (const ExamPart& whole : exam.parts) {
    for (const std::string& part : parts_of(whole.problem)) unasked.insert(part);
  }
  for (const ExamPart& part : exam.parts) unasked.erase(part.problem);
  if (unasked.empty()) return;
  const Selection selection{.only_shipped = true, .problems = {unasked.begin(), unasked.end()}};
  try {
    for (const SelectedFixture& file : open_files(selection, exam.options.jobs)) {
      if (file.fixture) exam.unasked[file.problem] = file.fixture->signature_text();
    }
  } catch (const UsageError&) {  // not shipped here
  }
}

/// By how much wider a tolerance is: other forms of the same mistake round otherwise than ours.
constexpr double accepted_room = 4;
/// Of the truth's root mean square, at most.
constexpr double most_accepted = 0.5;

}  // namespace

Tolerance Widening::of(Tolerance tolerance) const {
  if (!any()) return tolerance;
  tolerance.wide_atol = times > 1 ? times * tolerance.atol : atol;
  tolerance.wide_rtol = times > 1 ? times * tolerance.rtol : rtol;
  tolerance.rms = tolerance.bias = std::nullopt;  // what is accepted may be off everywhere
  return tolerance;
}

std::map<std::string, std::string> Exam::signatures() const {
  std::map<std::string, std::string> all;
  for (const ExamPart& part : parts) all[part.problem] = part.file->fixture->signature_text();
  all.insert(unasked.begin(), unasked.end());
  return all;
}

Exam make_exam(const Rubric& rubric, const GradeOptions& options) {
  Exam exam;
  exam.rubric = rubric;
  exam.options = options;
  const Selection& selection = options.selection;
  exam.partial =
      !selection.problems.empty() || !selection.cases.empty() || !selection.dtypes.empty();
  restrict_to_problems(exam);
  open(exam);
  if (selection.cases.empty() && selection.dtypes.empty()) check(exam);
  ask(exam);
  find_unasked(exam);
  return exam;
}

std::vector<double> accepted_deviations(const std::vector<std::string>& names,
                                        const std::string& problem, const Signature& signature,
                                        const LoadedCase& loaded, Solution& mistakes) {
  if (names.empty() || loaded.info.error) return {};
  require_loaded(mistakes);
  std::vector<double> deviation(loaded.expected.size(), 0);
  for (const std::string& mistake : variants_of(problem, mistakes)) {
    if (!selects(names, mistake)) continue;
    const std::string function = problem + "__" + mistake;
    Outcome outcome = mistakes.call(call_of(function, signature, loaded.inputs, loaded.info));
    if (outcome.status == Status::not_implemented) continue;  // for this type
    try {
      const auto outputs = outputs_in(std::move(outcome), mistakes, function);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        deviation[i] =
            std::max(deviation[i], accepted_room * largest_error(outputs[i], loaded.expected[i]));
      }
    } catch (const NoAnswer&) {  // refused, or NaN or infinite elsewhere than the truth
    }
  }
  for (std::size_t i = 0; i < deviation.size(); ++i) {
    const DType dtype = loaded.info.outputs[i].dtype;
    deviation[i] =
        std::min(deviation[i], most_accepted * root_mean_square(loaded.expected[i], dtype));
  }
  return deviation;
}

}  // namespace prenorm::harness
