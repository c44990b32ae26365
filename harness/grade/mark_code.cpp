// Code: hidden cases drawn, all cases run through the submission's worker, wrong numbers diagnosed.
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "explain/axes.hpp"
#include "grade/drawn.hpp"
#include "grade/hidden.hpp"
#include "grade/marks.hpp"
#include "grade/snippet.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// What cases that end their worker, or never end, may cost a problem.
constexpr int most_timeouts = 3;
/// Bytes of what failing cases print, of one submission.
constexpr std::size_t most_printed = 64u << 10;
/// Of the limit of a call, for a problem's other cases once one has timed out: the same slow
/// constructor shall not cost the whole limit again.
constexpr double share_after_timeout = 0.25;
constexpr double most_seconds_lost = 60;

/// Ends the questions of a problem where each would cost a worker and much time. The group that is
/// worth the most is asked on while its own cases end: who makes slow tables of far positions may
/// be right at the course's shapes.
class Budget {
 public:
  void add(const ExamCase& question, const Result& result, double seconds) {
    const bool lost = result.status == Status::timeout || result.status == Status::out_of_memory ||
                      result.status == Status::runtime_error ||
                      result.status == Status::sandbox_violation;
    if (!lost) return;
    timeouts_ += result.status == Status::timeout ? 1 : 0;
    seconds_ += seconds;
    last_ = result.status;
    most_is_lost_ = most_is_lost_ || question.is_worth_most;
  }

  bool timed_out() const { return timeouts_ > 0; }

  bool spent_for(const ExamCase& question) const {
    const bool spent = timeouts_ >= most_timeouts || seconds_ > most_seconds_lost;
    return spent && (most_is_lost_ || !question.is_worth_most);
  }

  Result not_run() const {
    Result result;
    result.status = timeouts_ >= most_timeouts ? Status::timeout : last_;
    result.message =
        timeouts_ >= most_timeouts
            ? fmt::format("not run: {} cases of this problem did not end in time", most_timeouts)
            : fmt::format("not run: cases of this problem that failed took {} s",
                          most_seconds_lost);
    return result;
  }

 private:
  int timeouts_ = 0;
  double seconds_ = 0;
  bool most_is_lost_ = false;  // a case of the group that is worth the most
  Status last_ = Status::timeout;
};

