// Code: hidden cases drawn, all cases run through the submission's worker, wrong numbers diagnosed.
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "grade/exam.hpp"
#include "grade/marks.hpp"
#include "grade/workers.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of what failing cases of one problem print.
constexpr std::size_t most_printed = 16u << 10;
/// Of the limit of a call, for a problem's other cases once one has timed out: the same slow
/// constructor shall not cost the whole limit again.
constexpr double share_after_timeout = 0.25;
/// A call that took so many times its processor time by the clock had to wait for a processor, or
/// slept.
constexpr double much_waiting = 1.25;
/// Failing cases of a problem that are asked again alone, and the largest of these.
constexpr std::size_t most_asked_alone = 2;
constexpr std::int64_t most_elements_alone = 1 << 16;
/// Of workers that take seconds to start, while the first must be loaded in time.
constexpr std::size_t most_started_together = 4;

class Run {
 public:
  /// `workers` are those of the first threads, as Workers takes them.
  Run(const Exam& exam, const Submission& submission, std::vector<Solution> workers, Budget& budget)
      : exam_(exam),
        submission_(submission),
        budget_(budget),
        snippets_(submission.adapters, workers.front().mode() == "numpy"),
        mode_(workers.front().mode()),
        on_device_(workers.front().on_device()),
        // A device takes one call at a time.
        askers_(on_device_ ? 1 : exam.options.jobs),
        pools_(make_pools(exam.options.jobs)),
        standings_(exam.parts.size()),
        workers_(submission, budget, std::move(workers), askers_) {
    for (const ExamPart& part : exam.parts) {
      const auto give = [&submission, &part](LoadedCase& loaded) {
        submission.adapters.give(part.problem, loaded);
      };
      markers_.push_back(
          std::make_unique<Marker>(exam, part, submission.name, give, mode_ == "tf32"));
      if (!workers_.of(0).function_for(part.problem).empty()) solved_.insert(part.problem);
      cases_ += part.cases.size();
    }
    clues_.resize(exam.parts.size());
  }

  std::vector<Marks> all() {
    draw();
    // All visible cases first: what reports show of them can hold nothing of hidden inputs.
    submission_.visible_cases_begin();
    ask_all(false);
    if (!on_device_) {
      in_parallel(exam_.parts.size(), askers_,
                  [this](std::size_t i, std::size_t thread) { ask_alone(i, thread); });
    }
    // Answers to laws are shown: who gives them must not have seen hidden inputs.
    in_parallel(exam_.parts.size(), askers_,
                [this](std::size_t i, std::size_t thread) { ask_about_laws(i, thread); });
    submission_.hidden_cases_begin();
    ask_all(true);
    std::vector<Marks> marks(exam_.parts.size());
    const std::size_t first = first_wrong();
    in_parallel(marks.size(), exam_.options.jobs, [&](std::size_t i, std::size_t thread) {
      SolutionPool& pool = pools_[thread];
      const bool explained = !exam_.options.quick || i == first;
      marks[i] = markers_[i]->finish(explained ? &pool.get("mistakes") : nullptr,
                                     explained ? &pool.get("reference") : nullptr);
    });
    add_clues(exam_, clues_, marks);
    workers_.clear();
    return marks;
  }

  /// What the kernels of each problem did in its largest visible case that passed, called once
  /// more.
  std::vector<CallProfile> profiles() {
    std::vector<CallProfile> profiles;
    for (std::size_t i = 0; i < exam_.parts.size(); ++i) {
      if (!standings_[i].largest || budget_.spent()) continue;
      const ExamPart& part = exam_.parts[i];
      LoadedCase loaded = markers_[i]->load(*standings_[i].largest);
      submission_.adapters.give(part.problem, loaded);
      Solution solution = submission_.solution();
      solution.limit_rest(budget_.left());
      if (!solution.load()) continue;
      solution.take_counts();  // from then on it counts
      replay(part.problem, part.file->fixture->signature(), loaded, solution,
             {.twice = false, .alone = false});
      CallProfile profile{part.problem, loaded.info.name, bytes_of_tensors(loaded.info),
                          kernel_profiles(solution.take_counts())};
      if (!profile.kernels.empty()) profiles.push_back(std::move(profile));
    }
    return profiles;
  }

