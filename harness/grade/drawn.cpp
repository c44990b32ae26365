#include "grade/drawn.hpp"

#include "base/parallel.hpp"
#include "grade/hidden.hpp"

#include <algorithm>
#include <atomic>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const fs::path& folder, const ExamPart& part) {
  return folder / (part.problem + ".h5");
}

DrawnCases none_drawn(const Exam& exam) {
  DrawnCases drawn(exam.parts.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i].resize(exam.parts[i].questions.size());
  return drawn;
}

}  // namespace

DrawnCases draw_hidden(const Exam& exam, std::vector<SolutionPool>& pools, bool tf32) {
  struct Place {
    std::size_t part, number;
    std::int64_t elements;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < exam.parts.size(); ++i) {
    const ExamPart& part = exam.parts[i];
    for (std::size_t number = 0; number < part.questions.size(); ++number) {
      const ExamCase& question = part.questions[number];
      if (question.hidden) places.push_back({i, number, question.stored->elements()});
    }
  }
  // The large ones first, so that no thread is left alone with one at the end.
  std::ranges::stable_sort(places, std::greater<>(), &Place::elements);
  YardstickNames names;
  names.tf32_tolerances = tf32;
  DrawnCases drawn = none_drawn(exam);
  std::atomic<std::size_t> done = 0;
  in_parallel(places.size(), exam.options.jobs, [&](std::size_t i, std::size_t thread) {
    const Place& place = places[i];
    const ExamPart& part = exam.parts[place.part];
    const ExamCase& question = part.questions[place.number];
    const LoadedCase stored = load_case(*question.file->fixture, *question.stored);
    const Yardsticks by = yardsticks(pools[thread], names);
    std::optional<LoadedCase>& fresh = drawn[place.part][place.number];
    fresh =
        hidden_case(part.problem, part.file->fixture->signature(), stored, by, exam.options.seed);
    // Stored answers would earn points if hidden cases were left out for want of processes.
    for (Solution* const each : {&by.truth, &by.textbook}) {
      if (fresh || each->load()) continue;
      throw std::runtime_error("hidden cases cannot be drawn, as " + each->label() +
                               " does not run: " + each->message());
    }
    ++done;
    if (exam.options.progress) {
      exam.options.progress("drawing hidden cases", done, places.size());
    }
  });
  return drawn;
}

void write_drawn(const fs::path& folder, const Exam& exam, const DrawnCases& drawn) {
  for (std::size_t i = 0; i < exam.parts.size(); ++i) {
    const ExamPart& part = exam.parts[i];
    std::vector<LoadedCase> cases;
    for (std::size_t number = 0; number < part.questions.size(); ++number) {
      if (!drawn[i][number]) continue;
      cases.push_back(*drawn[i][number]);
      cases.back().info.name = part.questions[number].name;
    }
    if (cases.empty()) continue;
    const Fixture& fixture = *part.file->fixture;
    write_fixture(file_of(folder, part), part.problem, fixture.signature_text(), fixture.source(),
                  "drawn for one class", cases);
  }
}

DrawnCases read_drawn(const fs::path& folder, const Exam& exam) {
  DrawnCases drawn = none_drawn(exam);
  for (std::size_t i = 0; i < exam.parts.size(); ++i) {
    const ExamPart& part = exam.parts[i];
    if (!fs::exists(file_of(folder, part))) continue;  // nothing hidden is asked of it
    const Fixture fixture(file_of(folder, part));
    for (std::size_t number = 0; number < part.questions.size(); ++number) {
      const ExamCase& question = part.questions[number];
      const auto found = std::ranges::find(fixture.cases(), question.name, &Case::name);
      if (!question.hidden || found == fixture.cases().end()) continue;
      LoadedCase& fresh = drawn[i][number].emplace(
          LoadedCase{*found, fixture.inputs(*found), fixture.expected(*found)});
      fresh.info.name = question.stored->name;
    }
  }
  return drawn;
}

}  // namespace prenorm::harness
