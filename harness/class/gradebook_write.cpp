// Writing to the gradebook.
#include "base/json.hpp"
#include "class/composed.hpp"
#include "class/gradebook_state.hpp"
#include "class/times.hpp"
#include "report/report.hpp"

#include <ctime>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

using SQLite::Statement;

std::string now() { return time_text(std::time(nullptr)); }

}  // namespace

std::size_t Gradebook::set_course(const Course& course) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  Statement put = state_->prepare("INSERT OR REPLACE INTO course VALUES (1, ?, ?, ?, ?, ?, ?)");
  execute(put, course.rubric, course.name, course.title, std::to_string(course.seed), course.exam,
          to_line(course.items));
  std::size_t changed = 0;
  Statement update = state_->prepare(
      "UPDATE items SET points = ?, earned = ?, groups = ? WHERE submission = ? AND number = ?");
  for (const auto& [name, entry] : entries()) {
    if (entry.exam != course.exam) continue;
    bool any = false;
    std::vector<GradedItem> graded = state_->items(name);
    for (std::size_t i = 0; i < graded.size() && i < course.items.size(); ++i) {
      const std::string before = to_line(graded[i].groups) + fmt::format("{}", graded[i].points);
      take_points(graded[i], course.items[i]);
      const std::string groups = to_line(graded[i].groups);
      if (groups + fmt::format("{}", graded[i].points) == before) continue;
      any = true;
      execute(update, graded[i].points, graded[i].earned, groups, name,
              static_cast<std::int64_t>(i));
    }
    changed += any ? 1 : 0;
  }
  transaction.commit();
  state_->made = false;
  return changed;
} catch (...) {
  state_->refuse();
}

void Gradebook::set_how(const std::string& record) try {
  state_->prepare("INSERT OR REPLACE INTO settings VALUES (1, ?)", record).exec();
} catch (...) {
  state_->refuse();
}

std::optional<std::string> Gradebook::State::called_otherwise(const std::string& submission,
                                                              const NamedRows& rows) {
  Statement row(*database, std::string("SELECT DISTINCT submission FROM ") + rows.table +
                               " WHERE " + rows.which +
                               " AND submission NOT IN "
                               "(SELECT name FROM submissions WHERE name <> ?)");
  SQLite::bind(row, submission);
  const std::string usual = composed(submission);
  std::optional<std::string> found;
  while (row.executeStep()) {
    std::string name = row.getColumn(0).getString();
    if (composed(name) != usual) continue;
    if (found || name == submission) return std::nullopt;
    found = std::move(name);
  }
  return found;
}

void Gradebook::State::call_in_roster(const std::string& submission) {
  for (const NamedRows& rows :
       {NamedRows{"students"}, NamedRows{"set_points"}, NamedRows{"times", "said_by <> 'files'"}}) {
    const std::optional<std::string> other = called_otherwise(submission, rows);
    if (!other) continue;
    Statement update(*database, std::string("UPDATE ") + rows.table +
                                    " SET submission = ? WHERE submission = ? AND " + rows.which);
    execute(update, submission, *other);
  }
}

