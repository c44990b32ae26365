#include "class/class_run.hpp"

#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "class/gradebook.hpp"
#include "class/roster.hpp"
#include "class/slurm.hpp"
#include "grade/budget.hpp"
#include "grade/grading_record.hpp"
#include "grade/submission.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace prenorm::harness {
namespace {

/// The submissions at these paths, by name. Throws UsageError where a path does not exist, and for
/// two of one name.
std::map<std::string, ClassSubmission> look_at(const std::vector<std::string>& paths) {
  std::map<std::string, ClassSubmission> all;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(submission_file(path), ignored))) {
      throw UsageError(path + ": no such file or folder");
    }
    const Snapshot files = look_at_files(path);
    const ClassSubmission submission{submission_name(path), path, files.digest, files.changed};
    const auto [place, is_new] = all.try_emplace(submission.name, submission);
    if (!is_new && place->second.path != path) {
      throw UsageError("two submissions are called '" + submission.name +
                       "': " + place->second.path + " and " + path);
    }
  }
  if (all.empty()) throw UsageError("no submission: name their files or folders");
  return all;
}

/// Whether one path is the other, or lies in it.
bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path from = fs::weakly_canonical(inner), to = fs::weakly_canonical(outer);
  return std::mismatch(to.begin(), to.end(), from.begin(), from.end()).first == to.end();
}

class ClassRun {
 public:
  ClassRun(const std::vector<std::string>& paths, GradeSettings settings,
           const ClassOptions& options, ClassEvents events)
      : options_(options),
        events_(std::move(events)),
        book_(options.gradebook, Gradebook::Access::create),
        settings_(settled(std::move(settings))),
        grader_(settings_, 1),
        exam_(grader_.exam_digest()),
        class_(look_at(paths)),
        work_(options.work.empty() ? options.gradebook + ".work" : options.work) {
    state_.submissions = class_.size();
    if (!grader_.note().empty()) events_.say(grader_.note());
    say_whether_sandbox_changed();
    say_who_looks_alike();
    if (options.roster.empty()) return;
    std::set<std::string> names;
    for (const auto& [name, submission] : class_) names.insert(name);
    for (const auto& [name, entry] : book_.entries()) names.insert(name);
    Roster roster = read_roster(options.roster, names);
    roster_ = std::move(roster.students);
    if (!roster.note.empty()) events_.say(options.roster + ": " + roster.note);
  }

  ClassResult run() {
    if (!is_work_folder(work_)) {
      throw UsageError(work_.string() +
                       ": has files that no grader of a class made; wanted a new or empty folder "
                       "for --work, which is removed at the end");
    }
    keep_apart();
    keep_course();
    if (!options_.roster.empty()) book_.set_roster(roster_);
    find_ungradeable();
    state_.todo = ungraded().size();
    take_up_or_clear();
    if (options_.regrade) want_regrade();
    std::vector<ClassSubmission> todo = ungraded();
    // Those that have just failed are left to the next run.
    std::erase_if(todo, [this](const auto& each) { return state_.failures.contains(each.name); });
    state_.todo = state_.finished() + todo.size();
    if (!todo.empty()) begin(todo);
    clear_work();
    book_.end_regrade();
    // Once more: its times are those of what was graded now.
    if (!options_.roster.empty()) book_.set_roster(roster_);
    return conclude();
  }

 private:
  /// Options that were not given keep the class's last value.
  GradeSettings settled(GradeSettings settings) const {
    const std::optional<Course> before = book_.course();
    if (before && settings.rubric.empty()) settings.rubric = before->rubric;
    if (before && !settings.seed) settings.seed = before->seed;
    if (before) {
      const Json record = parse_json(before->how);
      const std::string as_before = take_limits(settings, record, options_.typed);
      if (!as_before.empty()) events_.say("as before: " + as_before);
      const bool decides_anew = std::ranges::count(options_.typed, "--sandbox") > 0;
      if (!decides_anew) keep_sandbox(settings, decided_sandbox(record));
    }
    return settings;
  }

  void say_whether_sandbox_changed() const {
    const std::optional<Course> course = book_.course();
    if (!course) return;
    const std::string before = decided_sandbox(parse_json(course->how)), now = grader_.sandbox();
    if (before == now) return;
    events_.say("the class's sandbox is " + now + " from now on; earlier submissions had " +
                before);
  }

