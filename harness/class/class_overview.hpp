// A class at a glance: what tables, exports and pages of a gradebook are made of. Plain data.
#pragma once

#include "class/gradebook.hpp"

#include <functional>

namespace prenorm::harness {

/// One student's points for one item of the rubric.
struct OverviewPoints {
  double earned = 0;         // as it counts
  bool set_by_hand = false;  // then `graded` is what grading gave, and `why` the reason
  double graded = 0;
  std::string why;
};

/// One student, or one submission that no roster names.
struct OverviewRow {
  std::string submission;       // name of the file or folder; of the roster where nothing came
  std::string name, id, email;  // of the roster; empty without one
  bool graded = false;          // false: nothing handed in, or it could not be graded
  bool counted = false;         // graded and gradeable: the points count
  std::vector<OverviewPoints> points;  // an entry for each of the overview's items
  double total = 0;
  std::int64_t passed = 0, failed = 0, skipped = 0;  // cases
  /// What a teacher should look at, in words: "COMPILE_ERROR", "SANDBOX_VIOLATION", "nothing handed
  /// in", "not gradeable", "not graded: ...", "forbidden calls", "graded by an earlier rubric",
  /// "set by hand", "graded with other limits", "to be graded again"., "changed since the roster
  /// was stored", where that says when they handed in. Most important first.
  std::vector<std::string> flags;
  std::optional<HandedIn> handed_in;  // of graded ones, where it is known
  std::string page;                   // a link to their report; empty: there is none
};

/// Whether they are in the roster and nothing came of them.
bool handed_nothing_in(const OverviewRow& row);
/// Whether the total says something: not where the grader could not grade, unless all points were
/// set by hand.
bool has_total(const OverviewRow& row);

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
};

struct Overview {
  std::string gradebook;  // the file's name
  std::string rubric, title;
  std::vector<OverviewItem> items;
  double points = 0;                      // of all items
  std::vector<OverviewRow> rows;          // the roster's order, then others by name
  std::vector<OverviewMistake> mistakes;  // the commonest first
  std::vector<std::int64_t>
      histogram;                // of totals: ten bins from 0 to `points`, full marks in the last
  double mean = 0, median = 0;  // of totals that count
  std::optional<std::int64_t> deadline;  // then tables have a column of days late
};

/// Begun days after the deadline; nothing where there is none, or no time is known.
std::optional<std::int64_t> days_late(const Overview& overview, const OverviewRow& row);

Overview overview(const Gradebook& book);

/// The table: student, points an item, total, flags. `width` of the terminal; 0: any.
std::string class_table(const Overview& overview, bool colour, std::size_t width);
/// Points by item, commonest mistakes, a histogram; as text.
std::string class_summary(const Overview& overview, bool colour, std::size_t width);
/// RFC 4180; texts that a spreadsheet would take for formulas are made harmless.
std::string class_csv(const Overview& overview);
/// Everything but times and paths, hidden cases too: the same gradings give the same bytes. It is
/// written piece by piece: a large class has hundreds of megabytes.
void class_json(const Overview& overview, const Gradebook& book,
                const std::function<void(const std::string&)>& write);
/// One page that needs nothing beside itself: the table, the summary, with pictures.
std::string class_html(const Overview& overview);

}  // namespace prenorm::harness
