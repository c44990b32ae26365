#include "class/roster.hpp"

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "class/csv.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace prenorm::harness {
namespace {

enum Meaning { submission, name, first_name, last_name, id, email, meanings };

struct Spelling {
  const char* word;
  Meaning meaning;
};
constexpr std::array<Spelling, 20> spellings{{{"submission", submission},
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
                                              {"email_address", email}}};

using Columns = std::array<std::optional<std::size_t>, meanings>;

/// "Student ID" as student_id.
std::string plain(const std::string& head) {
  std::string word;
  for (const char c : head) {
    const bool upper = c >= 'A' && c <= 'Z';
    word += c == ' ' || c == '-' ? '_' : upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

Columns columns_of(const CsvRow& head) {
  Columns columns;
  for (std::size_t i = 0; i < head.cells.size(); ++i) {
    const auto* const known =
        std::ranges::find(spellings, plain(head.cells[i]),
                          [](const Spelling& spelling) { return std::string(spelling.word); });
    if (known == spellings.end()) continue;
    std::optional<std::size_t>& column = columns[known->meaning];
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
        "no column 'submission' (the names of files or folders), and no 'id'; the columns are " +
            joined(found));
  }
  return columns;
}

Student student_of(const CsvRow& row, const Columns& columns) {
  const auto cell = [&](Meaning meaning) {
    const std::optional<std::size_t> column = columns[meaning];
    return column ? printable(row.cells[*column], 255) : std::string();
  };
  Student student{cell(submission), cell(name), cell(id), cell(email)};
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
  return student;
}

std::vector<Student> students_of(const std::string& text) {
  const std::vector<CsvRow> rows = csv_rows(text);
  if (rows.empty()) refuse_line(1, "is empty; wanted a head that names the columns");
  const Columns columns = columns_of(rows.front());
  std::vector<Student> students;
  std::map<std::string, std::size_t> lines;  // by submission
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    if (row.cells.size() != rows.front().cells.size()) {
      refuse_line(row.line,
                  fmt::format("has {}, and the head names {}", counted(row.cells.size(), "field"),
                              rows.front().cells.size()));
    }
    const Student& student = students.emplace_back(student_of(row, columns));
    const auto [place, is_new] = lines.try_emplace(student.submission, row.line);
    if (!is_new) {
      refuse_line(row.line, fmt::format("the submission '{}' is that of line {} already",
                                        student.submission, place->second));
    }
  }
  if (students.empty()) refuse_line(rows.front().line, "no student follows the head");
  return students;
}

}  // namespace

std::vector<Student> read_roster(const std::filesystem::path& file) try {
  const bool is_folder = std::filesystem::is_directory(file);
  std::ifstream stream(file, std::ios::binary);
  if (is_folder || !stream) {
    throw UsageError("cannot read " + file.string() + ": " +
                     (is_folder ? "is a folder" : std::strerror(errno)));
  }
  return students_of(std::string(std::istreambuf_iterator<char>(stream), {}));
} catch (const std::invalid_argument& error) {
  throw UsageError(file.string() + ", " + error.what());
}

}  // namespace prenorm::harness
