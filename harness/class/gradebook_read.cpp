// Reading from the gradebook.
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/printable.hpp"
#include "class/gradebook_state.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

using SQLite::Statement;

template <class Value>
Value parsed(const SQLite::Column& column) {
  return parse_json(column.getString()).get<Value>();
}

using Words = std::vector<std::string>;

}  // namespace

std::optional<Course> Gradebook::course() const try {
  Statement row = state_->prepare("SELECT rubric, name, title, seed, exam, items FROM course");
  if (!row.executeStep()) return std::nullopt;
  Course course;
  course.rubric = row.getColumn(0).getString();
  course.name = row.getColumn(1).getString();
  course.title = row.getColumn(2).getString();
  course.seed = std::stoull(row.getColumn(3).getString());
  course.exam = row.getColumn(4).getString();
  course.items = parsed<std::vector<RubricItem>>(row.getColumn(5));
  return course;
} catch (...) {
  state_->refuse();
}

std::string Gradebook::how() const try {
  if (!state_->database->tableExists("settings")) return "";
  Statement row = state_->prepare("SELECT how FROM settings");
  return row.executeStep() ? row.getColumn(0).getString() : "";
} catch (...) {
  state_->refuse();
}

std::map<std::string, HandedIn> Gradebook::handed_in() const try {
  std::map<std::string, HandedIn> all;
  if (!state_->database->tableExists("times")) return all;
  // Of two, the roster's comes last.
  Statement row = state_->prepare(
      "SELECT submission, handed_in, said_by = 'old roster' FROM times ORDER BY submission, "
      "said_by");
  while (row.executeStep()) {
    all[row.getColumn(0).getString()] = {row.getColumn(1).getInt64(),
                                         row.getColumn(2).getInt() != 0};
  }
  return all;
} catch (...) {
  state_->refuse();
}

std::map<std::string, Entry> Gradebook::entries() const try {
  std::map<std::string, Entry> all;
  Statement row =
      state_->prepare("SELECT name, path, files, exam, limits, failure, again FROM submissions");
  while (row.executeStep()) {
    auto entry = row.getColumns<Entry, 6>();
    entry.again = row.getColumn(6).getInt() != 0;
    all.emplace(entry.name, std::move(entry));
  }
  return all;
} catch (...) {
  state_->refuse();
}

std::vector<GradedItem> Gradebook::State::items(const std::string& name) {
  std::vector<GradedItem> items;
  Statement row = prepare(
      "SELECT item, problems, points, earned, groups, undiagnosed FROM items "
      "WHERE submission = ? ORDER BY number",
      name);
  while (row.executeStep()) {
    GradedItem& item = items.emplace_back();
    item.name = row.getColumn(0).getString();
    item.problems = parsed<Words>(row.getColumn(1));
    item.points = row.getColumn(2).getDouble();
    item.earned = row.getColumn(3).getDouble();
    item.groups = parsed<std::vector<GradedGroup>>(row.getColumn(4));
    item.undiagnosed = parsed<Words>(row.getColumn(5));
  }
  Statement found = prepare(
      "SELECT item, problem, mistake, agrees, of_cases FROM diagnoses "
      "WHERE submission = ? ORDER BY number",
      name);
  while (found.executeStep()) {
    for (GradedItem& item : items) {
      if (item.name != found.getColumn(0).getString()) continue;
      item.diagnoses.push_back({found.getColumn(1).getString(),
                                found.getColumn(2).getString(),
                                found.getColumn(3).getInt64(),
                                found.getColumn(4).getInt64(),
                                {}});
    }
  }
  if (!database->tableExists("explanations")) return items;
  Statement more =
      prepare("SELECT item, diagnoses, properties FROM explanations WHERE submission = ?", name);
  while (more.executeStep()) {
    const auto item = std::ranges::find(items, more.getColumn(0).getString(), &GradedItem::name);
    if (item == items.end()) continue;
    item->diagnoses = parsed<std::vector<Diagnosis>>(more.getColumn(1));
    item->properties = parsed<std::vector<Property>>(more.getColumn(2));
  }
  return items;
}