/// What all cases of a submission may take together: an honest one needs about a twentieth of it.
double most_seconds_for(std::size_t questions) {
  return std::max(300.0, 0.5 * static_cast<double>(questions));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Run {
 public:
  Run(const Exam& exam, const Submission& submission, Solution probe)
      : exam_(exam),
        submission_(submission),
        snippets_(submission.adapters()),
        call_limit_(probe.call_limit()),
        mode_(probe.mode()),
        on_device_(probe.on_device()),
        // A device takes one call at a time.
        askers_(on_device_ ? 1 : exam.options.jobs),
        pools_(make_pools(exam.options.jobs)) {
    for (const ExamPart& part : exam.parts) {
      const auto give = [&submission, &part](LoadedCase& loaded) {
        submission.adapters().give(part.problem, loaded);
      };
      markers_.push_back(std::make_unique<Marker>(exam, part, submission.name(), give));
      if (!probe.function_for(part.problem).empty()) solved_.insert(part.problem);
      questions_ += part.questions.size();
    }
    budgets_.resize(exam.parts.size());
    calls_.resize(exam.parts.size(), calls_with_other_axes);
    seats_.resize(std::max(1u, askers_));
    seats_.front().solution = std::move(probe);
  }

  std::vector<Marks> all() {
    draw();
    begun_ = Clock::now();
    std::vector<Marks> marks(exam_.parts.size());
    const std::vector<std::size_t> order = largest_first();
    // All visible cases first: what is told of them cannot tell of inputs that came later.
    for (const bool hidden : {false, true}) {
      if (hidden) submission_.hidden_cases_begin();
      in_parallel(marks.size(), askers_, [&](std::size_t turn, std::size_t thread) {
        const std::size_t i = order[turn];
        ask(i, thread, hidden);
        if (hidden) {
          SolutionPool& pool = pools_[thread];
          marks[i] = markers_[i]->finish(pool.get("mistakes"), pool.get("reference"));
        }
      });
    }
    return marks;
  }

 private:
  /// A thread's worker.
  struct Seat {
    std::optional<Solution> solution;
    bool used = false;
  };

  /// Hidden cases of all problems; those that were kept have no tf32 tolerances.
  void draw() {
    const std::filesystem::path& kept = exam_.options.drawn;
    const bool tf32 = mode_ == "tf32";
    DrawnCases drawn =
        kept.empty() || tf32 ? draw_hidden(exam_, pools_, tf32) : read_drawn(kept, exam_);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      for (std::size_t number = 0; number < drawn[i].size(); ++number) {
        markers_[i]->drawn(number, std::move(drawn[i][number]));
      }
    }
  }

  /// A worker for each problem: what one leaves behind in it, another does not find. Where workers
  /// take seconds to start, one for each thread.
  Solution& solution_for(std::size_t thread) {
    Seat& seat = seats_[thread];
    if (!seat.solution || (seat.used && !submission_.slow_to_start())) {
      seat.solution = submission_.solution();
    }
    seat.used = true;
    return *seat.solution;
  }

  Result not_implemented(const std::string& problem, const Solution& solution) const {
    Result result;
    result.status = Status::not_implemented;
    result.message = "no function prenorm_" + problem +
                     (solution.variant().empty() ? "" : "__" + solution.variant());
    if (submission_.kind() == SubmissionKind::python) {
      const std::string function = submission_.adapters().function(problem);
      result.message = function.empty() ? "the rubric names no Python function for this problem"
                                        : "no function " + function + " in adapters.py";
    }
    return result;
  }

  /// Why a problem cannot be asked in this worker: there is no function, or the submission cannot
  /// be loaded again as it was the first time.
  std::optional<Result> cannot_run(const std::string& problem, Solution& solution) const {
    if (!solved_.contains(problem)) return not_implemented(problem, solution);
    Result result;
    result.status = Status::load_error;
    if (!solution.load()) {
      result.status = solution.status();
      result.message = submission_.told(solution.message());
    } else if (solution.function_for(problem).empty() || solution.mode() != mode_ ||
               solution.on_device() != on_device_) {
      result.message = "loaded again, it has other functions, or another device or mode";
    } else {
      return std::nullopt;
    }
    return result;
  }

  bool cannot_be_asked(const std::string& problem, const Case& info) const {
    return submission_.kind() == SubmissionKind::python &&
           !submission_.adapters().cannot_ask(problem, info).empty();
  }

  /// Nobody knows what comes next; what is worth the most comes first.
  std::vector<std::size_t> order_of(const ExamPart& part) const {
    std::vector<std::size_t> order =
        shuffled(part.questions.size(), exam_.options.seed, part.problem + "/asked");
    std::ranges::stable_partition(
        order, [&](std::size_t number) { return part.questions[number].is_worth_most; });
    return order;
  }

  /// A problem's visible cases, or its hidden ones.
  void ask(std::size_t i, std::size_t thread, bool hidden) {
    const ExamPart& part = exam_.parts[i];
    Marker& marker = *markers_[i];
    Solution& solution = solution_for(thread);
    if (const std::optional<Result> why = cannot_run(part.problem, solution)) {
      for (std::size_t number = 0; number < part.questions.size(); ++number) {
        if (part.questions[number].hidden != hidden) continue;
        marker.add(number, *why);
        ++asked_;
      }
      return;
    }
    for (const std::size_t number : order_of(part)) {
      if (part.questions[number].hidden != hidden) continue;
      progress(part.problem, ++asked_, questions_);
      if (!marker.can_be_asked(number)) continue;
      if (cannot_be_asked(part.problem, marker.info(number))) {
        marker.leave_out(number);
        continue;
      }
      if (budgets_[i].spent_for(part.questions[number])) {
        marker.add(number, budgets_[i].not_run());
        continue;
      }
      if (seconds_since(begun_) > most_seconds_for(questions_)) {
        marker.add(number, too_late());
        continue;
      }
      marker.accept(number, pools_[thread].get("mistakes"));
      LoadedCase loaded = marker.load(number);
      submission_.adapters().give(part.problem, loaded);
      std::vector<Tensor> outputs;
      const bool shorter = budgets_[i].timed_out();
      solution.limit_calls(shorter ? share_after_timeout * call_limit_ : call_limit_);
      const auto start = Clock::now();
      Result result = replay(part.problem, part.file->fixture->signature(), loaded, solution,
                             {.twice = true, .alone = false}, &outputs);
      result.message = submission_.told(result.message);
      result.printed = hidden ? "" : kept(submission_.told(result.printed));
      if (shorter && result.status == Status::timeout) {
        result.message += ", a quarter of the limit, as another case of this problem had all of it";
      }
      budgets_[i].add(part.questions[number], result, seconds_since(start));
      std::string hint, snippet;
      if (!hidden && result.status != Status::passed) {
        const Signature& signature = part.file->fixture->signature();
        hint = axes_hint(part.problem, signature, loaded, result, solution, calls_[i]);
        if (submission_.kind() == SubmissionKind::python) {
          snippet =
              snippets_.of(part.problem, signature, loaded, *part.questions[number].stored, result);
        }
      }
      marker.add(number, loaded, std::move(result), std::move(outputs));
      if (!hidden) marker.tell(number, std::move(hint), std::move(snippet));
    }
  }

  /// What a case printed, unless the submission has printed much before; of hidden cases nothing is
  /// kept, for their inputs may be in it.
  std::string kept(const std::string& printed) {
    return (printed_ += printed.size()) <= most_printed ? printed : "";
  }

  Result too_late() const {
    Result result;
    result.status = Status::timeout;
    result.message = "not run: the submission has had its " +
                     duration(most_seconds_for(questions_)) + " for all cases";
    return result;
  }

  std::vector<std::size_t> largest_first() const {
    std::vector<std::size_t> order(exam_.parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::int64_t> work(order.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const ExamCase& question : exam_.parts[i].questions) {
        work[i] += question.stored->elements() + 1000;
      }
    }
    std::ranges::stable_sort(order, [&](auto a, auto b) { return work[a] > work[b]; });
    return order;
  }

  void progress(const std::string& what, std::size_t done, std::size_t total) const {
    if (exam_.options.progress) exam_.options.progress(what, done, total);
  }

  const Exam& exam_;
  const Submission& submission_;
  Snippets snippets_;
  double call_limit_ = 0;  // seconds
  // What it says of itself, the first time that it is loaded, holds for all of it.
  std::string mode_;
  bool on_device_ = false;
  std::set<std::string> solved_;  // problems
  unsigned askers_ = 1;           // threads
  std::vector<SolutionPool> pools_;
  std::vector<std::unique_ptr<Marker>> markers_;
  std::vector<Budget> budgets_;  // one for each problem
  std::vector<int> calls_;       // likewise: that may still be made with other axes
  std::vector<Seat> seats_;      // one a thread
  std::size_t questions_ = 0;
  Clock::time_point begun_;
  std::atomic<std::size_t> asked_ = 0, printed_ = 0;
};

}  // namespace

std::vector<Marks> mark_code(const Exam& exam, const Submission& submission, Result& whole) {
  Solution probe = submission.solution();
  whole.status = Status::passed;
  if (!probe.load()) {
    whole.status = probe.status();
    whole.message = submission.told(probe.message());
    return mark_alike(exam, submission.name(), whole.status, whole.message);
  }
  return Run(exam, submission, std::move(probe)).all();
}

}  // namespace prenorm::harness
