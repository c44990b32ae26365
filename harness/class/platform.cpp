#include "class/platform.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

namespace prenorm::harness {
namespace {

using Heads = std::vector<std::string_view>;

/// A kind of export. Columns that a site may leave out are in `head` not.
struct Platform {
  const char* name;
  Heads head;    // all of these, as they are written: then it is this export
  Heads called;  // the name, in one column or in two
  Heads keys;    // what identifies a student, the likeliest name of a folder first
  Heads ids;     // what is shown as the student's number: the first that is not empty
  std::string_view email, number, handed_in;
  Heads points;  // what holds grades, but for Canvas's assignments
};

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all{
      {"Canvas",
       {"Student", "ID", "Section"},
       {"Student"},
       {"SIS Login ID", "SIS User ID", "Integration ID", "ID"},
       {"SIS User ID", "ID"},
       "",
       "ID",
       "",
       {}},
      {"Moodle",  // an assignment's grading worksheet
       {"Identifier", "Grade"},
       {"Full name"},
       {"Username", "Email address", "ID number", "Identifier"},
       {"ID number", "Identifier"},
       "Email address",
       "Identifier",
       "Last modified (submission)",
       {"Grade"}},
      {"Moodle",  // the whole course's grades
       {"First name", "Last name", "Email address"},
       {"First name", "Last name"},
       {"Username", "Email address", "ID number"},
       {"ID number"},
       "Email address",
       "",
       "",
       {}},
      {"Moodle",  // the same, of versions before 4
       {"First name", "Surname", "Email address"},
       {"First name", "Surname"},
       {"Username", "Email address", "ID number"},
       {"ID number"},
       "Email address",
       "",
       "",
       {}},
      {"Gradescope",
       {"First Name", "Last Name", "SID", "Email"},
       {"First Name", "Last Name"},
       {"SID", "Email"},
       {"SID"},
       "Email",
       "Submission ID",
       "Submission Time",
       {"Total Score"}},
      {"Gradescope",
       {"Name", "SID", "Email", "Total Score"},
       {"Name"},
       {"SID", "Email"},
       {"SID"},
       "Email",
       "Submission ID",
       "Submission Time",
       {"Total Score"}},
  };
  return all;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Reads a row's cells by the names of the head.
class Cells {
 public:
  explicit Cells(const CsvRow& head) : head_(head) {}

  bool has(std::string_view column) const {
    const auto is_it = [&](const std::string& cell) { return without_blanks(cell) == column; };
    return std::ranges::any_of(head_.cells, is_it);
  }
  /// Empty where there is no such column, or the row ends before it.
  std::string of(const CsvRow& row, std::string_view column) const {
    for (std::size_t i = 0; i < head_.cells.size() && !column.empty(); ++i) {
      if (without_blanks(head_.cells[i]) != column) continue;
      return i < row.cells.size() ? printable(without_blanks(row.cells[i]), 255) : "";
    }
    return "";
  }

