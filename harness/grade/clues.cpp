// Clues of one problem beside those of the others that it is made of.
#include "explain/causes.hpp"
#include "grade/marks.hpp"

#include <algorithm>
#include <set>

namespace prenorm::harness {
namespace {

/// Of a problem: the mistakes that explain something of it, but for what honest code may do.
std::set<std::string> mistakes_of(const Reasons& reasons) {
  std::set<std::string> names;
  for (const Diagnosis& diagnosis : reasons.diagnoses) {
    if (words_of(diagnosis.problem, diagnosis.mistake).honest) continue;
    names.insert(same_mistake(diagnosis.problem, diagnosis.mistake));
  }
  return names;
}

/// The simplest problem that the whole is made of and that is wrong, where no mistake of its own
/// explains the whole; empty where there is none.
std::string part_to_repair(const Exam& exam, std::size_t whole,
                           const std::vector<ToldByLaws>& asked, const std::vector<Marks>& marks) {
  const Reasons& reasons = marks[whole].reasons;
  const std::set<std::string> own = mistakes_of(reasons);
  for (const std::string& part : parts_of(exam.parts[whole].problem)) {
    const auto i = static_cast<std::size_t>(
        std::ranges::find(exam.parts, part, &ExamPart::problem) - exam.parts.begin());
    if (i == marks.size()) continue;
    const std::set<std::string> others = mistakes_of(marks[i].reasons);
    const bool is_wrong =
        !others.empty() || (marks[i].reasons.unexplained && !asked[i].clues.empty());
    const auto is_its = [&](const std::string& mistake) { return others.contains(mistake); };
    const bool has_own = !reasons.unexplained && std::ranges::none_of(own, is_its);
    if (is_wrong && !has_own) return part;
  }
  return "";
}

}  // namespace

Clue wrong_part(const std::string& problem, const std::string& part) {
  return {.problem = problem,
          .law = std::string(part_is_wrong),
          .terms = {part},
          .heading = "repair " + part + " first: this is made of it, and it is wrong by itself"};
}

void add_clues(const Exam& exam, std::vector<ToldByLaws> asked, std::vector<Marks>& marks) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    Reasons& reasons = marks[i].reasons;
    const std::string& problem = exam.parts[i].problem;
    if (!reasons.undiagnosed && reasons.diagnoses.empty()) continue;
    if (const std::string part = part_to_repair(exam, i, asked, marks); !part.empty()) {
      reasons.clues = {wrong_part(problem, part)};
    } else if (reasons.unexplained == asked[i].dtype) {
      reasons.clues = asked[i].clues;
    }
  }
}

}  // namespace prenorm::harness
