#include "grade/exam.hpp"

#include "base/parallel.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_elements = 300000;
/// Draws of one case. Of sixteen equal draws one sets the tolerance.
constexpr std::uint64_t attempts = 8;

/// Neighbours of a draw whose errors are looked at beside its own.
constexpr int neighbours = 8;

/// The same case with every floating value smaller by up to 8 roundings of its type: as well or as
/// badly conditioned, but other roundings happen in it.
LoadedCase neighbour_of(const std::string& problem, const Signature& signature,
                        const LoadedCase& drawn, Solution& truth, std::mt19937_64& random) {
  LoadedCase near = drawn;
  for (auto& input : near.inputs) {
    if (!input || !is_floating(input->dtype)) continue;
    const double eps = epsilon(input->dtype);
    for (std::int64_t i = 0; i < input->size(); ++i) {
      const double part = static_cast<double>(random() >> 11) * 0x1p-53;  // [0, 1)
      input->set(i, input->at(i) * (1 - 8 * eps * part));
    }
  }
  near.expected = exact_outputs(problem, signature, near.inputs, near.info.scalars, truth);
  return near;
}

/// Whether the solution's errors take at most half of what the tolerance allows. One for a single
/// rounding is skipped: its slack of 0.25 eps covers other orders of summation.
bool is_well_within(const std::string& problem, const Signature& signature, const LoadedCase& drawn,
                    Solution& solution) {
  std::vector<Tensor> outputs;
  const ReplayOptions once{.twice = false, .alone = false};
  if (replay(problem, signature, drawn, solution, once, &outputs).status != Status::passed) {
    return false;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& output = drawn.info.outputs[i];
    const Tolerance tolerance = output.tolerance.value_or(Tolerance{});
    if (tolerance.atol == 0 || allows_one_rounding(tolerance, output.dtype)) continue;
    if (2 * largest_error(outputs[i], drawn.expected[i]) >= tolerance.atol) return false;
  }
  return true;
}

/// Whether right answers lie well within the tolerance on these very inputs. It comes from this
/// draw and fifteen others: where this one's error is the largest, or the reference's own in the
/// case's type is larger still, or the textbook loop's on inputs next to these, the inputs are
/// worse than what the tolerance was made for (a norm of what nearly cancels), and another right
/// order of summation may miss it.
bool is_fair(const std::string& problem, const Signature& signature, const LoadedCase& fresh,
             const Yardsticks& by, std::uint64_t seed) {
  if (!is_well_within(problem, signature, fresh, by.textbook) ||
      !is_well_within(problem, signature, fresh, by.truth)) {
    return false;
  }
  auto random = generator(seed, problem + "/" + fresh.info.name + "/neighbours");
  for (int count = 0; count < neighbours; ++count) {
    const LoadedCase near = neighbour_of(problem, signature, fresh, by.truth, random);
    if (!is_well_within(problem, signature, near, by.textbook)) return false;
  }
  return true;
}

/// A fresh case, at the stored sizes or at odd ones as the seed decides, with an answer and
/// tolerances of its own, drawn again where right answers would come near the tolerance; its name
/// is still the stored one's. Nothing where no fresh values could be given an answer: the textbook
/// loop and the reference disagree on what is infinite there.
std::optional<LoadedCase> hidden_case(const std::string& problem, const Signature& signature,
                                      const LoadedCase& stored, const Yardsticks& by,
                                      std::uint64_t seed) {
  auto random = generator(seed, problem + "/" + stored.info.name + "/hidden");
  const bool odd_sizes = random() % 2 == 0;
  std::optional<LoadedCase> drawn;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    try {
      const std::uint64_t draw_seed = random();
      drawn = fresh_case(problem, signature, stored, by, {.seed = draw_seed, .resize = odd_sizes});
      if (is_fair(problem, signature, *drawn, by, draw_seed)) return drawn;
    } catch (const std::runtime_error&) {  // the truth has no answer to these inputs
    }
  }
  return drawn;  // all draws alike: each is as hard as the others
}

fs::path file_of(const fs::path& folder, const ExamPart& part) {
  return folder / (part.problem + ".h5");
}

DrawnCases none_drawn(const Exam& exam) {
  DrawnCases drawn(exam.parts.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i].resize(exam.parts[i].cases.size());
  return drawn;
}

}  // namespace

bool can_be_hidden(const Case& info) {
  return !info.error && info.elements() <= most_elements &&
         std::ranges::any_of(info.inputs,
                             [](const auto& input) { return input && !input->draw.empty(); });
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
  struct Place {
    std::size_t part, number;
    std::int64_t elements;
  };
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
  YardstickNames names;
  names.tf32_tolerances = tf32;
  DrawnCases drawn = none_drawn(exam);
  std::atomic<std::size_t> done = 0;
  in_parallel(places.size(), exam.options.jobs, [&](std::size_t i, std::size_t thread) {
    const Place& place = places[i];
    const ExamPart& part = exam.parts[place.part];
    const ExamCase& exam_case = part.cases[place.number];
    const LoadedCase stored = load_case(*exam_case.file->fixture, *exam_case.stored);
    const Yardsticks by = yardsticks(pools[thread], names);
    std::optional<LoadedCase>& fresh = drawn[place.part][place.number];
    fresh =
        hidden_case(part.problem, part.file->fixture->signature(), stored, by, exam.options.seed);
    // Stored answers would earn points if hidden cases were left out for want of processes.
    for (Solution* const each : {&by.truth, &by.redraws, &by.textbook}) {
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