  /// Of problems that overwrite an input where the rubric does not mind.
  std::vector<std::string> changed_inputs() const {
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < standings_.size(); ++i) {
      const std::set<std::string>& changed = standings_[i].changed;
      if (changed.empty()) continue;
      const std::vector<std::string> inputs(changed.begin(), changed.end());
      notes.push_back(
          fmt::format("{} overwrites its input {}: no points are lost here, but whoever "
                      "calls it may still need that",
                      exam_.parts[i].problem, joined(inputs)));
    }
    return notes;
  }

  /// Cases that did not run, or did not end, as the time for all was over.
  std::size_t not_asked() const { return not_asked_; }

 private:
  /// Of a problem with wrong numbers in visible cases, and of what it is made of that the rubric
  /// does not ask for.
  void ask_about_laws(std::size_t i, std::size_t thread) {
    const std::optional<DType> dtype = markers_[i]->wrong_type();
    if (!dtype || budget_.spent() || (exam_.options.quick && i != first_wrong())) return;
    const std::string& problem = exam_.parts[i].problem;
    clues_[i].dtype = *dtype;
    for (const std::string& part : parts_of(problem)) {  // the simplest first
      const auto unasked = exam_.unasked.find(part);
      if (unasked == exam_.unasked.end() || budget_.spent()) continue;
      Solution& asked = workers_.fresh(thread);
      if (asked.function_for(part).empty()) continue;
      if (told_by_laws(part, parse_signature(unasked->second), *dtype, asked, thread).empty())
        continue;
      clues_[i].clues = {wrong_part(problem, part)};
      return;
    }
    clues_[i].clues = told_by_laws(problem, exam_.parts[i].file->fixture->signature(), *dtype,
                                   workers_.fresh(thread), thread);
  }

  std::vector<Clue> told_by_laws(const std::string& problem, const Signature& signature,
                                 DType dtype, Solution& asked, std::size_t thread) {
    const Witness witness{
        .asked = asked,
        .truth = pools_[thread].get("reference"),
        .can_be_asked = [&](const Case& info) { return !cannot_be_asked(problem, info); },
        .give = [&](LoadedCase& loaded) { submission_.adapters.give(problem, loaded); }};
    return clues_to(problem, signature, dtype, witness);
  }

  /// What is known of a problem so far.
  struct Standing {
    Losses losses;
    int calls = calls_with_other_axes;  // that may still be made
    std::vector<std::size_t> left;      // cases to be asked
    std::vector<std::size_t> later;     // those to be asked alone, when all others have been
    bool is_alone = false;              // these are being asked
    std::vector<std::size_t> failed;    // cases that may be asked again alone
    std::size_t printed = 0;            // bytes
    std::set<std::string> changed;      // inputs that visible cases changed
    bool launches = false;              // it has launched a kernel of the emulator's
    /// Elements of what took the emulator too long.
    std::int64_t too_large = std::numeric_limits<std::int64_t>::max();
    /// The largest visible case that passed with launches, of those that take no time to profile.
    std::optional<std::size_t> largest;
  };

  /// Hidden cases of all problems; those that were kept have no tf32 tolerances.
  void draw() {
    const fs::path& kept = exam_.options.drawn;
    const bool tf32 = mode_ == "tf32";
    DrawnCases drawn =
        kept.empty() || tf32 ? draw_hidden(exam_, pools_, tf32) : read_drawn(kept, exam_);
    draw_own(exam_, submission_.name, submission_.files, pools_, drawn);
    for (std::size_t i = 0; i < drawn.size(); ++i) markers_[i]->drawn(std::move(drawn[i]));
  }

  Result not_implemented(const std::string& problem, const Solution& solution) const {
    std::string why = "no function prenorm_" + problem +
                      (solution.variant().empty() ? "" : "__" + solution.variant());
    if (submission_.kind == SubmissionKind::python) {
      const std::string function = submission_.adapters.function(problem);
      why = function.empty() ? "the rubric names no Python function for this problem"
                             : "no function " + function + " in adapters.py";
    }
    return ended(Status::not_implemented, why);
  }

  /// Why a problem cannot be asked in this worker: there is no function, or the submission cannot
  /// be loaded again as it was the first time.
  std::optional<Result> cannot_run(const std::string& problem, Solution& solution) const {
    if (!solved_.contains(problem)) return not_implemented(problem, solution);
    if (solution.load()) return std::nullopt;
    return ended(solution.status(), submission_.told(solution.message()));
  }

  bool cannot_be_asked(const std::string& problem, const Case& info) const {
    return submission_.kind == SubmissionKind::python &&
           !submission_.adapters.cannot_ask(problem, info).empty();
  }

  /// For the emulator, which may leave such a case out.
  bool is_large(std::int64_t elements) const {
    return std::cmp_greater(elements, exam_.options.emulator_limit);
  }

  /// Its visible cases, or its hidden ones, as they are asked: nobody knows what comes next; what
  /// is worth the most comes first.
  std::vector<std::size_t> order_of(const ExamPart& part, bool hidden) const {
    std::vector<std::size_t> order =
        shuffled(part.cases.size(), exam_.options.seed, part.problem + "/asked");
    std::erase_if(order, [&](std::size_t number) { return part.cases[number].hidden != hidden; });
    std::ranges::stable_partition(
        order, [&](std::size_t number) { return part.cases[number].is_worth_most; });
    if (submission_.emulated) {  // before large ones it is known whether kernels are launched
      std::ranges::stable_partition(order, [&](std::size_t number) {
        return !is_large(part.cases[number].stored->elements());
      });
    }
    return order;
  }

  /// All visible cases, or all hidden ones: each problem's in turn, until none is left. Then, one
  /// problem after the other, those that shall be asked alone.
  void ask_all(bool hidden) {
    std::vector<std::size_t> waiting = smallest_first();
    std::size_t count = 0;
    for (const std::size_t i : waiting) {
      standings_[i].left = order_of(exam_.parts[i], hidden);
      count += standings_[i].left.size();
    }
    budget_.begin_kind(count, cases_ - asked_);
    while (!waiting.empty()) {
      budget_.begin_round(waiting.size());
      in_parallel(waiting.size(), askers_,
                  [&](std::size_t turn, std::size_t thread) { take_turn(waiting[turn], thread); });
      std::erase_if(waiting, [&](std::size_t i) { return standings_[i].left.empty(); });
    }
    for (const std::size_t i : smallest_first()) {
      Standing& standing = standings_[i];
      standing.left = std::exchange(standing.later, {});
      standing.is_alone = true;
      budget_.begin_round(1);
      if (!standing.left.empty()) take_turn(i, 0);
      standing.is_alone = false;
    }
  }

  /// Asks cases of a problem until its share of the time is over: at least one.
  void take_turn(std::size_t i, std::size_t thread) {
    const ExamPart& part = exam_.parts[i];
    const double seconds = budget_.begin_turn();
    std::vector<std::size_t>& left = standings_[i].left;
    if (left.empty()) return budget_.end_turn(seconds, 0);
    Solution& solution = workers_.fresh(thread);
    const std::optional<Result> why = cannot_run(part.problem, solution);
    double used = workers_.spend(thread);
    do {
      const std::size_t number = left.front();
      left.erase(left.begin());
      exam_.options.progress(part.problem, ++asked_, cases_);
      if (why) {
        not_asked_ += why->status == Status::timeout ? 1 : 0;
        markers_[i]->add(number, *why);
      } else {
        ask(i, number, thread);
        used += workers_.spend(thread);
      }
    } while (!left.empty() && (why || used < seconds || budget_.spent()));
    budget_.end_turn(seconds, used);
  }

  /// This case, and those of its problem that have not been asked yet: a machine that is busy, with
  /// other cases of it too, is no reason to lose one.
  void ask_later(std::size_t i, std::size_t number) {
    Standing& standing = standings_[i];
    standing.later = std::exchange(standing.left, {});
    standing.later.insert(standing.later.begin(), number);
    --asked_;
  }

  /// One case, in that thread's worker.
  void ask(std::size_t i, std::size_t number, std::size_t thread) {
    const ExamPart& part = exam_.parts[i];
    const ExamCase& exam_case = part.cases[number];
    Marker& marker = *markers_[i];
    Standing& standing = standings_[i];
    if (!marker.can_be_asked(number)) return;
    if (cannot_be_asked(part.problem, marker.info(number))) {
      return marker.leave_out(number, &Marks::cannot_be_asked);
    }
    const std::int64_t elements = marker.info(number).elements();
    if (elements >= standing.too_large) return marker.leave_out(number, &Marks::too_large);
    if (standing.losses.too_many_for(exam_case)) {
      return marker.add(number, standing.losses.not_run());
    }
    if (budget_.spent()) {
      ++not_asked_;
      return marker.add(number, not_run_in_time(exam_case.hidden));
    }
    marker.accept(number, pools_[thread].get("mistakes"));
    LoadedCase loaded = marker.load(number);
    submission_.adapters.give(part.problem, loaded);
    std::vector<Tensor> outputs;
    // A project may have CUDA sources, and compute without them: that is not slower than C++.
    const bool large = standing.launches && is_large(elements);
    const bool shorter = large || standing.losses.shortens(exam_case);
    Solution& solution = workers_.of(thread);
    const double limit = workers_.call_limit();
    solution.limit_calls(shorter ? share_after_timeout * limit : limit);
    const auto start = Clock::now();
    const double spent = solution.spent();
    const Signature& signature = part.file->fixture->signature();
    const ReplayOptions options{.twice = true,
                                .alone = false,
                                .same_bits = false,
                                .inputs_may_change = exam_.rubric.inputs_may_change};
    Result result = replay(part.problem, signature, loaded, solution, options, &outputs);
    if (exam_.rubric.require_kernel && lacks_kernel(loaded, result)) {
      result.status = Status::not_implemented;
      result.message = "launches no kernel, which this rubric requires";
    }
    if (large && result.status == Status::timeout) {
      standing.too_large = elements;
      return marker.leave_out(number, &Marks::too_large);
    }
    const std::chrono::duration<double> took = Clock::now() - start;
    const double own = solution.spent() - spent;
    const bool timed_out = result.status == Status::timeout;
    const bool late = timed_out && own > budget_.left() - no_time;
    // Of several threads, each may have waited.
    const bool several = own > much_waiting * solution.call_limit();
    const bool waited = took.count() > much_waiting * own || several;
    if (timed_out && !late && !standing.is_alone && waited) {
      return ask_later(i, number);
    }
    not_asked_ += late ? 1 : 0;
    if (submission_.emulated && result.launches > 0) standing.launches = true;
    result.message = submission_.told(result.message);
    result.printed = exam_case.hidden ? "" : kept(i, submission_.told(result.printed));
    if (shorter && timed_out && !late) {
      result.message += ", a quarter of the limit, as another case of this problem had all of it";
    }
    const bool fails =
        result.status == Status::incorrect_numerical || result.status == Status::runtime_error;
    if (fails && !exam_case.hidden && !loaded.info.error && solution.running() &&
        loaded.info.elements() <= most_elements_alone) {
      standing.failed.push_back(number);
    }
    if (!late) {
      const bool slow = own > share_after_timeout * limit;
      standing.losses.add(exam_case, result, slow,
                          submission_.slow_to_start() && !solution.running());
    }
    std::string hint, snippet;
    if (!exam_case.hidden && result.status != Status::passed) {
      hint = axes_hint(part.problem, signature, loaded, result, solution, standing.calls);
      if (submission_.kind == SubmissionKind::python) {
        snippet = snippets_.of(part.problem, signature, loaded, *exam_case.stored, result);
      }
    }
    const bool hidden = exam_case.hidden;
    if (!hidden && exam_.rubric.inputs_may_change && result.changed_input) {
      standing.changed.insert(signature.inputs[*result.changed_input].name);
    }
    if (!hidden && !large && result.status == Status::passed && result.launches > 0) {
      std::optional<std::size_t>& largest = standing.largest;
      if (!largest || marker.info(number).elements() > marker.info(*largest).elements()) {
        largest = number;
      }
    }
    marker.add(number, loaded, std::move(result), std::move(outputs));
    if (!hidden) marker.tell(number, std::move(hint), std::move(snippet));
  }

  /// Asks simple cases that have failed twice more, each in a fresh worker, until one shows that it
  /// is not the formula alone.
  void ask_alone(std::size_t i, std::size_t thread) {
    const ExamPart& part = exam_.parts[i];
    Marker& marker = *markers_[i];
    for (const std::size_t number : marker.simplest(standings_[i].failed, most_asked_alone)) {
      if (budget_.spent()) return;
      LoadedCase loaded = marker.load(number);
      submission_.adapters.give(part.problem, loaded);
      const std::optional<ToldAlone> told =
          called_alone(part.problem, part.file->fixture->signature(), loaded,
                       workers_.fresh(thread), exam_.rubric.inputs_may_change);
      if (told) return marker.tell_alone(number, *told);
    }
  }

  /// Whether a right answer came from the host alone. On a device launches are not counted. What
  /// was not built here of CUDA sources has no kernels, whatever it says.
  bool lacks_kernel(const LoadedCase& loaded, const Result& result) const {
    const bool computes = std::ranges::any_of(
        loaded.expected, [](const Tensor& output) { return output.size() > 0; });
    const bool launched = submission_.emulated && result.launches > 0;
    return computes && !on_device_ && result.status == Status::passed && !launched;
  }

  /// What a case printed, unless others of the problem have printed much before; of hidden cases
  /// nothing is kept, for their inputs may be in it.
  std::string kept(std::size_t i, const std::string& printed) {
    return (standings_[i].printed += printed.size()) <= most_printed ? printed : "";
  }

  Result not_run_in_time(bool hidden) const {
    Result result = ended(Status::timeout,
                          fmt::format("not run: the time for {} cases, of {} for all, was over",
                                      hidden ? "hidden" : "visible", duration(budget_.seconds())));
    result.not_run = true;
    return result;
  }

  /// The first problem with wrong numbers, in the rubric's order.
  std::size_t first_wrong() const {
    const auto found = std::ranges::find_if(
        markers_, [](const auto& marker) { return marker->has_wrong_numbers(); });
    return static_cast<std::size_t>(found - markers_.begin());
  }

  /// What is quick has earned its points before what is slow takes the time.
  std::vector<std::size_t> smallest_first() const {
    std::vector<std::size_t> order(exam_.parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::int64_t> work(order.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const ExamCase& exam_case : exam_.parts[i].cases) {
        work[i] += exam_case.stored->elements() + 1000;
      }
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return work[i]; });
    return order;
  }

  const Exam& exam_;
  const Submission& submission_;
  Budget& budget_;
  Snippets snippets_;
  std::string mode_;
  bool on_device_ = false;
  std::set<std::string> solved_;  // problems
  unsigned askers_ = 1;           // threads
  std::vector<SolutionPool> pools_;
  std::vector<std::unique_ptr<Marker>> markers_;
  std::vector<Standing> standings_;  // one for each problem
  std::vector<ToldByLaws> clues_;    // likewise
  Workers workers_;
  std::size_t cases_ = 0;
  std::atomic<std::size_t> asked_ = 0, not_asked_ = 0;
};

}  // namespace

