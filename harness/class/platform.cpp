#include "class/roster.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <regex>

namespace prenorm::harness {
namespace {

using Heads = std::vector<std::string_view>;

/// A kind of export.
struct Platform {
  const char* name;
  Heads head;         // all of these, as they are written: then it is this export
  Heads called;       // the name, in one column or in two
  Heads keys;         // what identifies a student, the likeliest name of a folder first
  Heads ids;          // what is shown as the student's number: the first that is not empty
  Heads points = {};  // columns of grades, except Canvas's assignments
  // Empty: the platform has no such column. A site may leave out columns that are not in `head`.
  std::string_view email = {}, number = {}, handed_in = {}, full_marks = {};
};

Platform canvas(Heads called, std::string_view last_of_head) {
  Platform made{.name = "Canvas",
                .head = called,
                .called = called,
                .keys = {"SIS Login ID", "SIS User ID", "Integration ID", "ID"},
                .ids = {"SIS User ID", "ID"},
                .number = "ID"};
  made.head.insert(made.head.end(), {"ID", last_of_head});
  return made;
}

/// A whole course's grades of Moodle; before version 4 the last name had another word.
Platform moodle_course(std::string_view last_name) {
  return {.name = "Moodle",
          .head = {"First name", last_name, "Email address"},
          .called = {"First name", last_name},
          .keys = {"Username", "Email address", "ID number"},
          .ids = {"ID number"},
          .email = "Email address"};
}

Platform gradescope(Heads called, std::string_view last_of_head) {
  Platform made{.name = "Gradescope",
                .head = called,
                .called = called,
                .keys = {"SID", "Email"},
                .ids = {"SID"},
                .points = {"Total Score"},
                .email = "Email",
                .number = "Submission ID",
                .handed_in = "Submission Time",
                .full_marks = "Max Points"};
  made.head.insert(made.head.end(), {"SID", "Email"});
  if (!last_of_head.empty()) made.head.push_back(last_of_head);
  return made;
}

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all{
      canvas({"Student"}, "Section"),
      canvas({"Student"}, "SIS Login ID"),
      canvas({"FirstName", "LastName"}, "SIS Login ID"),
      {.name = "Moodle",  // an assignment's grading worksheet
       .head = {"Identifier", "Grade"},
       .called = {"Full name"},
       .keys = {"Username", "Email address", "ID number", "Identifier"},
       .ids = {"ID number", "Identifier"},
       .points = {"Grade"},
       .email = "Email address",
       .number = "Identifier",
       .handed_in = "Last modified (submission)",
       .full_marks = "Maximum Grade"},
      moodle_course("Last name"),
      moodle_course("Surname"),
      gradescope({"First Name", "Last Name"}, ""),
      gradescope({"Name"}, "Total Score"),
  };
  return all;
}

std::string without_blanks(std::string_view text) { return trimmed(text, " \t"); }

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

/// For comparing texts: in small letters and NFC.
std::string comparable(const std::string& text) { return to_nfc(lowered(text)); }

/// The digits at a text's end: 123 of "Participant 123".
std::string last_digits(const std::string& text) {
  return text.substr(text.find_last_not_of("0123456789") + 1);
}

/// The number in the name of a download, in small letters: "doejane_late_123_456_hw" of Canvas,
/// "jane doe_123_assignsubmission_file" of Moodle, "submission_123" of Gradescope.
std::string number_of_download(const std::string& name) {
  static const std::array<std::regex, 3> forms{std::regex("^[^_]+(?:_late)?_([0-9]+)_[0-9]+_"),
                                               std::regex("_([0-9]+)_assignsubmission_"),
                                               std::regex("^submission_([0-9]+)$")};
  for (const std::regex& form : forms) {
    std::smatch found;
    if (std::regex_search(name, found, form)) return found[1];
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
  student.full_marks = cells.of(row, platform.full_marks);
  for (const std::string_view column : platform.keys) {
    const std::string key = cells.of(row, column);
    const std::size_t at = key.find('@');
    student.keys.push_back(key);
    student.keys.push_back(at == key.npos ? "" : key.substr(0, at));
  }
  for (const std::string& key : student.keys) student.small.push_back(comparable(key));
  return student;
}

/// Rows of Canvas that are not students: points, the row above, and the test student.
bool is_nobody(const PlatformStudent& student) {
  return student.name.empty() || student.name == "Points Possible" ||
         student.name == "Student, Test" || student.name == "Test Student";
}

/// The texts that identify an entry; may be empty.
struct EntryWords {
  explicit EntryWords(const OverviewRow& entry)
      : id(comparable(entry.id)),
        email(comparable(entry.email)),
        name(comparable(entry.submission)),
        stem(name) {
    for (const std::string_view ending : {".so", ".py", ".h5", ".zip"}) {
      if (name.ends_with(ending)) stem.resize(name.size() - ending.size());
    }
    number = number_of_download(stem);
  }

  std::string id, email, name, stem, number;
};

/// The evidence that an entry is a student, the strongest first.
enum class FoundBy { roster, name, part };

/// An entry that may be a student's.
struct Found {
  std::size_t student, entry;
  FoundBy by;
  std::size_t key;         // index among the student's; past the end: the number
  bool by_number = false;  // of the download, which students who work together share
};

/// By the strongest evidence; nothing if there is none.
std::optional<Found> found_by(const PlatformStudent& student, const EntryWords& words) {
  std::optional<Found> found;
  const std::size_t number = student.keys.size();
  const auto take = [&](FoundBy by, std::size_t key) {
    if (!found || by < found->by) found = Found{0, 0, by, key, key == number};
  };
  for (std::size_t i = 0; i < student.small.size(); ++i) {
    const std::string& key = student.small[i];
    const bool whole = i % 2 == 0;  // not what stands before an @
    if (key.empty()) continue;
    if (whole && (key == words.id || key == words.email)) take(FoundBy::roster, i);
    if (whole && key == words.name) take(FoundBy::name, i);
    if (key == words.stem || key == words.name || key == words.id) take(FoundBy::part, i);
  }
  if (!words.number.empty() && words.number == student.number) take(FoundBy::part, number);
  return found;
}

/// The key that finds the most; 0 where none finds anybody.
std::size_t best_key(const std::vector<Found>& all) {
  std::map<std::size_t, std::size_t> finds;
  for (const Found& each : all) ++finds[each.key];
  const auto best = std::ranges::max_element(finds, {}, [](const auto& key) { return key.second; });
  return best == finds.end() ? 0 : best->first;
}

/// Those of other students and other entries than these.
std::vector<Found> without(std::vector<Found> all, const std::vector<Found>& these) {
  std::set<std::size_t> students, entries;
  for (const Found& each : these) {
    students.insert(each.student);
    entries.insert(each.entry);
  }
  std::erase_if(all, [&](const Found& each) {
    return students.contains(each.student) || entries.contains(each.entry);
  });
  return all;
}

/// Students with exactly one entry, which no other student has, except those with the same number.
std::vector<Found> one_to_one(std::vector<Found> all) {
  std::map<std::size_t, std::size_t> students, entries;  // how often each is found
  std::set<std::size_t> by_number;                       // entries
  for (const Found& each : all) {
    ++students[each.student];
    const bool again = each.by_number && !by_number.insert(each.entry).second;
    entries[each.entry] += again ? 0 : 1;
  }
  std::erase_if(all, [&](const Found& each) {
    return students[each.student] > 1 || entries[each.entry] > 1;
  });
  return all;
}

/// The same by the key that finds the most, then by the others.
std::vector<Found> sure_of(const std::vector<Found>& all) {
  std::vector<Found> sure = all;
  std::erase_if(sure, [best = best_key(all)](const Found& each) { return each.key != best; });
  sure = one_to_one(sure);
  const std::vector<Found> others = one_to_one(without(all, sure));
  sure.insert(sure.end(), others.begin(), others.end());
  return sure;
}

/// Finds the entries of students who hand in together.
class Partners {
 public:
  Partners(const PlatformTable& table, const std::vector<OverviewRow>& entries,
           const std::vector<Found>& all)
      : students_(table.students), entries_(entries), all_(all) {
    for (const PlatformStudent& student : students_) ++sharing_[student.number];
  }

  /// For those who have no entry yet: those with a name first, so that nobody takes theirs.
  void add_to(std::vector<std::optional<std::size_t>>& matched) const {
    for (const bool by_name : {true, false}) {
      for (std::size_t i = 0; i < students_.size(); ++i) {
        if (!matched[i]) matched[i] = entry_of(i, by_name, matched);
      }
    }
  }

 private:
  std::optional<std::size_t> entry_of(
      std::size_t student, bool by_name,
      const std::vector<std::optional<std::size_t>>& matched) const {
    if (sharing_.at(students_[student].number) < 2) return std::nullopt;
    std::set<std::string> submissions;
    std::optional<std::size_t> taken, free;
    for (const Found& each : all_) {
      if (each.student != student) continue;
      if (!each.by_number) return std::nullopt;  // other evidence for another entry
      const OverviewRow& entry = entries_[each.entry];
      submissions.insert(entry.submission);
      if (by_name && comparable(entry.name) != comparable(students_[student].name)) continue;
      const auto owner = std::ranges::find(matched, std::optional(each.entry));
      if (owner == matched.end()) {
        free = free.value_or(each.entry);
      } else if (number_of(owner - matched.begin()) == students_[student].number) {
        taken = each.entry;
      }
    }
    if (submissions.size() != 1) return std::nullopt;
    return free ? free : taken;
  }

  const std::string& number_of(std::ptrdiff_t student) const {
    return students_[static_cast<std::size_t>(student)].number;
  }

  const std::vector<PlatformStudent>& students_;
  const std::vector<OverviewRow>& entries_;
  const std::vector<Found>& all_;
  std::map<std::string, std::size_t> sharing_;  // students with each number
};

/// An assignment's column of Canvas: "Homework 1 (12345)"; the number is the assignment's.
bool is_assignment(const std::string& column) {
  const std::size_t open = column.rfind('(');
  return open != column.npos && column.ends_with(')') && open + 2 < column.size() &&
         column.find_first_not_of("0123456789", open + 1) == column.size() - 1;
}

}  // namespace

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
    const auto blank = [](const std::string& cell) { return without_blanks(cell).empty(); };
    if (std::ranges::all_of(rows[i].cells, blank)) continue;
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

Matches match(const PlatformTable& table, const std::vector<OverviewRow>& entries) {
  const std::vector<EntryWords> words(entries.begin(), entries.end());
  std::vector<Found> all;
  for (std::size_t i = 0; i < table.students.size(); ++i) {
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const std::optional<Found> found = found_by(table.students[i], words[k]);
      if (found) all.push_back({i, k, found->by, found->key, found->by_number});
    }
  }
  std::vector<Found> open = all, matched;
  for (const FoundBy evidence : {FoundBy::roster, FoundBy::name, FoundBy::part}) {
    std::vector<Found> now = open;
    std::erase_if(now, [&](const Found& each) { return each.by != evidence; });
    const std::vector<Found> sure = sure_of(now);
    matched.insert(matched.end(), sure.begin(), sure.end());
    open = without(open, now);  // weaker evidence does not resolve an ambiguity
  }
  Matches matches{std::vector<std::optional<std::size_t>>(table.students.size()),
                  best_key(matched)};
  for (const Found& each : matched) matches.entries[each.student] = each.entry;
  Partners(table, entries, all).add_to(matches.entries);
  std::set<std::size_t> taken;
  for (const auto& entry : matches.entries) {
    if (entry) taken.insert(*entry);
  }
  // A submission that came after the roster was stored has an entry of its own.
  for (const Found& each : all) {
    std::optional<std::size_t>& entry = matches.entries[each.student];
    const bool other = !entries[each.entry].absent && !taken.contains(each.entry);
    if (other && entry && entries[*entry].absent) entry.reset();
  }
  return matches;
}

