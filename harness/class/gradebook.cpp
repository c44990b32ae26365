// Reading and writing the gradebook.
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/times.hpp"
#include "class/gradebook_state.hpp"
#include "grade/grading_record.hpp"
#include "grade/report_parts.hpp"
#include "report/report.hpp"

#include <ctime>
#include <fmt/format.h>

namespace prenorm::harness {

PRENORM_JSON(RubricGroup, name, hidden, share)
PRENORM_JSON(RubricItem, name, problems, points, groups)

namespace {

using SQLite::Statement;

template <class Value>
Value parsed(const SQLite::Column& column) {
  return parse_json(column.getString()).get<Value>();
}

std::optional<std::int64_t> optional(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

std::string now() { return time_text(std::time(nullptr)); }

/// Of the errors that pictures show, only those of each problem's first failing cases are kept.
void drop_later_errors(GradedItem& item) {
  std::map<std::string, std::size_t> pictured;
  for (GradedCase& graded : item.cases) {
    std::vector<ErrorMap>& errors = graded.told.errors;
    if (!errors.empty() && ++pictured[graded.result.problem] > most_pictured) errors.clear();
  }
}

}  // namespace

/// The name in the table that differs from the submission's in how accents are written alone;
/// nothing where its own name is there, or two others, or another submission has that name.
std::optional<std::string> Gradebook::State::called_otherwise(const std::string& submission,
                                                              const std::string& table) {
  Statement row = prepare("SELECT DISTINCT submission FROM " + table +
                              " WHERE submission NOT IN "
                              "(SELECT name FROM submissions WHERE name <> ?)",
                          submission);
  const std::string usual = to_nfc(submission);
  std::optional<std::string> found;
  while (row.executeStep()) {
    std::string name = row.getColumn(0).getString();
    if (to_nfc(name) != usual) continue;
    if (found || name == submission) return std::nullopt;
    found = std::move(name);
  }
  return found;
}

/// Gives the roster and the points set by hand the spelling of this submission's name where only
/// accents differ.
void Gradebook::State::call_in_roster(const std::string& submission) {
  for (const std::string table : {"students", "set_points"}) {
    if (const std::optional<std::string> other = called_otherwise(submission, table)) {
      execute("UPDATE " + table + " SET submission = ? WHERE submission = ?", submission, *other);
    }
  }
}

Gradebook::~Gradebook() = default;

const fs::path& Gradebook::file() const { return state_->file; }

// ---- Reading

std::optional<Course> Gradebook::course() const {
  return state_->guarded([&]() -> std::optional<Course> {
    Statement row =
        state_->prepare("SELECT rubric, name, title, seed, exam, items, how FROM course");
    if (!row.executeStep()) return std::nullopt;
    return Course{row.getColumn(0), row.getColumn(1),
                  row.getColumn(2), std::stoull(row.getColumn(3).getString()),
                  row.getColumn(4), parsed<std::vector<RubricItem>>(row.getColumn(5)),
                  row.getColumn(6)};
  });
}

std::map<std::string, Entry> Gradebook::entries() const {
  return state_->guarded([&] {
    std::map<std::string, Entry> all;
    Statement row = state_->prepare(
        "SELECT name, path, files, changed, exam, limits, failure, regrade FROM submissions");
    while (row.executeStep()) {
      Entry entry{
          {row.getColumn(0), row.getColumn(1), row.getColumn(2), optional(row.getColumn(3))},
          row.getColumn(4),
          row.getColumn(5),
          row.getColumn(6),
          static_cast<Regrade>(row.getColumn(7).getInt())};
      all.emplace(entry.name, std::move(entry));
    }
    return all;
  });
}

Grading Gradebook::outline(const std::string& name) const {
  return state_->guarded([&] {
    Statement row = state_->prepare(
        "SELECT outline FROM submissions WHERE name = ? AND outline IS NOT NULL", name);
    if (!row.executeStep()) {
      throw UsageError(file().string() + ": nothing of '" + printable(name) + "' is graded");
    }
    Grading grading = grading_of(row.getColumn(0));
    grading.submission = name;
    return grading;
  });
}

Grading Gradebook::grading(const std::string& name) const {
  return state_->guarded([&] {
    Grading grading = outline(name);
    Statement row = state_->prepare("SELECT results FROM submissions WHERE name = ?", name);
    row.executeStep();
    const Json results = parsed<Json>(row.getColumn(0));
    for (std::size_t i = 0; i < grading.items.size(); ++i) {
      results.at(i).get_to(grading.items[i].cases);
    }
    return grading;
  });
}

std::map<std::string, std::map<Status, std::int64_t>> Gradebook::statuses() const {
  return state_->guarded([&] {
    std::map<std::string, std::map<Status, std::int64_t>> all;
    Statement row =
        state_->prepare("SELECT name, statuses FROM submissions WHERE statuses IS NOT NULL");
    while (row.executeStep()) {
      const Json counts = parsed<Json>(row.getColumn(1));
      for (const auto& [status, count] : counts.items()) {
        all[row.getColumn(0)][status_of(status)] = count.get<std::int64_t>();
      }
    }
    return all;
  });
}

std::map<std::string, std::vector<SetPoints>> Gradebook::all_set_points() const {
  return state_->guarded([&] {
    std::map<std::string, std::vector<SetPoints>> all;
    Statement row = state_->prepare(
        "SELECT submission, item, points, why FROM set_points ORDER BY submission, item");
    while (row.executeStep()) {
      all[row.getColumn(0)].push_back({row.getColumn(1), row.getColumn(2), row.getColumn(3)});
    }
    return all;
  });
}

std::vector<SetPoints> Gradebook::set_points(const std::string& name) const {
  return all_set_points()[name];
}

std::vector<Student> Gradebook::roster() const {
  return state_->guarded([&] {
    std::vector<Student> all;
    Statement row = state_->prepare(
        "SELECT submission, name, id, email, max(handed_in) OVER together, "
        "max(outdated) OVER together FROM students "
        "WINDOW together AS (PARTITION BY submission) ORDER BY number");
    while (row.executeStep()) {
      all.push_back({row.getColumn(0), row.getColumn(1), row.getColumn(2), row.getColumn(3),
                     optional(row.getColumn(4)), row.getColumn(5).getInt() != 0});
    }
    return all;
  });
}

// ---- Writing

std::size_t Gradebook::set_course(const Course& course) {
  std::size_t changed = 0;
  state_->change([&] {
    state_->execute("INSERT OR REPLACE INTO course VALUES (1, ?, ?, ?, ?, ?, ?, ?)", course.rubric,
                    course.name, course.title, std::to_string(course.seed), course.exam,
                    to_line(course.items), course.how);
    for (const auto& [name, entry] : entries()) {
      if (entry.files.empty() || entry.exam != course.exam) continue;
      bool any = false;
      Grading graded = outline(name);
      for (std::size_t i = 0; i < std::min(graded.items.size(), course.items.size()); ++i) {
        GradedItem& item = graded.items[i];
        const auto asked = [&item] { return std::pair(item.points, to_line(item.groups)); };
        const auto before = asked();
        take_points(item, course.items[i]);
        any = any || asked() != before;
      }
      if (!any) continue;
      ++changed;
      state_->execute("UPDATE submissions SET outline = ? WHERE name = ?", grading_record(graded),
                      name);
    }
  });
  state_->made = false;
  return changed;
}

void Gradebook::put(const Entry& entry, Grading grading) {
  Json results = Json::array();
  std::map<Status, std::int64_t> counts;
  for (GradedItem& item : grading.items) {
    for (const GradedCase& graded : item.cases) ++counts[graded.result.status];
    drop_later_errors(item);
    results.push_back(item.cases);
    item.cases.clear();
  }
  grading.profiles.clear();  // advice to whoever runs one submission
  Json statuses = Json::object();
  for (const auto& [status, count] : counts) statuses[std::string(name(status))] = count;
  state_->change([&] {
    state_->call_in_roster(entry.name);
    // The roster's time is that of the files before.
    state_->execute(
        "UPDATE students SET outdated = 1 WHERE submission = ?1 AND handed_in IS NOT NULL AND "
        "EXISTS (SELECT 1 FROM submissions WHERE name = ?1 AND files NOT IN ('', ?2))",
        entry.name, entry.files);
    state_->execute(
        "INSERT OR REPLACE INTO submissions VALUES (?1, CAST(?2 AS BLOB), ?3, ?4, ?5, ?6, '', "
        // While a class is regraded, what is new in it counts as done, too.
        "CASE WHEN EXISTS (SELECT 1 FROM submissions WHERE regrade <> 0) THEN ?7 ELSE 0 END, "
        "?8, ?9, ?10, ?11, ?12)",
        entry.name, entry.path, entry.files, entry.changed, entry.exam, entry.limits,
        static_cast<int>(Regrade::done), std::string(program_version()), now(), to_line(statuses),
        grading_record(grading), to_line(results));
  });
}

void Gradebook::put_failure(const Entry& entry) {
  state_->change([&] {
    state_->call_in_roster(entry.name);
    state_->execute(
        "INSERT INTO submissions(name, path, files, exam, limits, failure, regrade) "
        "VALUES (?, CAST(? AS BLOB), '', '', ?, ?, 0) "
        "ON CONFLICT (name) DO UPDATE SET failure = excluded.failure, regrade = 0",
        entry.name, entry.path, entry.limits, entry.failure);
  });
}

void Gradebook::want_regrade(const std::vector<std::string>& names) {
  state_->change([&] {
    for (const std::string& name : names) {
      state_->execute("UPDATE submissions SET regrade = ? WHERE name = ?",
                      static_cast<int>(Regrade::wanted), name);
    }
  });
}

void Gradebook::end_regrade() {
  state_->guarded([&] {
    state_->execute(
        "UPDATE submissions SET regrade = 0 WHERE regrade <> 0 AND "
        "NOT EXISTS (SELECT 1 FROM submissions WHERE regrade = ?)",
        static_cast<int>(Regrade::wanted));
  });
}

void Gradebook::remove(const std::string& name) {
  state_->guarded([&] { state_->execute("DELETE FROM submissions WHERE name = ?", name); });
}

void Gradebook::forget(const std::string& name) {
  state_->change([&] {
    remove(name);
    state_->execute("DELETE FROM set_points WHERE submission = ?", name);
  });
}

void Gradebook::set_points(const std::string& name, const SetPoints& points) {
  state_->guarded([&] {
    state_->execute("INSERT OR REPLACE INTO set_points VALUES (?, ?, ?, ?, ?)", name, points.item,
                    points.points, points.why, now());
  });
}

bool Gradebook::unset_points(const std::string& name, const std::string& item) {
  return state_->guarded([&] {
    return state_->execute("DELETE FROM set_points WHERE submission = ? AND item = ?", name, item) >
           0;
  });
}

void Gradebook::set_roster(const std::vector<Student>& students) {
  state_->change([&] {
    state_->execute("DELETE FROM students");
    std::int64_t number = 0;
    for (const Student& student : students) {
      state_->execute("INSERT INTO students VALUES (?, ?, ?, ?, ?, ?, 0)", number++,
                      student.submission, student.name, student.id, student.email,
                      student.handed_in);
    }
    for (const auto& [name, entry] : entries()) state_->call_in_roster(name);
  });
}

Grading with_set_points(Grading grading, const std::vector<SetPoints>& points) {
  for (const SetPoints& set : points) {
    grading.decided = true;
    for (GradedItem& item : grading.items) {
      if (item.name != set.item) continue;
      grading.notes.push_back(fmt::format("{}: {} points set by hand in place of {}: {}", item.name,
                                          points_text(set.points), points_text(item.earned),
                                          set.why));
      item.earned = set.points;
    }
  }
  return grading;
}

}  // namespace prenorm::harness
