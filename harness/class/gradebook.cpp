#include "class/gradebook.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "grade/grading_record.hpp"
#include "grade/report_parts.hpp"
#include "report/report.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
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
using Json = nlohmann::ordered_json;
using SQLite::Statement;

constexpr int application = 0x706e726d;  // "pnrm"
constexpr int version = 1;

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
  groups TEXT NOT NULL, undiagnosed TEXT NOT NULL, by_heart TEXT NOT NULL,
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
  number INTEGER PRIMARY KEY, submission TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL, id TEXT NOT NULL, email TEXT NOT NULL) STRICT;
)sql";

std::string now() {
  std::string text(20, '\0');
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  text.resize(std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

/// Held as long as this process may change the gradebook. A file of its own: SQLite's locks come
/// and go with each transaction.
class Lock {
 public:
  explicit Lock(const fs::path& book) : path_(fs::weakly_canonical(book).string() + ".lock") {
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
  ~Lock() {
    ::unlink(path_.c_str());
    ::close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
};

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
void check_head(const fs::path& file, bool may_be_empty) {
  if (!fs::is_regular_file(file)) throw UsageError(file.string() + ": is no file");
  std::array<char, 100> head{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError("cannot read " + file.string() + ": " + std::strerror(errno));
  stream.read(head.data(), head.size());
  if (stream.gcount() == 0 && may_be_empty) return;
  if (stream.gcount() == 0) throw UsageError(file.string() + ": is empty, no gradebook");
  constexpr std::string_view magic("SQLite format 3", 16);  // and its zero
  if (std::string_view(head.data(), magic.size()) != magic) {
    throw UsageError(file.string() + ": is no gradebook");
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
  if (const auto found = static_cast<std::int32_t>(number(60)); found != version) {
    throw UsageError(fmt::format("{}: is a gradebook of version {}; this program knows version {}",
                                 file.string(), found, version));
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

Json item_record(const RubricItem& item) {
  Json groups = Json::array();
  for (const RubricGroup& group : item.groups) {
    groups.push_back({{"name", group.name}, {"hidden", group.hidden}, {"share", group.share}});
  }
  return {{"name", item.name},
          {"problems", item.problems},
          {"points", item.points},
          {"groups", std::move(groups)}};
}

RubricItem item_of(const Json& record) {
  RubricItem item;
  record.at("name").get_to(item.name);
  record.at("problems").get_to(item.problems);
  record.at("points").get_to(item.points);
  for (const Json& each : record.at("groups")) {
    RubricGroup& group = item.groups.emplace_back();
    each.at("name").get_to(group.name);
    each.at("hidden").get_to(group.hidden);
    each.at("share").get_to(group.share);
  }
  return item;
}

Json groups_record(const GradedItem& item) {
  Json groups = Json::array();
  for (const GradedGroup& group : item.groups) groups.push_back(group_record(group));
  return groups;
}

std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

struct Gradebook::State {
  fs::path file;
  std::optional<Lock> lock;
  std::optional<SQLite::Database> database;

  Statement prepare(const char* sql) { return {*database, sql}; }
  /// Of what was caught: the same as UsageError, which names the file.
  [[noreturn]] void refuse();
  std::vector<GradedItem> items(const std::string& name);
};

Gradebook::Gradebook(const fs::path& file, Access access) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.file = file;
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) throw UsageError(file.string() + ": is a folder");
  const bool there = fs::exists(file, ignored);
  if (!there && access != Access::create) throw UsageError(file.string() + ": no such gradebook");
  if (access != Access::read) state.lock.emplace(file);
  if (access == Access::create) make_private(file);
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
    }
  } catch (...) {
    state.refuse();
  }
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

std::optional<Course> Gradebook::course() const try {
  Statement row = state_->prepare("SELECT rubric, name, title, seed, exam, items FROM course");
  if (!row.executeStep()) return std::nullopt;
  Course course;
  course.rubric = row.getColumn(0).getString();
  course.name = row.getColumn(1).getString();
  course.title = row.getColumn(2).getString();
  course.seed = std::stoull(row.getColumn(3).getString());
  course.exam = row.getColumn(4).getString();
  for (const Json& item : Json::parse(row.getColumn(5).getString())) {
    course.items.push_back(item_of(item));
  }
  return course;
} catch (...) {
  state_->refuse();
}

std::size_t Gradebook::set_course(const Course& course) try {
  Json items = Json::array();
  for (const RubricItem& item : course.items) items.push_back(item_record(item));
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  Statement put = state_->prepare("INSERT OR REPLACE INTO course VALUES (1, ?, ?, ?, ?, ?, ?)");
  put.bind(1, course.rubric);
  put.bind(2, course.name);
  put.bind(3, course.title);
  put.bind(4, std::to_string(course.seed));
  put.bind(5, course.exam);
  put.bind(6, line(items));
  put.exec();
  std::size_t changed = 0;
  Statement update = state_->prepare(
      "UPDATE items SET points = ?, earned = ?, groups = ? WHERE submission = ? AND number = ?");
  for (const auto& [name, entry] : entries()) {
    if (entry.exam != course.exam) continue;
    bool any = false;
    std::vector<GradedItem> graded = state_->items(name);
    for (std::size_t i = 0; i < graded.size() && i < course.items.size(); ++i) {
      const std::string before =
          line(groups_record(graded[i])) + fmt::format("{}", graded[i].points);
      take_points(graded[i], course.items[i]);
      const std::string groups = line(groups_record(graded[i]));
      if (groups + fmt::format("{}", graded[i].points) == before) continue;
      any = true;
      update.bind(1, graded[i].points);
      update.bind(2, graded[i].earned);
      update.bind(3, groups);
      update.bind(4, name);
      update.bind(5, static_cast<std::int64_t>(i));
      update.exec();
      update.reset();
    }
    changed += any ? 1 : 0;
  }
  transaction.commit();
  return changed;
} catch (...) {
  state_->refuse();
}

std::map<std::string, Entry> Gradebook::entries() const try {
  std::map<std::string, Entry> all;
  Statement row =
      state_->prepare("SELECT name, path, files, exam, limits, failure, again FROM submissions");
  while (row.executeStep()) {
    Entry entry;
    entry.name = row.getColumn(0).getString();
    entry.path = row.getColumn(1).getString();
    entry.files = row.getColumn(2).getString();
    entry.exam = row.getColumn(3).getString();
    entry.limits = row.getColumn(4).getString();
    entry.failure = row.getColumn(5).getString();
    entry.again = row.getColumn(6).getInt() != 0;
    all.emplace(entry.name, std::move(entry));
  }
  return all;
} catch (...) {
  state_->refuse();
}

void Gradebook::put(const Entry& entry, const Grading& grading) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  remove(entry.name);
  Statement put = state_->prepare(
      "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, '', 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  put.bind(1, entry.name);
  put.bind(2, entry.path.data(), static_cast<int>(entry.path.size()));
  put.bind(3, entry.files);
  put.bind(4, entry.exam);
  put.bind(5, entry.limits);
  put.bind(6, grading.kind);
  put.bind(7, std::string(harness::name(grading.status)));
  put.bind(8, grading.message);
  put.bind(9, grading.rubric);
  put.bind(10, grading.title);
  put.bind(11, grading.sandbox);
  put.bind(12, line(grading.notes));
  put.bind(13, line(grading.imports));
  put.bind(14, std::to_string(grading.seed));
  put.bind(15, std::string(program_version()));
  put.bind(16, grading.seconds);
  put.bind(17, now());
  put.exec();
  Statement put_item = state_->prepare("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement put_case = state_->prepare("INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement put_diagnosis = state_->prepare("INSERT INTO diagnoses VALUES (?, ?, ?, ?, ?, ?, ?)");
  std::int64_t items = 0, cases = 0, diagnoses = 0;
  std::map<std::pair<std::string, std::string>, std::int64_t> tallies;
  for (const GradedItem& item : grading.items) {
    SQLite::bind(put_item, entry.name, items++, item.name, line(item.problems), item.points,
                 item.earned, line(groups_record(item)), line(item.undiagnosed),
                 line(item.by_heart));
    put_item.exec();
    put_item.reset();
    std::map<std::string, std::size_t> pictured;
    for (const GradedCase& graded : item.cases) {
      Json record = case_record(graded);
      if (!graded.errors.empty() && ++pictured[graded.result.problem] > most_pictured) {
        record["errors"] = Json::array();
      }
      ++tallies[{graded.result.problem, std::string(harness::name(graded.result.status))}];
      record["result"].erase("seconds");
      double seconds = graded.result.seconds;
      if (graded.secret) {
        seconds = graded.secret->result.seconds;
        record["secret"]["result"].erase("seconds");
      }
      SQLite::bind(put_case, entry.name, cases++, item.name, graded.result.problem,
                   graded.result.case_name.value_or(""), graded.hidden ? 1 : 0,
                   std::string(harness::name(graded.result.status)), seconds, line(record));
      put_case.exec();
      put_case.reset();
    }
    for (const Diagnosis& diagnosis : item.diagnoses) {
      SQLite::bind(put_diagnosis, entry.name, diagnoses++, item.name, diagnosis.problem,
                   diagnosis.mistake, diagnosis.agrees, diagnosis.of);
      put_diagnosis.exec();
      put_diagnosis.reset();
    }
  }
  Statement put_tally = state_->prepare("INSERT INTO tallies VALUES (?, ?, ?, ?)");
  for (const auto& [what, count] : tallies) {
    SQLite::bind(put_tally, entry.name, what.first, what.second, count);
    put_tally.exec();
    put_tally.reset();
  }
  transaction.commit();
} catch (...) {
  state_->refuse();
}

void Gradebook::put_failure(const Entry& entry) try {
  Statement put = state_->prepare(
      "INSERT INTO submissions(name, path, files, exam, limits, failure, again) "
      "VALUES (?, ?, '', '', ?, ?, 0) ON CONFLICT (name) DO UPDATE SET failure = excluded.failure, "
      "again = 0");
  put.bind(1, entry.name);
  put.bind(2, entry.path.data(), static_cast<int>(entry.path.size()));
  put.bind(3, entry.limits);
  put.bind(4, entry.failure);
  put.exec();
} catch (...) {
  state_->refuse();
}

void Gradebook::put_again(const std::vector<std::string>& names) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  Statement put = state_->prepare("UPDATE submissions SET again = 1 WHERE name = ?");
  for (const std::string& name : names) {
    put.bind(1, name);
    put.exec();
    put.reset();
  }
  transaction.commit();
} catch (...) {
  state_->refuse();
}

void Gradebook::remove(const std::string& name) try {
  Statement remove = state_->prepare("DELETE FROM submissions WHERE name = ?");
  remove.bind(1, name);
  remove.exec();
} catch (...) {
  state_->refuse();
}

std::vector<GradedItem> Gradebook::State::items(const std::string& name) {
  std::vector<GradedItem> items;
  Statement row = prepare(
      "SELECT item, problems, points, earned, groups, undiagnosed, by_heart FROM items "
      "WHERE submission = ? ORDER BY number");
  row.bind(1, name);
  while (row.executeStep()) {
    GradedItem& item = items.emplace_back();
    item.name = row.getColumn(0).getString();
    item.problems = Json::parse(row.getColumn(1).getString()).get<std::vector<std::string>>();
    item.points = row.getColumn(2).getDouble();
    item.earned = row.getColumn(3).getDouble();
    for (const Json& group : Json::parse(row.getColumn(4).getString())) {
      item.groups.push_back(group_of(group));
    }
    item.undiagnosed = Json::parse(row.getColumn(5).getString()).get<std::vector<std::string>>();
    item.by_heart = Json::parse(row.getColumn(6).getString()).get<std::vector<std::string>>();
  }
  Statement found = prepare(
      "SELECT item, problem, mistake, agrees, of_cases FROM diagnoses "
      "WHERE submission = ? ORDER BY number");
  found.bind(1, name);
  while (found.executeStep()) {
    for (GradedItem& item : items) {
      if (item.name != found.getColumn(0).getString()) continue;
      item.diagnoses.push_back({found.getColumn(1).getString(), found.getColumn(2).getString(),
                                found.getColumn(3).getInt64(), found.getColumn(4).getInt64()});
    }
  }
  return items;
}

Grading Gradebook::outline(const std::string& name) const try {
  Statement row = state_->prepare(
      "SELECT kind, status, message, rubric, title, sandbox, notes, imports, seed, seconds "
      "FROM submissions WHERE name = ? AND status IS NOT NULL");
  row.bind(1, name);
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
  grading.notes = Json::parse(row.getColumn(6).getString()).get<std::vector<std::string>>();
  grading.imports = Json::parse(row.getColumn(7).getString()).get<std::vector<std::string>>();
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
      "SELECT item, seconds, report FROM cases WHERE submission = ? ORDER BY number");
  row.bind(1, name);
  while (row.executeStep()) {
    Json record = Json::parse(row.getColumn(2).getString());
    const double seconds = row.getColumn(1).getDouble();
    const bool hidden = !record["secret"].is_null();
    record["result"]["seconds"] = hidden ? 0 : seconds;
    if (hidden) record["secret"]["result"]["seconds"] = seconds;
    for (GradedItem& item : grading.items) {
      if (item.name == row.getColumn(0).getString()) item.cases.push_back(case_of(record));
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
      "SELECT item, points, why FROM set_points WHERE submission = ? ORDER BY item");
  row.bind(1, name);
  while (row.executeStep()) {
    all.push_back(
        {row.getColumn(0).getString(), row.getColumn(1).getDouble(), row.getColumn(2).getString()});
  }
  return all;
} catch (...) {
  state_->refuse();
}

void Gradebook::set_points(const std::string& name, const SetPoints& points) try {
  Statement put = state_->prepare("INSERT OR REPLACE INTO set_points VALUES (?, ?, ?, ?, ?)");
  SQLite::bind(put, name, points.item, points.points, points.why, now());
  put.exec();
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

bool Gradebook::unset_points(const std::string& name, const std::string& item) try {
  Statement remove = state_->prepare("DELETE FROM set_points WHERE submission = ? AND item = ?");
  SQLite::bind(remove, name, item);
  return remove.exec() > 0;
} catch (...) {
  state_->refuse();
}

std::vector<Student> Gradebook::roster() const try {
  std::vector<Student> all;
  Statement row =
      state_->prepare("SELECT submission, name, id, email FROM students ORDER BY number");
  while (row.executeStep()) {
    all.push_back({row.getColumn(0).getString(), row.getColumn(1).getString(),
                   row.getColumn(2).getString(), row.getColumn(3).getString()});
  }
  return all;
} catch (...) {
  state_->refuse();
}

void Gradebook::set_roster(const std::vector<Student>& students) try {
  SQLite::Transaction transaction(*state_->database, SQLite::TransactionBehavior::IMMEDIATE);
  state_->database->exec("DELETE FROM students");
  Statement put = state_->prepare("INSERT INTO students VALUES (?, ?, ?, ?, ?)");
  std::int64_t number = 0;
  for (const Student& student : students) {
    SQLite::bind(put, number++, student.submission, student.name, student.id, student.email);
    put.exec();
    put.reset();
  }
  transaction.commit();
} catch (...) {
  state_->refuse();
}

Grading with_set_points(Grading grading, const std::vector<SetPoints>& points) {
  for (const SetPoints& set : points) {
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