Grading Gradebook::outline(const std::string& name) const try {
  Statement row = state_->prepare(
      "SELECT kind, status, message, rubric, title, sandbox, notes, imports, seed, seconds "
      "FROM submissions WHERE name = ? AND status IS NOT NULL",
      name);
  if (!row.executeStep()) {
    throw UsageError(state_->file.string() + ": nothing of '" + printable(name) + "' is graded");
  }
  Grading grading;
  grading.submission = name;
  grading.kind = row.getColumn(0).getString();
  grading.status = status_of(row.getColumn(1).getString());
  grading.message = row.getColumn(2).getString();
  grading.rubric = row.getColumn(3).getString();
  grading.title = row.getColumn(4).getString();
  grading.sandbox = row.getColumn(5).getString();
  grading.notes = parsed<Words>(row.getColumn(6));
  grading.imports = parsed<Words>(row.getColumn(7));
  grading.seed = std::stoull(row.getColumn(8).getString());
  grading.seconds = row.getColumn(9).getDouble();
  grading.items = state_->items(name);
  return grading;
} catch (...) {
  state_->refuse();
}

Grading Gradebook::grading(const std::string& name) const try {
  Grading grading = outline(name);
  Statement row = state_->prepare(
      "SELECT item, seconds, report FROM cases WHERE submission = ? ORDER BY number", name);
  while (row.executeStep()) {
    Json record = parsed<Json>(row.getColumn(2));
    const double seconds = row.getColumn(1).getDouble();
    const bool hidden = !record["secret"].is_null();
    record["result"]["seconds"] = hidden ? 0 : seconds;
    if (hidden) record["secret"]["result"]["seconds"] = seconds;
    for (GradedItem& item : grading.items) {
      if (item.name == row.getColumn(0).getString()) item.cases.push_back(record.get<GradedCase>());
    }
  }
  return grading;
} catch (...) {
  state_->refuse();
}

std::map<std::string, std::map<Status, std::int64_t>> Gradebook::statuses() const {
  std::map<std::string, std::map<Status, std::int64_t>> all;
  for (const auto& [submission, problems] : tallies()) {
    for (const auto& [problem, counts] : problems) {
      for (const auto& [status, count] : counts) all[submission][status] += count;
    }
  }
  return all;
}

std::map<std::string, std::map<std::string, std::map<Status, std::int64_t>>> Gradebook::tallies()
    const try {
  std::map<std::string, std::map<std::string, std::map<Status, std::int64_t>>> all;
  Statement row = state_->prepare("SELECT submission, problem, status, cases FROM tallies");
  while (row.executeStep()) {
    all[row.getColumn(0).getString()][row.getColumn(1).getString()]
       [status_of(row.getColumn(2).getString())] = row.getColumn(3).getInt64();
  }
  return all;
} catch (...) {
  state_->refuse();
}

std::vector<SetPoints> Gradebook::set_points(const std::string& name) const try {
  std::vector<SetPoints> all;
  Statement row = state_->prepare(
      "SELECT item, points, why FROM set_points WHERE submission = ? ORDER BY item", name);
  while (row.executeStep()) {
    all.push_back(row.getColumns<SetPoints, 3>());
  }
  return all;
} catch (...) {
  state_->refuse();
}

std::map<std::string, std::vector<SetPoints>> Gradebook::all_set_points() const try {
  std::map<std::string, std::vector<SetPoints>> all;
  Statement row = state_->prepare(
      "SELECT submission, item, points, why FROM set_points ORDER BY submission, item");
  while (row.executeStep()) {
    all[row.getColumn(0).getString()].push_back(
        {row.getColumn(1).getString(), row.getColumn(2).getDouble(), row.getColumn(3).getString()});
  }
  return all;
} catch (...) {
  state_->refuse();
}

std::vector<Student> Gradebook::roster() const try {
  std::vector<Student> all;
  Statement row =
      state_->prepare("SELECT submission, name, id, email FROM students ORDER BY number");
  while (row.executeStep()) {
    all.push_back(row.getColumns<Student, 4>());
  }
  return all;
} catch (...) {
  state_->refuse();
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
