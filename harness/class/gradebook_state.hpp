// What the sources of the gradebook share.
#pragma once

#include "class/gradebook.hpp"
#include "grade/grading_record.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

namespace prenorm::harness {

PRENORM_JSON(RubricGroup, name, hidden, share)
PRENORM_JSON(RubricItem, name, problems, points, groups)

/// The lock that a process holds as long as it may change the gradebook. A file of its own:
/// SQLite's locks come and go with each transaction.
class GradebookLock {
 public:
  explicit GradebookLock(const std::filesystem::path& book);
  ~GradebookLock();
  GradebookLock(const GradebookLock&) = delete;
  GradebookLock& operator=(const GradebookLock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
};

struct Gradebook::State {
  State() = default;
  /// A file that this process has made and that no course was put into is removed: whatever was to
  /// be graded was refused. While the lock is held.
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::filesystem::path file;
  bool made = false;  // by this process, and there is no course in it yet
  std::optional<GradebookLock> lock;
  std::optional<SQLite::Database> database;

  /// A statement with values for its question marks.
  template <class... Values>
  SQLite::Statement prepare(const char* sql, const Values&... values) {
    SQLite::Statement statement(*database, sql);
    if constexpr (sizeof...(values) > 0) SQLite::bind(statement, values...);
    return statement;
  }
  /// Rethrows what was caught as a UsageError that names the file.
  [[noreturn]] void refuse();
  std::vector<GradedItem> items(const std::string& name);
  /// The roster, with the points and times that it brought, calls this submission as it is called,
  /// however accents are written there.
  void call_in_roster(const std::string& submission);

  /// Rows that may be of a submission that is not there yet.
  struct NamedRows {
    const char* table;
    const char* which = "TRUE";
  };
  /// The name in these rows that differs from the submission's in how accents are written alone;
  /// nothing where its own name is there, or two others, or another submission has that name.
  std::optional<std::string> called_otherwise(const std::string& submission, const NamedRows& rows);
};

/// Executes a statement that may be executed again. Returns how many rows it changed.
template <class... Values>
int execute(SQLite::Statement& statement, const Values&... values) {
  SQLite::bind(statement, values...);
  const int changed = statement.exec();
  statement.reset();
  return changed;
}

}  // namespace prenorm::harness
