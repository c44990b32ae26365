#include "class/roster.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/times.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <ranges>
#include <stdexcept>

namespace prenorm::harness {
namespace {

enum Meaning { submission, name, first_name, last_name, id, email, submitted, meanings };

/// The words for each.
const std::array<std::vector<std::string_view>, meanings> spellings{
    {{"submission", "folder", "file"},
     {"name", "full_name", "student", "student_name"},
     {"first_name", "firstname", "given_name"},
     {"last_name", "lastname", "surname", "family_name"},
     {"id", "student_id", "sid"},
     {"email", "e_mail", "email_address"},
     {"submitted", "handed_in"}}};

using Columns = std::array<std::optional<std::size_t>, meanings>;

/// "Student ID" becomes student_id.
std::string plain(const std::string& head) {
  std::string word = lowered(head);
  for (char& c : word) c = c == ' ' || c == '-' ? '_' : c;
  return word;
}

std::optional<Meaning> meaning_of(const std::string& head) {
  const std::string word = plain(head);
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    if (std::ranges::count(spellings[i], word) > 0) return static_cast<Meaning>(i);
  }
  return std::nullopt;
}

Columns columns_of(const CsvRow& head) {
  Columns columns;
  for (std::size_t i = 0; i < head.cells.size(); ++i) {
    const std::optional<Meaning> meaning = meaning_of(head.cells[i]);
    if (!meaning) continue;
    std::optional<std::size_t>& column = columns[*meaning];
    if (column) {
      refuse_line(head.line, "the columns '" + printable(head.cells[*column]) + "' and '" +
                                 printable(head.cells[i]) + "' say the same");
    }
    column = i;
  }
  if (!columns[submission]) columns[submission] = columns[id];
  if (!columns[submission]) {
    std::vector<std::string> found;
    for (const std::string& cell : head.cells) found.push_back(printable(cell, 40));
    refuse_line(
        head.line,
        "no column 'submission' (the names of files or folders), no 'id', and not the columns of "
        "an export of Canvas, Moodle or Gradescope in English; the columns are " +
            joined(found));
  }
  return columns;
}

Student student_of(const CsvRow& row, const Columns& columns) {
  const auto cell = [&](Meaning meaning) {
    const std::optional<std::size_t> column = columns[meaning];
    return column ? printable(row.cells[*column], 255) : std::string();
  };
  Student student{cell(submission), cell(name), cell(id), cell(email), std::nullopt};
  while (student.submission.size() > 1 && student.submission.ends_with('/')) {
    student.submission.pop_back();
  }
  if (student.name.empty()) {
    student.name = cell(first_name);
    const std::string last = cell(last_name);
    if (!student.name.empty() && !last.empty()) student.name += ' ';
    student.name += last;
  }
  if (student.submission.empty())
    refuse_line(row.line, "the field of the submission's name is empty");
  if (const std::string time = cell(submitted); !time.empty()) {
    student.handed_in = seconds_since_1970(time);
    if (!student.handed_in) {
      refuse_line(row.line, "'" + time + "' is not a time; wanted one like 2026-10-05T23:59");
    }
  }
  return student;
}

/// A student, their line, and a time that could not be read or is empty.
struct Listed {
  Student student;
  std::size_t line = 0;
  std::string unread = {};
};

/// From a table of the teacher's own.
std::vector<Listed> listed_in(const std::vector<CsvRow>& rows) {
  const Columns columns = columns_of(rows.front());
  std::vector<Listed> students;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    if (row.cells.size() != rows.front().cells.size()) {
      refuse_line(row.line,
                  fmt::format("has {}, and the head names {}", counted(row.cells.size(), "field"),
                              rows.front().cells.size()));
    }
    students.push_back({student_of(row, columns), row.line});
  }
  return students;
}

/// From what a platform has exported.
std::vector<Listed> listed_in(const PlatformTable& table, const std::vector<CsvRow>& rows,
                              const std::set<std::string>& submissions) {
  const std::vector<std::string> names = submissions_of(table, submissions);
  std::vector<Listed> students;
  for (std::size_t i = 0; i < table.students.size(); ++i) {
    const PlatformStudent& each = table.students[i];
    const std::optional<std::int64_t> time = seconds_since_1970(each.handed_in);
    const bool unread = !time && each.handed_in != "-";  // Moodle writes this for none
    students.push_back({{names[i], each.name, each.id, each.email, time},
                        rows[each.row].line,
                        unread ? each.handed_in : ""});
  }
  return students;
}

