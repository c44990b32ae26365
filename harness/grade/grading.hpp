// Grading: one submission by one rubric. The result is plain data; reports are made of it.
#pragma once

#include "explain/collector.hpp"
#include "fixture/selection.hpp"
#include "fixture/verdict.hpp"
#include "grade/rubric.hpp"
#include "grade/submission.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace prenorm::harness {

/// The version of the rules by which cases give points. 1, before version 0.2: groups of visible
/// cases beside groups of hidden ones. 2: a group is its visible cases and their redraws. 3: a
/// second call is judged like the first one; only groups that ask for it want the same bits.
inline constexpr int scoring_rules = 3;

struct GradedCase {
  /// What a hidden case gave, for the instructor.
  struct Secret {
    Result result;
    std::string from;    // the stored case that it was drawn from
    std::string shapes;  // "x[2, 8] weight[8]; eps=1e-05 -> y[2, 8]"
  };

  Result result;  // its `solution` is the submission's name; of a hidden one only the status
  bool hidden = false;
  std::vector<std::string> groups;  // that count it, in the rubric's order
  double times_tolerance = 0;       // of one that passed: its error; 0: within it
  FailureText told;                 // of a visible one: its sizes, numbers, and what it is about
  std::optional<Secret> secret;     // of a hidden one

  bool is_in(const std::string& group) const { return std::ranges::count(groups, group) > 0; }
};

struct GradedGroup {
  std::string name;
  bool hidden = false;  // redraws of its cases count too
  std::int64_t share = 1;
  std::int64_t passed = 0, total = 0;                // visible cases
  std::int64_t hidden_passed = 0, hidden_total = 0;  // their redraws
  bool earned = false;                               // all passed, and there was one
  /// The one case that it is lost by: all others, but for redraws of this one, passed. Else empty.
  std::string lost_by = {};

  std::int64_t asked() const { return total + hidden_total; }
};

struct GradedItem {
  std::string name;
  std::vector<std::string> problems;
  double points = 0, earned = 0;
  std::vector<GradedGroup> groups;
  std::vector<GradedCase> cases;
  std::vector<Diagnosis> diagnoses;      // what explains failing cases of its problems
  std::vector<Property> properties;      // of what no mistake explains
  std::vector<std::string> undiagnosed;  // problems with wrong numbers that no mistake explains
  std::vector<Clue> clues = {};          // to what no mistake explains

  double lost() const { return points - earned; }
};

/// What a kernel does to memory in one call, counted by the emulator: advice, without points. One
/// kernel, or several launches of it that are alike.
struct KernelProfile {
  std::string kernel;
  std::uint64_t launches = 0;
  std::uint64_t requests = 0, sectors = 0, ideal_sectors = 0;  // of global memory
  std::uint64_t shared_requests = 0, wavefronts = 0, ideal_wavefronts = 0;
  std::string worst;  // the line that wastes most: "solution.cu:28: 32 lanes read ..."; or empty

  std::uint64_t moved_bytes() const { return 32 * sectors; }
};

/// The kernels of one call.
struct CallProfile {
  std::string problem, case_name;
  std::uint64_t least_bytes = 0;  // inputs and outputs, each once
  std::vector<KernelProfile> kernels;

  std::uint64_t moved_bytes() const;
};

/// `counts` is what the submission's library says it has counted: nobody vouches for it. Empty
/// where it cannot be understood.
std::vector<KernelProfile> kernel_profiles(const std::string& counts);
/// Of a case's inputs and outputs, each once.
std::uint64_t bytes_of_tensors(const Case& info);

struct Grading {
  std::string submission, kind;  // its name; name(SubmissionKind), or what else it is
  bool emulated = false;         // its kernels ran in the emulator: no device was asked
  std::string rubric, title;
  std::string sandbox;             // "bubblewrap"
  std::vector<std::string> notes;  // of the submission; what the rubric forbids and was found
  std::set<std::string> forbidden_calls;  // problems that make calls which it forbids; "": no one's
  std::vector<std::string> imports;
  std::uint64_t seed = 0;          // secret: for the instructor's report only
  Status status = Status::passed;  // of the whole: COMPILE_ERROR, LOAD_ERROR, ...
  std::string message;
  bool unreadable = false;  // some of it failed because Python cannot parse a file
  std::string files;        // a digest of what was graded; empty where nothing could be copied
  std::vector<GradedItem> items;
  std::vector<CallProfile> profiles;  // of emulated kernels: advice
  double seconds = 0;
  bool decided = false;  // somebody has set points by hand
  /// Cases that were not run, as the time for all was over: the points are not the whole grade.
  std::int64_t not_asked = 0;
  double budget = 0;  // seconds for all cases

  /// "CMake project", "CUDA source, emulated".
  std::string kind_text() const { return kind + (emulated ? ", emulated" : ""); }
  /// False: nothing of it could be loaded, which says nothing about the work. It has no points
  /// until somebody decides. (A library that cannot be loaded was built by whoever hands it in.)
  bool gradeable() const;
  /// "not graded whole: 321 cases were not run"; empty where all were.
  std::string not_whole() const;
  /// With which the next grading may be whole.
  double larger_budget() const { return 4 * budget; }
  double points() const;
  double earned() const;
  /// Every case's result, visible and hidden, in the order of items. A hidden one without anything
  /// but its status where `secret` is false: no message, no values, no time, no command.
  std::vector<Result> results(bool secret) const;
};

struct GradeOptions {
  std::uint64_t seed = 0;
  bool hidden = true;                         // false: leave out hidden cases
  Selection selection{.only_shipped = true};  // problems, cases, dtypes to look at; fixtures
  /// Of code, only the first problem with wrong numbers is explained.
  bool quick = false;
  unsigned jobs = 1;
  std::uint64_t emulator_limit = 0;  // elements: above them the emulator may leave a case out
  double budget = 0;  // seconds for all cases of one submission; 0: the usual ones (budget.hpp)
  /// A folder with this exam's hidden cases (grade/exam.cpp); empty: they are drawn anew.
  fs::path drawn;
  std::string repeat;  // "prenorm grade DIR --rubric NAME": what a line that repeats begins with
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress =
      [](const std::string&, std::size_t, std::size_t) {};
};

struct Exam;  // grade/exam.hpp: what is asked

/// Runs and judges; a submission that cannot be run gets its status in every case.
Grading grade(const Submission& submission, const Exam& exam);

/// The same where what was handed in is nothing that can be made ready: no code, too many files.
Grading grade_unusable(const std::string& submission, const std::string& why, const Exam& exam);

/// Gives the item the points and shares of `asked`, which asks the same.
void take_points(GradedItem& item, const RubricItem& asked);

/// The reports. `secret`: the instructor's, with the seed and what hidden cases gave.
std::string grade_table(const Grading& grading, bool colour, std::size_t width,
                        bool verbose = false);
std::string grade_json(const Grading& grading, bool secret);
std::string grade_junit(const Grading& grading);
std::string grade_html(const Grading& grading);
/// A summary in GitHub's Markdown.
std::string grade_markdown(const Grading& grading);
/// Commands to the runner of GitHub Actions, a line each: one error per failing problem, at
/// most 10.
std::string grade_annotations(const Grading& grading);
/// Gradescope's results.json: one test per group. `hidden_visibility`: that of hidden groups';
/// where it is not "visible", nothing visible but the score tells of hidden cases, and one test
/// more, worth nothing, has the sums and the notes.
std::string grade_gradescope(const Grading& grading, const std::string& hidden_visibility);

}  // namespace prenorm::harness
