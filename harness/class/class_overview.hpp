// An overview of a class: the data that tables, exports and pages of a gradebook show.
#pragma once

#include "base/json.hpp"
#include "class/gradebook.hpp"

#include <functional>

namespace prenorm::harness {

/// One student's points for one item of the rubric.
struct OverviewPoints {
  double earned = 0;         // the points that count
  bool set_by_hand = false;  // then `graded` has the graded points, and `why` the reason
  double graded = 0;
  std::string why;
};

/// One student, or one submission that no roster names.
/// The roster's fields are empty without one. `handed_in`: by the roster, or else when the
/// files that were graded last changed; nothing where nothing was handed in.
struct OverviewRow : Student {
  bool absent = false;                      // of the roster, and nothing was handed in
  bool time_of_files = false;               // `handed_in`: whoever handed it in may have set it
  bool graded = false;                      // false: absent, or it could not be graded
  bool counted = false;                     // gradeable and graded whole: the points count
  std::int64_t not_asked = 0;               // cases that were not run; its points are those so far
  std::vector<OverviewPoints> points = {};  // one per item of the overview
  double total = 0;
  std::int64_t passed = 0, failed = 0, skipped = 0;  // cases
  /// What a teacher should look at, for people to read: "COMPILE_ERROR", "SANDBOX_VIOLATION",
  /// "nothing handed in", "not gradeable", "not graded whole: 321 cases were not run",
  /// "not graded: ...", "forbidden calls", "graded by an
  /// earlier rubric", "graded with other limits", "to be graded again", "changed since the roster
  /// was stored" (where that says when they handed in), "set by hand". Most important first.
  std::vector<std::string> flags = {};
  std::string page = {};  // a link to their report; empty: there is none

  /// The name in the roster, or else that of the submission.
  const std::string& called() const { return name.empty() ? submission : name; }
  /// All of its points, or those so far.
  bool has_points() const { return counted || not_asked > 0; }
  /// There is nothing in it that could have points, until somebody decides.
  bool not_gradeable() const { return graded && !has_points(); }
};

/// Whether there is a total: not where the submission could not be graded, unless all points were
/// set by hand.
bool has_total(const OverviewRow& row);
/// Whether that is no grade: it was not graded whole, and not all points were set by hand.
bool lacks_cases(const OverviewRow& row);

struct OverviewItem {
  std::string name;
  std::vector<std::string> problems;
  double points = 0;
  // Of the rows that count: points earned by all together, rows with full marks, rows.
  double earned = 0;
  std::int64_t full = 0, rows = 0;

  /// What the class earned of what it could earn, from 0 to 1; 0 where nobody counts.
  double share() const {
    const double whole = points * static_cast<double>(rows);
    return whole > 0 ? earned / whole : 0;
  }
};

struct OverviewMistake {
  std::string problem, mistake;  // "rope", "halves_instead_of_neighbours"
  std::int64_t submissions = 0;
  std::string unnamed = {};  // what is wrong where it is no known mistake
  double lost = 0;           // points of its item, by all who made it
  std::vector<std::string> who = {};
};
PRENORM_JSON(OverviewMistake, problem, mistake, submissions, lost)

/// A group of an item that some lose by one case alone.
struct OverviewDecision {
  std::string item, group, case_name;
  std::int64_t submissions = 0, losing = 0;  // that lose it by this case alone; that lose it
};
PRENORM_JSON(OverviewDecision, item, group, case_name, submissions, losing)

struct Overview {
  std::string gradebook;  // the file's name
  std::string rubric, title;
  std::vector<OverviewItem> items;
  double points = 0;                      // of all items
  std::string go_on;                      // the command that grades whole what is not; or empty
  std::vector<OverviewRow> rows;          // the roster's order, then others by name
  std::vector<OverviewMistake> mistakes;  // that which costs most points first
  std::vector<OverviewMistake> unnamed;   // likewise: failures that no known mistake explains
  /// Where one case decides about several submissions, most of them first: a rubric can ask for
  /// such a case in a group of its own.
  std::vector<OverviewDecision> decisions;
  std::vector<std::int64_t>
      histogram;                // of totals: ten bins from 0 to `points`, full marks in the last
  double mean = 0, median = 0;  // of totals that count
  std::optional<std::int64_t> deadline;  // then tables have a column of days late
};

/// Begun days after the deadline; nothing without a deadline or a known time.
std::optional<std::int64_t> days_late(const Overview& overview, const OverviewRow& row);
/// "2", or "2 (by its files)" where no roster says the time; empty for nothing.
std::string late_text(const Overview& overview, const OverviewRow& row);

Overview overview(const Gradebook& book);

/// "softmax, float32: 6 of 8 submissions that lose this group pass all but empty_axis".
std::string decision_text(const OverviewDecision& decision);

/// The table: student, points per item, total, flags. `width` of the terminal; 0: any.
std::string class_table(const Overview& overview, bool colour, std::size_t width);
/// Points by item, commonest mistakes, a histogram; as text.
std::string class_summary(const Overview& overview, bool colour, std::size_t width);
/// RFC 4180; texts that a spreadsheet would take for formulas are made harmless.
std::string class_csv(const Overview& overview);
/// All but times and paths, hidden cases included: the same gradings give the same bytes. It is
/// written piece by piece, as a large class has hundreds of megabytes.
void class_json(const Overview& overview, const Gradebook& book,
                const std::function<void(const std::string&)>& write);
/// One self-contained page: the table, and the summary with pictures.
std::string class_html(const Overview& overview);

}  // namespace prenorm::harness
