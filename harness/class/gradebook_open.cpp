// The gradebook's file: its tables, its lock, and what is refused.
#include "base/error.hpp"
#include "base/printable.hpp"
#include "class/gradebook_state.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr int application = 0x706e726d;  // "pnrm"
// 1, before version 0.2 of the program: other rules of scoring, and items had a column by_heart.
constexpr int version = 2, oldest = 1;

// `report` and `groups` are JSON: record.hpp. Times stand in columns of their own, so that
// gradebooks can be compared without them. `tallies` counts `cases`: a class's table is made
// without reading each of those.
constexpr const char* schema = R"sql(
CREATE TABLE course(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  rubric TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL,
  seed TEXT NOT NULL, exam TEXT NOT NULL, items TEXT NOT NULL) STRICT;
CREATE TABLE submissions(
  name TEXT PRIMARY KEY, path BLOB NOT NULL, files TEXT NOT NULL, exam TEXT NOT NULL,
  limits TEXT NOT NULL, failure TEXT NOT NULL, again INTEGER NOT NULL,
  kind TEXT, status TEXT, message TEXT, rubric TEXT, title TEXT, sandbox TEXT,
  notes TEXT, imports TEXT, seed TEXT,
  program TEXT, seconds REAL, graded_at TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE items(
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, number INTEGER NOT NULL,
  item TEXT NOT NULL, problems TEXT NOT NULL, points REAL NOT NULL, earned REAL NOT NULL,
  groups TEXT NOT NULL, undiagnosed TEXT NOT NULL,
  PRIMARY KEY (submission, number)) STRICT, WITHOUT ROWID;
CREATE TABLE cases(
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, number INTEGER NOT NULL,
  item TEXT NOT NULL, problem TEXT NOT NULL, name TEXT NOT NULL, hidden INTEGER NOT NULL,
  status TEXT NOT NULL, seconds REAL NOT NULL, report TEXT NOT NULL,
  PRIMARY KEY (submission, number)) STRICT, WITHOUT ROWID;
CREATE TABLE tallies(
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, problem TEXT NOT NULL,
  status TEXT NOT NULL, cases INTEGER NOT NULL,
  PRIMARY KEY (submission, problem, status)) STRICT, WITHOUT ROWID;
CREATE TABLE diagnoses(
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, number INTEGER NOT NULL,
  item TEXT NOT NULL, problem TEXT NOT NULL, mistake TEXT NOT NULL,
  agrees INTEGER NOT NULL, of_cases INTEGER NOT NULL,
  PRIMARY KEY (submission, number)) STRICT, WITHOUT ROWID;
CREATE TABLE set_points(
  submission TEXT NOT NULL, item TEXT NOT NULL, points REAL NOT NULL, why TEXT NOT NULL,
  set_at TEXT NOT NULL, PRIMARY KEY (submission, item)) STRICT, WITHOUT ROWID;
CREATE TABLE students(
  number INTEGER PRIMARY KEY, submission TEXT NOT NULL,
  name TEXT NOT NULL, id TEXT NOT NULL, email TEXT NOT NULL) STRICT;
)sql";

// Tables of later programs, which an earlier one does not miss. A gradebook that an earlier one
// made gets them when it is changed, and is read without them.
constexpr const char* later_tables = R"sql(
CREATE TABLE IF NOT EXISTS settings(
  one INTEGER PRIMARY KEY CHECK (one = 1), how TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS times(
  submission TEXT NOT NULL, said_by TEXT NOT NULL, handed_in INTEGER NOT NULL,
  PRIMARY KEY (submission, said_by)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS explanations(
  submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, item TEXT NOT NULL,
  diagnoses TEXT NOT NULL, properties TEXT NOT NULL,
  PRIMARY KEY (submission, item)) STRICT, WITHOUT ROWID;
)sql";

// An earlier program let a submission have one student alone.
constexpr const char* shared_submissions = R"sql(
CREATE TABLE students_now(
  number INTEGER PRIMARY KEY, submission TEXT NOT NULL,
  name TEXT NOT NULL, id TEXT NOT NULL, email TEXT NOT NULL) STRICT;
INSERT INTO students_now SELECT number, submission, name, id, email FROM students;
DROP TABLE students;
ALTER TABLE students_now RENAME TO students;
)sql";

/// Nobody else may read it: hidden cases and points are in it.
void make_private(const fs::path& file) {
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) {
    ::close(made);
  } else if (errno != EEXIST) {
    throw UsageError("cannot write " + file.string() + ": " + std::strerror(errno));
  }
}