/// Distinguishes two students of one submission: by id, or else by name and e-mail address.
std::string distinguished_by(const Student& student) {
  return student.submission + '\n' +
         (student.id.empty() ? student.name + '\n' + student.email : student.id);
}

Roster roster_of(const std::string& text, const std::set<std::string>& submissions) {
  const std::vector<CsvRow> rows = csv_rows(text);
  if (rows.empty()) refuse_line(1, "is empty; wanted a head that names the columns");
  const bool own = std::ranges::any_of(
      rows.front().cells, [](const std::string& head) { return meaning_of(head) == submission; });
  const auto table = own ? std::nullopt : platform_table(rows);
  const bool names_some = std::ranges::any_of(rows, [&](const CsvRow& row) {
    return std::ranges::any_of(row.cells,
                               [&](const std::string& cell) { return submissions.contains(cell); });
  });
  if (!own && !table && !names_some && !grade_columns("Canvas", rows.front()).empty()) {
    refuse_line(
        rows.front().line,
        "looks like an export of Canvas with other column names; wanted Student, ID and "
        "SIS Login ID or Section, or a column 'submission' with the names of files or folders");
  }
  std::vector<Student> students;
  std::vector<std::string> unread;
  std::map<std::string, std::size_t> lines;
  for (const auto& [student, line, time] :
       table ? listed_in(*table, rows, submissions) : listed_in(rows)) {
    const auto [place, is_new] = lines.try_emplace(distinguished_by(student), line);
    if (!is_new) {
      refuse_line(line, fmt::format("the submission '{}' is that of line {} already, and no id or "
                                    "name tells the two apart",
                                    student.submission, place->second));
    }
    students.push_back(student);
    if (!time.empty()) unread.push_back(time);
  }
  if (students.empty()) refuse_line(rows.front().line, "no student follows the head");
  const auto handed_in = [&](const Student& each) { return submissions.contains(each.submission); };
  if (!submissions.empty() && std::ranges::none_of(students, handed_in)) {
    refuse_line(
        rows.front().line,
        fmt::format("none of the {} ('{}'{}) is a student's; the first student's would be '{}'. "
                    "Wanted the names of the files or folders, in a column 'submission'",
                    counted(submissions.size(), "submission"), printable(*submissions.begin(), 60),
                    submissions.size() > 1 ? ", ..." : "",
                    printable(students.front().submission, 60)));
  }
  return {students, unread.empty() ? ""
                                   : fmt::format("{} not understood, as '{}'",
                                                 counted(unread.size(), "time"), unread.front())};
}

/// By name in NFC. Of two that are the same in NFC, only the one that is written so is found.
std::map<std::string, std::string> by_nfc_name(const std::set<std::string>& submissions) {
  std::map<std::string, std::string> names;
  for (const std::string& name : submissions) {
    const auto [place, is_new] = names.emplace(to_nfc(name), name);
    if (!is_new) place->second = place->first;
  }
  return names;
}

}  // namespace

Roster read_roster(const fs::path& file, const std::set<std::string>& submissions) try {
  const std::optional<std::string> text = read_whole(file);
  if (!text) {
    const int reason = errno;
    throw UsageError("cannot read " + file.string() + ": " +
                     (fs::is_directory(file) ? "is a folder" : std::strerror(reason)));
  }
  const std::map<std::string, std::string> names = by_nfc_name(submissions);
  const auto keys = std::views::keys(names);
  Roster roster = roster_of(to_nfc(from_utf16(*text)), {keys.begin(), keys.end()});
  for (Student& student : roster.students) {
    const auto name = names.find(student.submission);
    if (name != names.end()) student.submission = name->second;
  }
  return roster;
} catch (const std::invalid_argument& error) {
  throw UsageError(file.string() + ", " + error.what());
}

// ---- Grades, written into a platform's table

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
  CsvTable table = csv_table(from_utf16(csv));
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