  /// An é may be one character, or an e and its mark.
  void say_who_looks_alike() const {
    std::map<std::string, std::string> seen;
    for (const auto& [name, submission] : class_) {
      const auto [other, is_new] = seen.try_emplace(to_nfc(name), name);
      if (is_new) continue;
      events_.say("two submissions' names print alike: " + in_ascii(other->second) + " and " +
                  in_ascii(name));
    }
  }

  /// No submission may be or contain a file with the hidden cases.
  void keep_apart() const {
    for (const auto& [name, submission] : class_) {
      const fs::path path = submission_file(submission.path);
      for (const fs::path& ours : {book_.file(), fs::path(book_.file().string() + "-wal"),
                                   fs::path(book_.file().string() + "-shm"),
                                   fs::path(book_.file().string() + ".lock"), work_}) {
        if (!is_within(ours, path)) continue;
        throw UsageError(submission.path + ": " + (is_within(path, ours) ? "is" : "holds") +
                         " the gradebook's own " + ours.filename().string() +
                         "; keep that apart from the submissions");
      }
    }
  }

  void keep_course() {
    const Rubric& rubric = grader_.exam().rubric;
    // A shipped rubric is stored by name, a file by its absolute path.
    const bool shipped = settings_.rubric == rubric.name;
    Json how = limits_record(settings_);
    how[class_sandbox] = grader_.sandbox();
    Course course{shipped ? rubric.name : fs::absolute(rubric.path).string(),
                  rubric.name,
                  rubric.title,
                  *settings_.seed,
                  exam_,
                  rubric.items,
                  to_line(how)};
    if (const std::size_t changed = book_.set_course(course); changed > 0) {
      events_.say(counted(changed, "submission") +
                  " scored anew: the rubric's points have changed");
    }
    for (const auto& [name, set] : book_.all_set_points()) {
      for (const SetPoints& points : set) {
        if (std::ranges::find(rubric.items, points.item, &RubricItem::name) != rubric.items.end()) {
          continue;
        }
        events_.say(name + ": points set by hand for '" + points.item +
                    "' count nowhere, as the rubric has no such item any more");
      }
    }
  }

  /// A regrading that was interrupted goes on: what it has graded is not graded again. Else all
  /// that are named are, also what an earlier run has left and is in the gradebook by now.
  void want_regrade() {
    std::vector<std::string> names, done;
    bool goes_on = false;
    for (const auto& [name, entry] : book_.entries()) {
      if (!class_.contains(name)) continue;
      if (entry.regrade == Regrade::no) names.push_back(name);
      if (entry.regrade == Regrade::done) done.push_back(name);
      goes_on = goes_on || entry.regrade == Regrade::wanted;
    }
    if (!goes_on) {
      names.insert(names.end(), done.begin(), done.end());
      state_.graded = state_.with_failures = 0;
      state_.failures.clear();
    }
    book_.want_regrade(names);
  }

  /// What could not be loaded or run here is tried again: a package may have been installed since,
  /// and another machine may have a device. So is what was not graded whole, with more time.
  /// Whether somebody has decided on each item: then it does not matter what was not run.
  static bool is_set_by_hand(const Grading& grading, const std::vector<SetPoints>& points) {
    return !grading.items.empty() && points.size() >= grading.items.size();
  }

  void find_ungradeable() {
    const auto set_points = book_.all_set_points();
    for (const auto& [name, entry] : book_.entries()) {
      if (!class_.contains(name) || entry.files.empty()) continue;
      const Grading grading = book_.outline(name);
      const bool has_more_time = budget_of(grader_.exam()) > grading.budget;
      const bool is_decided =
          set_points.contains(name) && is_set_by_hand(grading, set_points.at(name));
      if (grading.not_asked > 0 && has_more_time && !is_decided) ungradeable_.insert(name);
      if (set_points.contains(name)) continue;
      const bool is_python = grading.kind == harness::name(SubmissionKind::python);
      const bool may_change = is_python || grading.status == Status::skipped;
      if (may_change && !grading.gradeable()) ungradeable_.insert(name);
    }
  }

