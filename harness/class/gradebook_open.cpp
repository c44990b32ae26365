// The gradebook's file: its tables, its lock, and what is refused.
#include "base/text.hpp"
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

constexpr int application = 0x706e726d;  // "pnrm"
constexpr int version = 3;

// `outline` is the record of a grading without its cases (grading_record.hpp). `results` has an
// array of cases for each of its items. A class's table is made without reading these, so
// `statuses` counts them. Views are for whoever looks at the file by other means.
constexpr const char* schema = R"sql(
CREATE TABLE course(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  rubric TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL,
  seed TEXT NOT NULL, exam TEXT NOT NULL, items TEXT NOT NULL, how TEXT NOT NULL) STRICT;
CREATE TABLE submissions(
  name TEXT PRIMARY KEY, path BLOB NOT NULL, files TEXT NOT NULL, changed INTEGER,
  exam TEXT NOT NULL, limits TEXT NOT NULL, failure TEXT NOT NULL, regrade INTEGER NOT NULL,
  program TEXT, graded_at TEXT, statuses TEXT, outline TEXT, results TEXT,
  status TEXT AS (outline ->> 'status'), message TEXT AS (outline ->> 'message'),
  sandbox TEXT AS (outline ->> 'sandbox'), seconds REAL AS (outline ->> 'seconds')) STRICT;
CREATE TABLE set_points(
  submission TEXT NOT NULL, item TEXT NOT NULL, points REAL NOT NULL, why TEXT NOT NULL,
  set_at TEXT NOT NULL, PRIMARY KEY (submission, item)) STRICT, WITHOUT ROWID;
CREATE TABLE students(
  number INTEGER PRIMARY KEY, submission TEXT NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL,
  email TEXT NOT NULL, handed_in INTEGER, outdated INTEGER NOT NULL) STRICT;
CREATE VIEW items AS SELECT
  submissions.name AS submission, item.key AS number, item.value ->> 'name' AS item,
  item.value -> 'problems' AS problems, item.value ->> 'points' AS points,
  item.value ->> 'earned' AS earned, item.value -> 'groups' AS groups,
  item.value -> 'diagnoses' AS diagnoses
  FROM submissions, json_each(outline, '$.items') AS item;
CREATE VIEW cases AS SELECT
  submissions.name AS submission,
  row_number() OVER (PARTITION BY submissions.name ORDER BY item.key, one.key) - 1 AS number,
  outline ->> ('$.items[' || item.key || '].name') AS item,
  one.value ->> '$.result.problem' AS problem, one.value ->> '$.result.case' AS name,
  one.value ->> 'hidden' AS hidden, one.value ->> '$.result.status' AS status
  FROM submissions, json_each(results) AS item, json_each(item.value) AS one;
)sql";

/// Only its owner may read it: it has hidden cases and points.
void make_private(const fs::path& file) {
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) {
    ::close(made);
  } else if (errno != EEXIST) {
    throw UsageError("cannot write " + file.string() + ": " + std::strerror(errno));
  }
}

/// Refuses a file that is no gradebook of this version, by its first bytes: SQLite would complete
/// what a killed writer left beside a database, and so change the file. `may_make`: an empty one is
/// a new gradebook.
void check_head(const fs::path& file, bool may_make) {
  if (!fs::is_regular_file(file)) throw UsageError(file.string() + ": not a file");
  std::array<char, 100> head{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError("cannot read " + file.string() + ": " + std::strerror(errno));
  stream.read(head.data(), head.size());
  if (stream.gcount() == 0 && may_make) return;
  if (stream.gcount() == 0) throw UsageError(file.string() + ": is empty, no gradebook");
  constexpr std::string_view magic("SQLite format 3", 16);  // with its zero
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
  if (found != version) {
    throw UsageError(fmt::format("{}: is a gradebook of version {}; this program knows {}",
                                 file.string(), found, version));
  }
}

/// Makes the tables of a new file, and refuses a damaged one.
void make_or_check(SQLite::Database& database, const fs::path& file, bool may_make) {
  const bool is_new = database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
  if (is_new && !may_make) throw UsageError(file.string() + ": is empty, no gradebook");
  if (is_new) {
    // All or nothing: a file that was not finished is empty.
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    database.exec(schema);
    database.exec(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application, version));
    transaction.commit();
  }
  const std::string damage = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (damage != "ok") throw UsageError(file.string() + ": is damaged: " + printable(damage));
}

}  // namespace

GradebookLock::GradebookLock(const fs::path& book)
    : path_(fs::weakly_canonical(book).string() + ".lock") {
  for (;;) {
    file_ = OpenFile(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file_.is_open()) throw UsageError("cannot write " + path_ + ": " + std::strerror(errno));
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {
        throw UsageError("cannot lock " + path_ + ": " + std::strerror(errno));
      }
      std::string holder(200, '\0');
      const ssize_t got = ::pread(file_.get(), holder.data(), holder.size(), 0);
      holder.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
      throw UsageError(book.string() + ": another grader is at work on it" +
                       (holder.empty() ? "" : " (" + printable(holder) + ")"));
    }
    // Its holder may have removed the file after it was opened here and before it was locked.
    struct stat ours {
    }, there{};
    if (::fstat(file_.get(), &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      break;
    }
  }
  std::string host(200, '\0');
  ::gethostname(host.data(), host.size() - 1);
  const std::string holder = fmt::format("process {} on {}", ::getpid(), host.c_str());
  if (::ftruncate(file_.get(), 0) != 0) return;
  if (::pwrite(file_.get(), holder.data(), holder.size(), 0) < 0) return;
}

GradebookLock::~GradebookLock() { ::unlink(path_.c_str()); }

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
    state.made = !fs::exists(file, ignored);  // again: with the lock, nobody else makes it
    make_private(file);
  }
  check_head(file, access == Access::create);
  state.guarded([&] {
    // A reader may have to recover a killed writer's journal.
    const bool writable = ::access(file.c_str(), W_OK) == 0;
    state.database.emplace(file.string(),
                           writable ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY);
    state.database->setBusyTimeout(20000);
    make_or_check(*state.database, file, access == Access::create);
    if (access != Access::read) {
      state.database->exec("PRAGMA journal_mode = WAL");
      state.database->exec("PRAGMA synchronous = FULL");
    }
  });
}

Gradebook::State::~State() {
  if (!made) return;
  database.reset();
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(file.string() + part, ignored);
}

void Gradebook::State::refuse() {
  // A file that is refused is left as it is, with what a killed writer left beside it.
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
  } catch (const std::exception& error) {  // invalid JSON, number or status in it
    throw UsageError(file.string() + ": is damaged: " + printable(error.what()));
  }
}

}  // namespace prenorm::harness
