#include "grade/exam.hpp"

#include "base/digest.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>

namespace prenorm::harness {
namespace {

/// A fair case, at the stored sizes or at odd ones as the seed decides; its name is still the
/// stored one's. Nothing where no fresh values could be given an answer: the reference refuses
/// them, or the textbook loop disagrees with it on what is infinite there.
std::optional<LoadedCase> hidden_case(const std::string& problem, const Signature& signature,
                                      const LoadedCase& stored, const Yardsticks& by,
                                      std::uint64_t seed) try {
  auto random = generator(seed, problem + "/" + stored.info.name + "/hidden");
  const bool odd_sizes = random() % 2 == 0;
  return fair_case(problem, signature, stored, by, {.seed = random(), .resize = odd_sizes});
} catch (const NoAnswer&) {
  return std::nullopt;
}

fs::path file_of(const fs::path& folder, const ExamPart& part) {
  return folder / (part.problem + ".h5");
}

DrawnCases none_drawn(const Exam& exam) {
  DrawnCases drawn(exam.parts.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i].resize(exam.parts[i].cases.size());
  return drawn;
}

struct Place {
  std::size_t part, number;
  std::int64_t elements;
};

/// Calls `draw` for each hidden case on the exam's threads. Answers that others have would earn
/// points if cases were left out because a yardstick fails: then there are none, and no grading.
void at_all_hidden(const Exam& exam, std::vector<SolutionPool>& pools, const YardstickNames& names,
                   const std::string& what,
                   const std::function<void(const Place&, const Yardsticks&)>& draw) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < exam.parts.size(); ++i) {
    const ExamPart& part = exam.parts[i];
    for (std::size_t number = 0; number < part.cases.size(); ++number) {
      const ExamCase& exam_case = part.cases[number];
      if (exam_case.hidden) places.push_back({i, number, exam_case.stored->elements()});
    }
  }
  // The large ones first, so that no thread is left alone with one at the end.
  std::ranges::stable_sort(places, std::greater<>(), &Place::elements);
  std::atomic<std::size_t> done = 0;
  in_parallel(places.size(), exam.options.jobs, [&](std::size_t i, std::size_t thread) {
    try {
      draw(places[i], yardsticks(pools[thread], names));
    } catch (const SolutionFailed& failure) {
      throw SolutionFailed("hidden cases cannot be drawn: " + std::string(failure.what()));
    }
    ++done;
    exam.options.progress(what, done, places.size());
  });
}

}  // namespace

bool can_be_hidden(const Case& info) {
  return is_redrawn(info) && info.elements() <= most_elements_fair;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, const std::string& words) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto random = generator(seed, words + "/order");
  // std::shuffle gives another order on another library.
  for (std::size_t last = count; last > 1; --last)
    std::swap(order[last - 1], order[random() % last]);
  return order;
}

DrawnCases draw_hidden(const Exam& exam, std::vector<SolutionPool>& pools, bool tf32) {
  YardstickNames names;
  names.tf32_tolerances = tf32;
  DrawnCases drawn = none_drawn(exam);
  at_all_hidden(exam, pools, names, "drawing hidden cases",
                [&](const Place& place, const Yardsticks& by) {
                  const ExamPart& part = exam.parts[place.part];
                  const ExamCase& exam_case = part.cases[place.number];
                  const LoadedCase stored = load_case(*exam_case.file->fixture, *exam_case.stored);
                  drawn[place.part][place.number] = hidden_case(
                      part.problem, part.file->fixture->signature(), stored, by, exam.options.seed);
                });
  return drawn;
}

void draw_own(const Exam& exam, const std::string& submission, const std::string& files,
              std::vector<SolutionPool>& pools, DrawnCases& drawn) {
  // A submission can compute its own seed from its inputs: that tells it no other one.
  const std::string key =
      Digest().add(std::to_string(exam.options.seed)).add(submission).add(files).hex();
  const std::uint64_t seed = std::stoull(key.substr(0, 16), nullptr, 16);
  at_all_hidden(
      exam, pools, {}, "drawing their values", [&](const Place& place, const Yardsticks& by) {
        std::optional<LoadedCase>& shared = drawn[place.part][place.number];
        if (!shared) return;
        const ExamPart& part = exam.parts[place.part];
        std::optional<LoadedCase> own =
            with_other_values(part.problem, part.file->fixture->signature(), *shared, by, seed);
        if (own) shared = std::move(own);
      });
}

void write_drawn(const fs::path& folder, const Exam& exam, const DrawnCases& drawn) {
  for (std::size_t i = 0; i < exam.parts.size(); ++i) {
    const ExamPart& part = exam.parts[i];
    std::vector<LoadedCase> cases;
    for (std::size_t number = 0; number < part.cases.size(); ++number) {
      if (!drawn[i][number]) continue;
      cases.push_back(*drawn[i][number]);
      cases.back().info.name = part.cases[number].name;
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
    for (std::size_t number = 0; number < part.cases.size(); ++number) {
      const ExamCase& exam_case = part.cases[number];
      const auto found = std::ranges::find(fixture.cases(), exam_case.name, &Case::name);
      if (!exam_case.hidden || found == fixture.cases().end()) continue;
      LoadedCase& fresh = drawn[i][number].emplace(
          LoadedCase{*found, fixture.inputs(*found), fixture.expected(*found)});
      fresh.info.name = exam_case.stored->name;
    }
  }
  return drawn;
}

}  // namespace prenorm::harness