std::vector<Marks> mark_code(const Exam& exam, const Submission& submission, Grading& grading) {
  Budget budget(budget_of(exam));
  grading.budget = budget.seconds();
  std::vector<Solution> workers;
  workers.push_back(submission.solution());
  if (submission.slow_to_start() && !submission.has_device) {
    const std::size_t threads = std::min<std::size_t>(exam.options.jobs, exam.parts.size());
    while (workers.size() < std::min(threads, most_started_together)) {
      workers.push_back(submission.solution());
    }
    for (Solution& worker : workers) worker.start();
  }
  Solution& probe = workers.front();
  probe.limit_rest(budget.left());
  const bool loaded = probe.load();
  budget.spend(probe.spent());
  if (!loaded) {
    grading.status = probe.status();
    grading.message = submission.told(probe.message());
    std::vector<Marks> marks = mark_alike(exam, submission.name, grading.status, grading.message);
    if (budget.spent()) {
      for (const Marks& each : marks) grading.not_asked += std::ssize(each.cases);
    }
    return marks;
  }
  Run run(exam, submission, std::move(workers), budget);
  std::vector<Marks> marks = run.all();
  if (submission.emulated) grading.profiles = run.profiles();
  std::ranges::move(run.changed_inputs(), std::back_inserter(grading.notes));
  grading.not_asked = static_cast<std::int64_t>(run.not_asked());
  return marks;
}

}  // namespace prenorm::harness
