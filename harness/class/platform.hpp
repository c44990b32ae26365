// The tables of students that Canvas, Moodle and Gradescope export, recognized by their own heads.
#pragma once

#include "report/csv.hpp"

#include <optional>
#include <set>

namespace prenorm::harness {

/// What a row of the gradebook is called: to be found among a platform's students.
struct CalledAs {
  std::string submission;
  std::string id, email;  // of the roster; may be empty
  bool handed_in = true;  // false: the roster alone has it
  std::string name = {};  // of the roster; may be empty
};

struct PlatformStudent {
  std::size_t row = 0;  // of the table
  std::string name, id, email;
  /// What identifies them: a text for each such column of the table, and after each what stands
  /// before an @ in it; empty where the cell is.
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

/// Which entry each student is, if one is.
struct Matches {
  std::vector<std::optional<std::size_t>> entries;  // of each student
  std::size_t key = 0;                              // the one that finds the most; of numbers: none
};

/// Who is who. First by the roster's id and e-mail address; who is not found so, by the
/// submission's name; at last by a part: the name of a file without its ending, the number in that
/// of a download, what stands before an @. Each time by the column that finds the most, then by the
/// others. Capitals do not count, nor how accents are written. Where two would be one, neither is;
/// nor is who handed nothing in by one entry, and may be another one that did.
///
/// Gradescope's students who hand in together have the same number of a download: of the entries
/// with that submission, each is the one with their name, or else any.
Matches match(const PlatformTable& table, const std::vector<CalledAs>& entries);

/// The names that these submissions have for each student; one that is not there has the name that
/// it would have by the column that finds most of the others, or by one that tells it from them.
std::vector<std::string> submissions_of(const PlatformTable& table,
                                        const std::set<std::string>& submissions);

/// The columns of a table that a platform reads grades from: Canvas's assignments, Moodle's and
/// Gradescope's points.
std::vector<std::string> grade_columns(const std::string& platform, const CsvRow& head);
/// Whether grades may be written there: of Canvas an assignment's; of the others any that does not
/// say who somebody is, or what they handed in.
bool takes_grades(const std::string& platform, const std::string& column);

}  // namespace prenorm::harness
