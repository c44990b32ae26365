#include "class/roster.hpp"

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/times.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <ranges>

namespace prenorm::harness {
namespace {

enum Meaning { submission, name, first_name, last_name, id, email, submitted, meanings };

struct Spelling {
  const char* word;
  Meaning meaning;
};
constexpr std::array<Spelling, 22> spellings{{{"submission", submission},
                                              {"folder", submission},
                                              {"file", submission},
                                              {"name", name},
                                              {"full_name", name},
                                              {"student", name},
                                              {"student_name", name},
                                              {"first_name", first_name},
                                              {"firstname", first_name},
                                              {"given_name", first_name},
                                              {"last_name", last_name},
                                              {"lastname", last_name},
                                              {"surname", last_name},
                                              {"family_name", last_name},
                                              {"id", id},
                                              {"student_id", id},
                                              {"sid", id},
                                              {"email", email},
                                              {"e_mail", email},
                                              {"email_address", email},
                                              {"submitted", submitted},
                                              {"handed_in", submitted}}};

using Columns = std::array<std::optional<std::size_t>, meanings>;

/// "Student ID" becomes student_id.
std::string plain(const std::string& head) {
  std::string word = lowered(head);
  for (char& c : word) c = c == ' ' || c == '-' ? '_' : c;
  return word;
}

std::optional<Meaning> meaning_of(const std::string& head) {
  const std::string word = plain(head);
  for (const Spelling& spelling : spellings) {
    if (word == spelling.word) return spelling.meaning;
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
        "an export of Canvas, Moodle or Gradescope; the columns are " +
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

Roster read_roster(const std::filesystem::path& file,
                   const std::set<std::string>& submissions) try {
  const bool is_folder = std::filesystem::is_directory(file);
  std::ifstream stream(file, std::ios::binary);
  if (is_folder || !stream) {
    throw UsageError("cannot read " + file.string() + ": " +
                     (is_folder ? "is a folder" : std::strerror(errno)));
  }
  const std::map<std::string, std::string> names = by_nfc_name(submissions);
  const auto keys = std::views::keys(names);
  Roster roster = roster_of(to_nfc(std::string(std::istreambuf_iterator<char>(stream), {})),
                            {keys.begin(), keys.end()});
  for (Student& student : roster.students) {
    const auto name = names.find(student.submission);
    if (name != names.end()) student.submission = name->second;
  }
  return roster;
} catch (const std::invalid_argument& error) {
  throw UsageError(file.string() + ", " + error.what());
}

}  // namespace prenorm::harness
