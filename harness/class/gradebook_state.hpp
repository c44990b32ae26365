// What the sources of the gradebook share.
#pragma once

#include "base/open_file.hpp"
#include "class/gradebook.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

namespace prenorm::harness {

/// The lock that a process holds while it may change the gradebook. A separate file, as SQLite's
/// locks last for a transaction only.
class GradebookLock {
 public:
  explicit GradebookLock(const fs::path& book);
  ~GradebookLock();
  GradebookLock(GradebookLock&&) = delete;  // nor copied

 private:
  std::string path_;
  OpenFile file_;
};

/// Of a value that may be NULL.
inline void bind_value(SQLite::Statement& statement, int at,
                       const std::optional<std::int64_t>& value) {
  value ? statement.bind(at, *value) : statement.bind(at);
}
template <class Value>
void bind_value(SQLite::Statement& statement, int at, const Value& value) {
  statement.bind(at, value);
}

struct Gradebook::State {
  State() = default;
  /// Removes a file that this process made and that has no course: nothing could be graded. While
  /// the lock is held.
  ~State();
  State(State&&) = delete;  // nor copied

  fs::path file;
  bool made = false;  // by this process, and there is no course in it yet
  std::optional<GradebookLock> lock;
  std::optional<SQLite::Database> database;

  /// Rethrows what was caught as a UsageError that names the file.
  [[noreturn]] void refuse();
  /// Returns what `work` returns; refuses what it throws.
  template <class Work>
  auto guarded(Work work) {
    try {
      return work();
    } catch (...) {
      refuse();
    }
  }
  /// The same in one transaction.
  template <class Work>
  void change(Work work) {
    guarded([&] {
      SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      transaction.commit();
    });
  }

  /// A statement with values for its parameters.
  template <class... Values>
  SQLite::Statement prepare(const std::string& sql, const Values&... values) {
    SQLite::Statement statement(*database, sql);
    [[maybe_unused]] int at = 0;
    (bind_value(statement, ++at, values), ...);
    return statement;
  }
  /// Executes it; returns how many rows it changed.
  template <class... Values>
  int execute(const std::string& sql, const Values&... values) {
    return prepare(sql, values...).exec();
  }

  std::optional<std::string> called_otherwise(const std::string& submission,
                                              const std::string& table);
  void call_in_roster(const std::string& submission);
};

}  // namespace prenorm::harness