/// Refuses what is no gradebook that this program knows, by the file's first bytes: SQLite itself
/// would finish what somebody's killed writer left beside a database, and so change it.
/// `may_make`: somebody grades into it, and makes it where it is not there.
void check_head(const fs::path& file, bool may_make) {
  if (!fs::is_regular_file(file)) throw UsageError(file.string() + ": not a file");
  std::array<char, 100> head{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError("cannot read " + file.string() + ": " + std::strerror(errno));
  stream.read(head.data(), head.size());
  if (stream.gcount() == 0 && may_make) return;
  if (stream.gcount() == 0) throw UsageError(file.string() + ": is empty, no gradebook");
  constexpr std::string_view magic("SQLite format 3", 16);  // and its zero
  if (std::string_view(head.data(), magic.size()) != magic) {
    throw UsageError(file.string() + ": not a gradebook");
  }
  if (stream.gcount() < 100) throw UsageError(file.string() + ": is damaged: it is cut off");
  const auto number = [&head](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = (value << 8) | static_cast<unsigned char>(head[at + i]);
    }
    return value;
  };
  if (number(68) != application) {
    throw UsageError(file.string() + ": is a database of something else, no gradebook");
  }
  const auto found = static_cast<std::int32_t>(number(60));
  if (found < oldest || found > version) {
    throw UsageError(fmt::format("{}: is a gradebook of version {}; this program knows {} to {}",
                                 file.string(), found, oldest, version));
  }
  if (found < version && may_make) {
    throw UsageError(file.string() +
                     ": was made by the scoring rules of before version 0.2; points by the new "
                     "rules do not go with these. It can be looked at; to grade, name a new file");
  }
}

/// Makes the tables of a new file, and refuses a damaged one.
void make_or_check(SQLite::Database& database, const fs::path& file, bool may_make) {
  const bool is_new = database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
  if (is_new && !may_make) throw UsageError(file.string() + ": is empty, no gradebook");
  if (is_new) {
    // All or nothing: a file that was begun and not finished is empty.
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    database.exec(schema);
    database.exec(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application, version));
    transaction.commit();
  }
  const std::string damage = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (damage != "ok") throw UsageError(file.string() + ": is damaged: " + printable(damage));
}

void let_students_share(SQLite::Database& database) {
  const int unique =
      database.execAndGet("SELECT count(*) FROM pragma_index_list('students')").getInt();
  if (unique == 0) return;
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec(shared_submissions);
  transaction.commit();
}

}  // namespace

GradebookLock::GradebookLock(const fs::path& book)
    : path_(fs::weakly_canonical(book).string() + ".lock") {
  for (;;) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) throw UsageError("cannot write " + path_ + ": " + std::strerror(errno));
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {
        const int reason = errno;
        ::close(file_);
        throw UsageError("cannot lock " + path_ + ": " + std::strerror(reason));
      }
      std::string holder(200, '\0');
      const ssize_t got = ::pread(file_, holder.data(), holder.size(), 0);
      holder.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
      ::close(file_);
      throw UsageError(book.string() + ": another grader is at work on it" +
                       (holder.empty() ? "" : " (" + printable(holder) + ")"));
    }
    // Whoever held it may have taken the file away between our opening and our locking.
    struct stat ours {
    }, there{};
    if (::fstat(file_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      break;
    }
    ::close(file_);
  }
  std::string host(200, '\0');
  ::gethostname(host.data(), host.size() - 1);
  const std::string holder = fmt::format("process {} on {}", ::getpid(), host.c_str());
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, holder.data(), holder.size(), 0) < 0) return;
}

GradebookLock::~GradebookLock() {
  ::unlink(path_.c_str());
  ::close(file_);
}

Gradebook::Gradebook(const fs::path& file, Access access) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.file = file;
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) throw UsageError(file.string() + ": is a folder");
  if (access != Access::create && !fs::exists(file, ignored)) {
    throw UsageError(file.string() + ": no such gradebook");
  }
  if (access != Access::read) state.lock.emplace(file);
  if (access == Access::create) {
    state.made = !fs::exists(file, ignored);  // once more: nobody else may make it now
    make_private(file);
  }
  check_head(file, access == Access::create);
  try {
    // Whoever only reads may still have to bring a killed writer's journal in.
    const bool writable = ::access(file.c_str(), W_OK) == 0;
    state.database.emplace(file.string(),
                           writable ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY);
    state.database->setBusyTimeout(20000);
    make_or_check(*state.database, file, access == Access::create);
    if (access != Access::read) {
      state.database->exec("PRAGMA journal_mode = WAL");
      state.database->exec("PRAGMA synchronous = FULL");
      state.database->exec("PRAGMA foreign_keys = ON");
      state.database->exec(later_tables);
      let_students_share(*state.database);
    }
  } catch (...) {
    state.refuse();
  }
}

Gradebook::State::~State() {
  if (!made) return;
  database.reset();
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(file.string() + part, ignored);
}

void Gradebook::State::refuse() {
  // What is not understood is not changed either, by what a killed writer left beside it.
  if (database) {
    ::sqlite3_db_config(database->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  try {
    throw;
  } catch (const UsageError&) {
    throw;
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    const bool damaged = code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR;
    throw UsageError(file.string() + ": " + (damaged ? "is damaged: " : "") +
                     printable(error.what()));
  } catch (const std::exception& error) {  // what stands in it is no JSON, no number, no status
    throw UsageError(file.string() + ": is damaged: " + printable(error.what()));
  }
}

Gradebook::~Gradebook() = default;

const fs::path& Gradebook::file() const { return state_->file; }

}  // namespace prenorm::harness
