// The tables of students that Canvas, Moodle and Gradescope export, recognized by their own heads.
#pragma once

#include "class/csv.hpp"

#include <optional>
#include <set>

namespace prenorm::harness {

/// What a submission is called, or a student: as it can be compared with a platform's columns.
struct CalledAs {
  explicit CalledAs(const std::string& name);

  std::string name, stem;  // in small letters; without the ending of a file
  std::string number;      // that platforms put into the names of downloads; may be empty
};

struct PlatformStudent {
  std::size_t row = 0;  // of the table
  std::string name, id, email;
  /// What identifies them: a text for each such column of the table, and what stands before an @ in
  /// it; empty where the cell is.
  std::vector<std::string> keys;
  std::vector<std::string> small;  // the same in small letters
  std::string number;              // by which the platform names what one downloads; may be empty
  std::string handed_in;           // the time, as it is written; may be empty

  /// The key that is called so; keys.size() where only the number is. Nothing: somebody else.
  std::optional<std::size_t> key_of(const CalledAs& called) const;
};

struct PlatformTable {
  std::string platform;  // "Canvas"
  std::vector<PlatformStudent> students;
  std::optional<std::size_t> points_row;  // Canvas's "Points Possible"
};

/// Nothing where the head is of none of these. Throws std::invalid_argument, which names the line,
/// for a student whom nothing identifies.
std::optional<PlatformTable> platform_table(const std::vector<CsvRow>& rows);

/// Which entry each student is, if one is.
struct Matches {
  std::vector<std::optional<std::size_t>> entries;  // of each student
  std::size_t key = 0;                              // the one that finds the most
};

/// Who is who, by what each entry is called: by the column that finds the most, then by the others.
/// Where two would be one, neither is.
Matches match(const PlatformTable& table, const std::vector<std::vector<CalledAs>>& entries);

/// The names that these submissions have for each student; one that is not there has the name that
/// it would have by the column that finds most of the others.
std::vector<std::string> submissions_of(const PlatformTable& table,
                                        const std::set<std::string>& submissions);

/// The columns of a table that a platform reads grades from: Canvas's assignments, Moodle's and
/// Gradescope's points.
std::vector<std::string> grade_columns(const std::string& platform, const CsvRow& head);

}  // namespace prenorm::harness