 private:
  const CsvRow& head_;
};

/// The digits at a text's end: 123 of "Participant 123".
std::string last_digits(const std::string& text) {
  return text.substr(text.find_last_not_of("0123456789") + 1);
}

/// The number in the name of a download: "doejane_LATE_123_456_hw.zip" of Canvas, "Jane
/// Doe_123_assignsubmission_file" of Moodle, "submission_123" of Gradescope.
std::string number_of_download(const std::string& name) {
  for (std::size_t begin = name.find('_'); begin != name.npos; begin = name.find('_', begin)) {
    const std::size_t end = std::min(name.find('_', ++begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (!part.empty() && last_digits(part) == part) return part;
  }
  return "";
}

PlatformStudent student_in(const CsvRow& row, const Cells& cells, const Platform& platform) {
  PlatformStudent student;
  for (const std::string_view column : platform.called) {
    const std::string part = cells.of(row, column);
    if (!part.empty()) student.name += (student.name.empty() ? "" : " ") + part;
  }
  for (const std::string_view column : platform.ids) {
    if (student.id.empty()) student.id = cells.of(row, column);
  }
  student.email = cells.of(row, platform.email);
  student.number = last_digits(cells.of(row, platform.number));
  student.handed_in = cells.of(row, platform.handed_in);
  for (const std::string_view column : platform.keys) {
    const std::string key = cells.of(row, column);
    const std::size_t at = key.find('@');
    student.keys.push_back(key);
    student.keys.push_back(at == key.npos ? "" : key.substr(0, at));
  }
  for (const std::string& key : student.keys) student.small.push_back(lowered(key));
  return student;
}

/// Of Canvas: the row of points, one above it, and the student that is there for tries.
bool is_nobody(const PlatformStudent& student) {
  return student.name.empty() || student.name == "Points Possible" ||
         student.name == "Student, Test" || student.name == "Test Student";
}

/// That a key of a student's is what an entry is called.
struct Found {
  std::size_t student, entry, key;
};

}  // namespace

CalledAs::CalledAs(const std::string& word)
    : name(lowered(word)),
      stem(std::filesystem::path(name).stem().string()),
      number(number_of_download(name)) {}

std::optional<std::size_t> PlatformStudent::key_of(const CalledAs& called) const {
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (!small[i].empty() && (small[i] == called.name || small[i] == called.stem)) return i;
  }
  if (!number.empty() && number == called.number) return keys.size();
  return std::nullopt;
}

std::optional<PlatformTable> platform_table(const std::vector<CsvRow>& rows) {
  if (rows.empty()) return std::nullopt;
  const Cells cells(rows.front());
  const auto platform = std::ranges::find_if(platforms(), [&](const Platform& each) {
    return std::ranges::all_of(each.head, [&](std::string_view name) { return cells.has(name); });
  });
  if (platform == platforms().end()) return std::nullopt;
  PlatformTable table{platform->name, {}, std::nullopt};
  const bool canvas = table.platform == "Canvas";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    PlatformStudent student = student_in(rows[i], cells, *platform);
    student.row = i;
    if (canvas && student.name == "Points Possible") table.points_row = i;
    if (canvas && is_nobody(student)) continue;
    if (std::ranges::all_of(student.keys, &std::string::empty)) {
      refuse_line(rows[i].line, table.platform + "'s columns that say who that is are empty");
    }
    table.students.push_back(std::move(student));
  }
  return table;
}

Matches match(const PlatformTable& table, const std::vector<std::vector<CalledAs>>& entries) {
  std::vector<Found> all;
  std::vector<std::size_t> finds(1);  // of each key; the last: of the numbers
  for (std::size_t i = 0; i < table.students.size(); ++i) {
    finds.resize(table.students[i].keys.size() + 1);
    for (std::size_t k = 0; k < entries.size(); ++k) {
      for (const CalledAs& called : entries[k]) {
        const std::optional<std::size_t> key = table.students[i].key_of(called);
        if (!key) continue;
        all.push_back({i, k, *key});
        ++finds[*key];
      }
    }
  }
  Matches matches{std::vector<std::optional<std::size_t>>(table.students.size()), 0};
  matches.key = static_cast<std::size_t>(std::ranges::max_element(finds) - finds.begin());
  std::set<std::size_t> taken;
  for (const bool by_best : {true, false}) {
    std::map<std::size_t, std::set<std::size_t>> students, found;  // by the other
    for (const Found& each : all) {
      if (by_best && each.key != matches.key) continue;
      if (matches.entries[each.student] || taken.contains(each.entry)) continue;
      students[each.entry].insert(each.student);
      found[each.student].insert(each.entry);
    }
    for (const auto& [student, those] : found) {
      if (those.size() > 1 || students[*those.begin()].size() > 1) continue;
      matches.entries[student] = *those.begin();
      taken.insert(*those.begin());
    }
  }
  return matches;
}

std::vector<std::string> submissions_of(const PlatformTable& table,
                                        const std::set<std::string>& submissions) {
  const std::vector<std::string> names(submissions.begin(), submissions.end());
  std::vector<std::vector<CalledAs>> entries;
  for (const std::string& name : names) entries.push_back({CalledAs(name)});
  const Matches matches = match(table, entries);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < table.students.size(); ++i) {
    const std::vector<std::string>& keys = table.students[i].keys;
    std::string& name = found.emplace_back();
    if (matches.entries[i]) {
      name = names[*matches.entries[i]];
    } else if (matches.key < keys.size()) {  // a number makes no name
      name = keys[matches.key];
    }
    if (name.empty()) name = *std::ranges::find_if_not(keys, &std::string::empty);
  }
  return found;
}

std::vector<std::string> grade_columns(const std::string& platform, const CsvRow& head) {
  std::vector<std::string> columns;
  for (const std::string& cell : head.cells) {
    // "Assignment 1 (12345)": the number is the assignment's.
    const std::size_t open = cell.rfind('(');
    const bool numbered = open != cell.npos && cell.ends_with(')') && open + 2 < cell.size() &&
                          cell.find_first_not_of("0123456789", open + 1) == cell.size() - 1;
    const bool holds = platform == "Canvas"
                           ? numbered
                           : std::ranges::any_of(platforms(), [&](const Platform& each) {
                               return each.name == platform &&
                                      std::ranges::find(each.points, cell) != each.points.end();
                             });
    if (holds) columns.push_back(cell);
  }
  return columns;
}

}  // namespace prenorm::harness