void Gradebook::put(const Entry& entry, const Grading& grading) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  state_->call_in_roster(entry.name);
  // What the roster says is of the files before.
  state_
      ->prepare(
          "UPDATE times SET said_by = 'old roster' WHERE submission = ? AND said_by = 'roster' AND "
          "EXISTS (SELECT 1 FROM submissions WHERE name = ? AND files NOT IN ('', ?))",
          entry.name, entry.name, entry.files)
      .exec();
  remove(entry.name);
  Statement put = state_->prepare(
      "INSERT INTO submissions VALUES (?, CAST(? AS BLOB), ?, ?, ?, '', 0, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?)");
  execute(put, entry.name, entry.path, entry.files, entry.exam, entry.limits, grading.kind,
          std::string(harness::name(grading.status)), grading.message, grading.rubric,
          grading.title, grading.sandbox, to_line(grading.notes), to_line(grading.imports),
          std::to_string(grading.seed), std::string(program_version()), grading.seconds, now());
  Statement put_item = state_->prepare("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  Statement put_case = state_->prepare("INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement put_diagnosis = state_->prepare("INSERT INTO diagnoses VALUES (?, ?, ?, ?, ?, ?, ?)");
  Statement put_explanation = state_->prepare("INSERT INTO explanations VALUES (?, ?, ?, ?)");
  std::int64_t items = 0, cases = 0, diagnoses = 0;
  std::map<std::pair<std::string, std::string>, std::int64_t> tallies;
  for (const GradedItem& item : grading.items) {
    execute(put_item, entry.name, items++, item.name, to_line(item.problems), item.points,
            item.earned, to_line(item.groups), to_line(item.undiagnosed));
    std::map<std::string, std::size_t> pictured;
    for (const GradedCase& graded : item.cases) {
      Json record = graded;
      if (!graded.told.errors.empty() && ++pictured[graded.result.problem] > most_pictured) {
        record["errors"] = Json::array();
      }
      ++tallies[{graded.result.problem, std::string(harness::name(graded.result.status))}];
      record["result"].erase("seconds");
      double seconds = graded.result.seconds;
      if (graded.secret) {
        seconds = graded.secret->result.seconds;
        record["secret"]["result"].erase("seconds");
      }
      execute(put_case, entry.name, cases++, item.name, graded.result.problem,
              graded.result.case_name.value_or(""), graded.hidden ? 1 : 0,
              std::string(harness::name(graded.result.status)), seconds, to_line(record));
    }
    for (const Diagnosis& diagnosis : item.diagnoses) {
      execute(put_diagnosis, entry.name, diagnoses++, item.name, diagnosis.problem,
              diagnosis.mistake, diagnosis.agrees, diagnosis.of);
    }
    if (!item.diagnoses.empty() || !item.properties.empty()) {
      execute(put_explanation, entry.name, item.name, to_line(item.diagnoses),
              to_line(item.properties));
    }
  }
  Statement put_tally = state_->prepare("INSERT INTO tallies VALUES (?, ?, ?, ?)");
  for (const auto& [what, count] : tallies) {
    execute(put_tally, entry.name, what.first, what.second, count);
  }
  if (entry.changed) {
    state_->prepare("INSERT INTO times VALUES (?, 'files', ?)", entry.name, *entry.changed).exec();
  }
  transaction.commit();
} catch (...) {
  state_->refuse();
}

void Gradebook::put_failure(const Entry& entry) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  state_->call_in_roster(entry.name);
  Statement put = state_->prepare(
      "INSERT INTO submissions(name, path, files, exam, limits, failure, again) "
      "VALUES (?, CAST(? AS BLOB), '', '', ?, ?, 0) ON CONFLICT (name) DO UPDATE SET failure = "
      "excluded.failure, "
      "again = 0");
  execute(put, entry.name, entry.path, entry.limits, entry.failure);
  transaction.commit();
} catch (...) {
  state_->refuse();
}

void Gradebook::put_again(const std::vector<std::string>& names) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  Statement put = state_->prepare("UPDATE submissions SET again = 1 WHERE name = ?");
  for (const std::string& name : names) execute(put, name);
  transaction.commit();
} catch (...) {
  state_->refuse();
}

void Gradebook::remove(const std::string& name) try {
  state_->prepare("DELETE FROM submissions WHERE name = ?", name).exec();
  state_->prepare("DELETE FROM times WHERE submission = ? AND said_by = 'files'", name).exec();
} catch (...) {
  state_->refuse();
}

void Gradebook::forget(const std::string& name) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  remove(name);
  state_->prepare("DELETE FROM set_points WHERE submission = ?", name).exec();
  transaction.commit();
} catch (...) {
  state_->refuse();
}

void Gradebook::set_points(const std::string& name, const SetPoints& points) try {
  Statement put = state_->prepare("INSERT OR REPLACE INTO set_points VALUES (?, ?, ?, ?, ?)");
  execute(put, name, points.item, points.points, points.why, now());
} catch (...) {
  state_->refuse();
}

bool Gradebook::unset_points(const std::string& name, const std::string& item) try {
  return state_->prepare("DELETE FROM set_points WHERE submission = ? AND item = ?", name, item)
             .exec() > 0;
} catch (...) {
  state_->refuse();
}

void Gradebook::set_roster(const std::vector<Student>& students) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  state_->database->exec("DELETE FROM students");
  state_->database->exec("DELETE FROM times WHERE said_by <> 'files'");
  Statement put = state_->prepare("INSERT INTO students VALUES (?, ?, ?, ?, ?)");
  Statement put_time = state_->prepare(
      "INSERT INTO times VALUES (?, 'roster', ?) ON CONFLICT DO UPDATE SET handed_in = "
      "max(handed_in, excluded.handed_in)");
  std::int64_t number = 0;
  for (const Student& student : students) {
    execute(put, number++, student.submission, student.name, student.id, student.email);
    if (student.handed_in) execute(put_time, student.submission, *student.handed_in);
  }
  for (const auto& [name, entry] : entries()) state_->call_in_roster(name);
  transaction.commit();
} catch (...) {
  state_->refuse();
}

}  // namespace prenorm::harness
