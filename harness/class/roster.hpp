// A course's students: rosters in CSV, and the tables that Canvas, Moodle and Gradescope export.
#pragma once

#include "class/class_overview.hpp"
#include "report/csv.hpp"

#include <optional>
#include <set>

namespace prenorm::harness {

struct Roster {
  std::vector<Student> students;
  /// "12 times not understood, as 'X'": of a platform's, which may be in any language; empty: none.
  std::string note;
};

/// Reads a table of the teacher's own, or one that Canvas, Moodle or Gradescope exports.
///
/// The teacher's own has columns `submission` (the name of a file or folder), `name`, `id`, `email`
/// and `submitted` (a time), in any order and case; also first_name and last_name, student_id,
/// e-mail. Without a column `submission`, the id is used. Students who work together have the same
/// one. A platform's table identifies a student by several columns: the one that is the name of one
/// of these submissions is used (see match).
///
/// Texts are put on one line. A letter with an accent may be one character or two (NFC, NFD).
/// Throws UsageError, which names the file and the line: no such column, a row with more or fewer
/// cells than the head, an empty submission, a duplicate student, wrong quotes, invalid UTF-8, an
/// invalid time; and if there are submissions and none of them is a student's.
Roster read_roster(const fs::path& file, const std::set<std::string>& submissions);

// ---- The tables of learning platforms, recognized by their heads

struct PlatformStudent {
  std::size_t row = 0;  // of the table
  std::string name, id, email;
  /// What identifies them: for each such column its text, then the part of that before an @; empty
  /// where the cell is.
  std::vector<std::string> keys;
  std::vector<std::string> small;  // the same as entries are compared with it
  std::string number;              // by which the platform names what one downloads; may be empty
  std::string handed_in;           // the time, as it is written; may be empty
  std::string full_marks;          // the same of the points that there are
};

struct PlatformTable {
  std::string platform;  // "Canvas"
  std::vector<PlatformStudent> students;
  std::optional<std::size_t> points_row;  // Canvas's "Points Possible"
};

/// Nothing where the head is of none of these. Rows of empty cells are none. Throws
/// std::invalid_argument, which names the line, for a student whom nothing identifies.
std::optional<PlatformTable> platform_table(const std::vector<CsvRow>& rows);

/// Which entry of the gradebook each student is, if one is.
struct Matches {
  std::vector<std::optional<std::size_t>> entries;  // of each student
  std::size_t key = 0;                              // the one that finds the most; of numbers: none
};

/// Matches students to entries: first by the roster's id and e-mail address; then by the
/// submission's name; then by a part: the name of a file without its ending, the number in the name
/// of a download, the text before an @. Each time by the column that finds the most, then by the
/// others. Case and the spelling of accents do not count. Where two match one, neither is matched;
/// nor is a student whose entry handed nothing in, if another entry that did may be theirs.
///
/// Gradescope gives students who hand in together the same number of a download: of the entries
/// with that submission, each gets the one with their name, or else any.
Matches match(const PlatformTable& table, const std::vector<OverviewRow>& entries);

/// The name of each student's submission. A student without one gets the name that it would have by
/// the column that finds most of the others, or by one that distinguishes it from them.
std::vector<std::string> submissions_of(const PlatformTable& table,
                                        const std::set<std::string>& submissions);

/// The columns of a table that a platform reads grades from: Canvas's assignments, Moodle's and
/// Gradescope's points.
std::vector<std::string> grade_columns(const std::string& platform, const CsvRow& head);
/// Whether grades may be written there: Canvas: an assignment's column; others: any column that
/// does not identify a student or describe what they handed in.
bool takes_grades(const std::string& platform, const std::string& column);

// ---- Grades for a learning platform, written into a copy of the table that it exports

struct Filled {
  std::string platform, column;  // "Canvas", "Assignment 1 (12345)"
  std::string text;              // the table with the totals of the overview in that column
  std::size_t grades = 0;        // that were written
  /// Students whose cell stays as it is: not graded yet; nothing handed in and a word like EX in
  /// the cell; in the table, with no entry or several in the gradebook; only in the gradebook.
  std::vector<std::string> ungraded, excused, unknown, missing;
  std::string note;  // on the points; empty: there is nothing to say

  bool complete() const {
    return ungraded.empty() && excused.empty() && unknown.empty() && missing.empty();
  }
};

/// Students are found by what identifies them, never by the order of rows. `column` may be empty
/// where only one can be meant. Throws std::invalid_argument for a text that is no such table, and
/// for another column.
Filled fill_platform_export(const std::string& csv, const std::string& column,
                            const Overview& overview);

}  // namespace prenorm::harness