std::vector<std::string> submissions_of(const PlatformTable& table,
                                        const std::set<std::string>& submissions) {
  std::vector<OverviewRow> entries;
  for (const std::string& name : submissions) entries.emplace_back().submission = name;
  const Matches matches = match(table, entries);
  std::map<std::string, std::size_t> owners;  // how many students have a key
  for (const PlatformStudent& student : table.students) {
    for (const std::string& key : std::set(student.keys.begin(), student.keys.end())) ++owners[key];
  }
  const auto is_free = [&](const std::string& key) {
    return owners[key] == 1 && !submissions.contains(key);
  };
  std::vector<std::string> found;
  for (std::size_t i = 0; i < table.students.size(); ++i) {
    if (matches.entries[i]) {
      found.push_back(entries[*matches.entries[i]].submission);
      continue;
    }
    std::vector<std::string> names = table.students[i].keys;
    // The number of a download is no name.
    if (matches.key < names.size()) names.insert(names.begin(), std::string(names[matches.key]));
    std::erase(names, "");
    const auto free = std::ranges::find_if(names, is_free);
    found.push_back(free == names.end() ? names.front() : *free);
  }
  return found;
}

std::vector<std::string> grade_columns(const std::string& platform, const CsvRow& head) {
  std::vector<std::string> columns;
  for (const std::string& cell : head.cells) {
    const bool holds = platform == "Canvas"
                           ? is_assignment(cell)
                           : std::ranges::any_of(platforms(), [&](const Platform& each) {
                               return each.name == platform &&
                                      std::ranges::find(each.points, cell) != each.points.end();
                             });
    if (holds) columns.push_back(cell);
  }
  return columns;
}

bool takes_grades(const std::string& platform, const std::string& column) {
  if (platform == "Canvas") return is_assignment(column);
  const auto says_it = [&](const Platform& each) {
    Heads all{each.email, each.number, each.handed_in, each.full_marks, "Section", "Sections"};
    for (const Heads& some : {each.called, each.keys, each.ids}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return each.name == platform && std::ranges::find(all, without_blanks(column)) != all.end();
  };
  return std::ranges::none_of(platforms(), says_it);
}

}  // namespace prenorm::harness