  std::vector<ClassSubmission> ungraded() const {
    const std::map<std::string, Entry> entries = book_.entries();
    std::vector<ClassSubmission> todo;
    for (const auto& [name, submission] : class_) {
      const auto found = entries.find(name);
      const bool graded = found != entries.end() && found->second.failure.empty() &&
                          found->second.regrade != Regrade::wanted &&
                          !ungradeable_.contains(name) && found->second.files == submission.files &&
                          found->second.exam == exam_;
      if (!graded) todo.push_back(submission);
    }
    return todo;
  }

  /// Takes what an interrupted run has left: results, and jobs of Slurm that still run.
  void take_up_or_clear() {
    if (const std::optional<Plan> plan = read_plan(work_)) {
      for (std::size_t i = 0; i < plan->submissions.size(); ++i) take(*plan, i);
      if (has_slurm_jobs(work_)) {
        if (options_.execute.slurm && plan->exam == exam_ && plan->settings == planned_settings()) {
          go_on(*plan);
        } else {
          cancel_slurm_jobs(work_, events(*plan));
        }
      }
    }
    clear_work();
  }

  void clear_work() const {
    if (const auto warning = remove_work_folder(work_)) events_.say(*warning);
  }

  /// Continues an earlier plan with those of its submissions that are still wanted.
  void go_on(const Plan& plan) {
    const std::vector<ClassSubmission> wanted = ungraded();
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < plan.submissions.size(); ++i) {
      const ClassSubmission& planned = plan.submissions[i];
      const auto found = std::ranges::find(wanted, planned.name, &ClassSubmission::name);
      const bool same = found != wanted.end() && found->files == planned.files;
      // A result that was taken is no longer here, even if the submission is wanted again.
      if (same && !has_result(work_, i)) numbers.push_back(i);
    }
    execute(plan, numbers);
  }

  /// Puts a result into the gradebook; returns why not where there is none that fits.
  std::string take(const Plan& plan, std::size_t number) {
    const std::optional<PlannedResult> result = read_result(work_, number);
    if (!result) return "left no result";
    // The plan may have submissions that this command does not name.
    const auto found = class_.find(plan.submissions[number].name);
    const ClassSubmission& submission =
        found == class_.end() ? plan.submissions[number] : found->second;
    if (result->exam != exam_) return "the rubric or the fixtures changed while it was graded";
    if (result->files != submission.files) return "was changed while it was graded";
    Grading grading;
    try {
      grading = grading_of(result->grading);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    grading.submission = submission.name;
    // The points may have changed since; what is asked has not.
    const std::vector<RubricItem>& items = grader_.exam().rubric.items;
    for (std::size_t i = 0; i < grading.items.size() && i < items.size(); ++i) {
      take_points(grading.items[i], items[i]);
    }
    book_.put({submission, exam_, limits_of(plan.settings)}, grading);
    ungradeable_.erase(submission.name);
    state_.failures.erase(submission.name);  // it was given up before
    if (found != class_.end()) ++state_.graded;
    const Summary summary = summarize(grading.results(false), true);
    state_.with_failures += summary.failed > 0 ? 1 : 0;
    take_result(work_, number);
    events_.done(state_, submission.name + ": " +
                             (grading.gradeable() ? fmt::format("{:.2f} of {} points",
                                                                grading.earned(), grading.points())
                                                  : "not gradeable: " + grading.message) +
                             (grading.not_asked > 0 ? "; " + grading.not_whole() : ""));
    return "";
  }

  void fail(const ClassSubmission& submission, const std::string& why) {
    const Entry entry{submission, exam_, limits_of(planned_settings()), printable(why)};
    book_.put_failure(entry);
    state_.failures[submission.name] = entry.failure;
    events_.done(state_, submission.name + " is NOT graded: " + entry.failure);
  }

  Json planned_settings() const {
    GradeSettings settings = settings_;
    for (const SelectedFixture& file : grader_.exam().files) settings.files.push_back(file.path);
    Json record = settings_record(settings);
    record[class_sandbox] = grader_.sandbox();
    return record;
  }

  /// The limits of a plan in words.
  static std::string limits_of(const Json& record) {
    GradeSettings settings = settings_of(record);
    settings.sandbox = decided_sandbox(record);
    return limits_text(settings);
  }

  /// Says what the interpreter lacks, while there is still time to install it.
  void say_what_is_missing(const std::vector<ClassSubmission>& todo) const {
    std::vector<std::optional<PythonImports>> found(todo.size());
    in_parallel(todo.size(), options_.execute.jobs,
                [&](std::size_t i, std::size_t) { found[i] = grader_.imports_of(todo[i].path); });
    ClassImports imports;
    for (std::size_t i = 0; i < todo.size(); ++i) {
      if (found[i]) imports.emplace(todo[i].name, *std::move(found[i]));
    }
    for (const std::string& line : missing_packages(imports, settings_.python)) {
      events_.say(line);
    }
  }

  void begin(const std::vector<ClassSubmission>& todo) {
    say_what_is_missing(todo);
    const Plan plan{planned_settings(), exam_, fs::current_path().string(), todo};
    write_plan(work_, plan);
    if (todo.size() > 1 && !settings_.no_hidden) draw_hidden_cases();
    std::vector<std::size_t> numbers(todo.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    execute(plan, numbers);
  }

  void draw_hidden_cases() {
    const fs::path part = work_ / "hidden.part";
    fs::create_directories(part);
    grader_.draw_into(part, options_.execute.jobs);
    fs::rename(part, work_ / "hidden");
  }

  /// The plan must outlive them.
  Events events(const Plan& plan) {
    Events events;
    events.done = [&](std::size_t number) {
      const std::string why = take(plan, number);
      if (!why.empty()) fail(plan.submissions[number], why);
    };
    events.failed = [&](std::size_t number, const std::string& why) {
      fail(plan.submissions[number], why);
    };
    events.waiting = [this] { events_.progress(state_); };
    events.say = events_.say;
    return events;
  }

  void execute(const Plan& plan, const std::vector<std::size_t>& numbers) {
    state_.begun = std::chrono::steady_clock::now();
    state_.at_begin = state_.finished();
    const Events events = this->events(plan);
    events_.progress(state_);
    if (options_.execute.slurm) {
      execute_on_slurm(work_, numbers, options_.execute, events);
    } else {
      execute_locally(work_, numbers, options_.execute, work_ / "tmp", events);
    }
  }

  ClassResult conclude() const {
    say_who_is_new();
    ClassResult result{state_};
    for (const auto& [name, entry] : book_.entries()) {
      if (!class_.contains(name) || entry.files.empty()) continue;
      const Grading grading = book_.outline(name);
      if (grading.not_asked == 0 || is_set_by_hand(grading, book_.set_points(name))) continue;
      result.not_whole.push_back(name);
      result.larger_budget = std::max(result.larger_budget, grading.larger_budget());
    }
    for (const auto& [name, statuses] : book_.statuses()) {
      if (!class_.contains(name)) continue;
      for (const auto& [status, count] : statuses) {
        const bool passed = status == Status::passed, skipped = status == Status::skipped;
        (passed ? result.passed : skipped ? result.skipped : result.failed) = true;
      }
    }
    return result;
  }

  /// The name that a platform's export gives somebody depends on what they have handed in, so a
  /// roster should be stored again then.
  void say_who_is_new() const {
    std::set<std::string> names;
    for (const Student& student : book_.roster()) names.insert(student.submission);
    std::vector<std::string> others;
    for (const auto& [name, submission] : class_) {
      if (!names.contains(name)) others.push_back(name);
    }
    if (names.empty() || others.empty()) return;
    events_.say("not in the roster: " + joined(others) +
                "; store it again if it is older: prenorm gradebook " +
                shell_word(options_.gradebook) + " roster FILE");
  }

  const ClassOptions& options_;
  const ClassEvents events_;
  Gradebook book_;
  GradeSettings settings_;
  Grader grader_;
  std::string exam_;
  std::map<std::string, ClassSubmission> class_;
  std::set<std::string> ungradeable_;  // by their last grading
  std::vector<Student> roster_;
  fs::path work_;
  ClassState state_;
};

}  // namespace

ClassResult grade_class(const std::vector<std::string>& submissions, GradeSettings settings,
                        const ClassOptions& options, ClassEvents events) {
  const Selection& selection = settings.selection;
  if (!selection.problems.empty() || !selection.cases.empty() || !selection.dtypes.empty()) {
    throw UsageError(
        "a gradebook holds whole gradings: --problem, --case and --dtype are for one submission "
        "without --gradebook");
  }
  if (options.execute.slurm) {
    check_slurm_options(options.execute.slurm_options);
    Slurm("/dev/null").require();  // before there is a gradebook
  }
  return ClassRun(submissions, std::move(settings), options, std::move(events)).run();
}

}  // namespace prenorm::harness
