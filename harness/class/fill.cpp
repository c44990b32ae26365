#include "class/roster.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>

namespace prenorm::harness {
namespace {

/// The column that grades go into.
std::size_t column_to_fill(const std::string& platform, const CsvRow& head,
                           const std::string& wanted) {
  const std::vector<std::string> columns = grade_columns(platform, head);
  const std::string there = columns.empty() ? "" : ": " + printable(joined(columns));
  if (wanted.empty() && columns.size() != 1) {
    refuse_line(head.line, fmt::format("{} for grades; --column NAME says which is meant{}",
                                       counted(columns.size(), "column"), there));
  }
  const std::string& name = wanted.empty() ? columns.front() : wanted;
  const auto count = std::ranges::count(head.cells, name);
  if (count == 1 && takes_grades(platform, name)) {
    return static_cast<std::size_t>(std::ranges::find(head.cells, name) - head.cells.begin());
  }
  const std::string what = count == 0   ? "no column '"
                           : count == 1 ? "no grades go into the column '"
                                        : "several columns '";
  refuse_line(head.line, what + printable(name) + "'" +
                             (count == 0 ? did_you_mean(name, head.cells) : "") +
                             (columns.empty() ? "" : "; those for grades are" + there.substr(1)));
}

/// Nothing where the text is no number; 9,5 is one.
std::optional<double> number_in(std::string text) {
  std::ranges::replace(text, ',', '.');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole =
      end != text.c_str() && text.find_first_not_of(" \t", end - text.c_str()) == text.npos;
  return whole ? std::optional(value) : std::nullopt;
}

/// Whether a cell says something that is no grade, like Canvas's EX for who is excused.
bool is_remark(const std::string& cell) {
  return cell.find_first_not_of("- \t") != cell.npos && !number_in(cell);
}

std::string who(const PlatformStudent& student) {
  return student.name + (student.id.empty() ? "" : " (" + student.id + ")");
}

/// The points that a column is of, as they are written; empty where nothing says it.
std::string full_marks(const PlatformTable& students, const std::vector<CsvRow>& rows,
                       std::size_t column) {
  if (students.points_row) {
    const std::vector<std::string>& cells = rows[*students.points_row].cells;
    return column < cells.size() ? cells[column] : "";
  }
  return students.students.empty() ? "" : students.students.front().full_marks;
}

std::string who(const OverviewRow& row) {
  return row.name.empty() ? row.submission : row.name + " (" + row.submission + ")";
}

}  // namespace

Filled fill_platform_export(const std::string& csv, const std::string& column,
                            const Overview& overview) {
  CsvTable table = csv_table(csv);
  if (table.rows.empty())
    refuse_line(1, "is empty; wanted an export of Canvas, Moodle or Gradescope");
  const std::optional<PlatformTable> students = platform_table(table.rows);
  if (!students) {
    refuse_line(table.rows[0].line,
                "is not an export of Canvas, Moodle or Gradescope; the columns are " +
                    printable(joined(table.rows[0].cells)));
  }
  const std::size_t at = column_to_fill(students->platform, table.rows[0], column);
  const Matches matches = match(*students, overview.rows);
  Filled made{students->platform, table.rows[0].cells[at], "", 0, {}, {}, {}, {}, ""};
  std::vector<bool> found(overview.rows.size());
  for (std::size_t i = 0; i < students->students.size(); ++i) {
    const PlatformStudent& student = students->students[i];
    if (!matches.entries[i]) {
      made.unknown.push_back(who(student));
      continue;
    }
    const OverviewRow& row = overview.rows[*matches.entries[i]];
    found[*matches.entries[i]] = true;
    if (!has_total(row)) {
      made.ungraded.push_back(who(row));
      continue;
    }
    std::vector<std::string>& cells = table.rows[student.row].cells;
    if (cells.size() <= at) cells.resize(at + 1);
    if (row.absent && is_remark(cells[at])) {
      made.excused.push_back(who(row) + ": " + printable(cells[at], 40));
      continue;
    }
    cells[at] = csv_number(row.total);
    ++made.grades;
  }
  for (std::size_t k = 0; k < overview.rows.size(); ++k) {
    if (!found[k]) made.missing.push_back(who(overview.rows[k]));
  }
  const std::string points = full_marks(*students, table.rows, at);
  if (const auto number = number_in(points); number && *number != overview.points) {
    made.note = fmt::format("the column is of {} points, the rubric of {}", printable(points, 20),
                            points_text(overview.points));
  }
  made.text = csv_text(table);
  return made;
}

}  // namespace prenorm::harness
