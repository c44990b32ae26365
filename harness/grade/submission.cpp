#include "grade/submission.hpp"

#include "base/digest.hpp"
#include "base/json.hpp"
#include "base/open_file.hpp"
#include "base/paths.hpp"
#include "base/text.hpp"
#include "base/tree.hpp"
#include "grade/confinement.hpp"
#include "grade/snapshot.hpp"
#include "worker/protocol.hpp"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// Of one file of outputs, and of all of them.
constexpr double seconds_to_read_file = 10, seconds_to_read_outputs = 60;
constexpr std::size_t addresses_of_python = 16ull << 30;
/// Of a sandbox with a library in it: however little time a call may take.
constexpr double seconds_to_start = 10;
/// Of torch, by a machine that has much else to do.
constexpr double seconds_to_import = 60;

bool is_cuda(const fs::path& path) { return path.extension() == ".cu"; }
bool is_library(const fs::path& path) { return path.extension() == ".so"; }
bool is_outputs(const fs::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

/// "lib.so/variant" names one version of each problem in a library.
std::pair<fs::path, std::string> split_variant(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored)) && is_library(path.parent_path())) {
    return {path.parent_path(), path.filename().string()};
  }
  return {path, ""};
}

/// A byte that belongs to no character is shown as the harmful character of that number is.
bool has_byte_like_character(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0 && static_cast<unsigned char>(text[0]) <= 0xad) return true;
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return false;
}

/// Tables and pages show as many spaces as they like.
bool has_loose_space(std::string_view text) {
  return text.starts_with(' ') || text.ends_with(' ') || text.find("  ") != text.npos;
}

/// "a/b" for "a/b/".
fs::path without_slash(fs::path path) {
  while (path.has_relative_path() && path.filename().empty()) path = path.parent_path();
  return path;
}

/// Whether a regular file's first MiB has the word. It may be another file by now, or a pipe that
/// never answers.
bool mentions_prenorm(const TreeEntry& entry) {
  const OpenFile file(
      ::openat(entry.folder, entry.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::string text(1u << 20, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text.find("prenorm") != text.npos;
}

/// Whether a file below the folder is wanted. Not in environments, where others' files lie, nor in
/// what cannot be read.
bool any_file(const fs::path& folder, const std::function<bool(const TreeEntry&)>& wanted) {
  TreeWalk walk(folder, snapshot_limits);
  while (const TreeEntry* entry = walk.next()) {
    const bool skipped = entry->is_folder() && !entry->path.empty() && is_no_work(*entry);
    if (skipped) continue;
    if (wanted(*entry)) return true;
    try {
      if (entry->is_folder()) walk.enter();
    } catch (const std::system_error&) {
      if (entry->path.empty()) throw;
    }
  }
  return false;
}

bool has_adapters(const fs::path& folder) {
  return any_file(folder,
                  [](const TreeEntry& entry) { return entry.path.filename() == "adapters.py"; });
}

/// As a CMake project does that makes a solution.
bool looks_for_prenorm(const fs::path& folder) {
  return any_file(folder, [](const TreeEntry& entry) {
    return entry.path.filename() == "CMakeLists.txt" && entry.error == 0 &&
           S_ISREG(entry.info.st_mode) && mentions_prenorm(entry);
  });
}

/// Whether a CMake project has CUDA sources, anywhere in it.
bool has_cuda_sources(const fs::path& folder) {
  return any_file(folder, [](const TreeEntry& entry) { return is_cuda(entry.path); });
}

/// The files of a folder itself with that property, sorted.
std::vector<fs::path> files_of(const fs::path& folder, bool (*wanted)(const fs::path&)) {
  std::vector<fs::path> files;
  TreeWalk walk(folder, snapshot_limits);
  while (const TreeEntry* entry = walk.next()) {
    if (entry->path.empty()) {
      walk.enter();
    } else if (entry->error == 0 && S_ISREG(entry->info.st_mode) && wanted(entry->path)) {
      files.push_back(folder / entry->path);
    }
  }
  return files;
}

}  // namespace

fs::path submission_file(const fs::path& path) { return split_variant(without_slash(path)).first; }

std::string submission_name(const fs::path& path) {
  const auto [file, variant] = split_variant(without_slash(path));
  // "." is no name.
  const bool relative = file.filename() == "." || file.filename() == "..";
  const fs::path named = relative ? fs::canonical(file) : file;
  const std::string whole = named.filename().string() + (variant.empty() ? "" : "/" + variant);
  constexpr std::size_t longest = 255, letters_of_digest = 8;
  const std::string shown = printable(whole, longest);
  // Names that are shown with escapes could be shown as others are, which have these letters.
  const auto ends_as_digest = [&whole] {
    const std::size_t end = letters_of_digest + 2;
    return whole.size() > end && whole.compare(whole.size() - end, 2, " #") == 0;
  };
  const bool is_unique = whole.find('\\') == whole.npos && !has_byte_like_character(whole) &&
                         !shown.ends_with("...") && !ends_as_digest() && !has_loose_space(whole);
  if (is_unique) return shown;
  return shown + " #" + Digest().add(whole).hex().substr(0, letters_of_digest);
}

Workplace Submission::place(bool writable) const {
  Workplace place = make_workplace(options_, folder_->path(), root_, writable && may_write_);
  place.box.devices = has_device;
  return place;
}

bool Submission::may_have_device() const { return has_devices() && !options_.emulate; }

std::string Submission::told(std::string what) const {
  what = without_workplaces(std::move(what), folder_->path());
  for (const fs::path& place : {root_, root_.parent_path(), folder_->path()}) {
    const std::string prefix = place.string() + "/";
    for (std::size_t at = 0; (at = what.find(prefix)) != what.npos;) {
      what.erase(at, prefix.size());
    }
  }
  what = without_workplaces(std::move(what), folder_->path().parent_path());  // of a kept build
  // Where the folder's path is too long for them.
  return without_workplaces(std::move(what), "/tmp");
}

/// A worker's note: once, however many workers say it. However many there are, the first about a
/// forbidden call in each problem is among them.
void Submission::note(const protocol::Note& note) const {
  using Kind = protocol::Note::Kind;
  constexpr std::size_t most_notes = 200;
  constexpr std::size_t longest = 4096;  // of what is looked at
  std::string line = printable(told(note.text.substr(0, longest)));
  const bool is_call = note.kind == Kind::forbidden_call;
  const std::string problem =
      is_call && !adapters.function(note.problem).empty() ? note.problem : "";
  const std::scoped_lock lock(noting_);
  const bool is_first = !problem.empty() && !noted_.forbidden_calls.contains(problem);
  // Of a hidden case nothing is told but the problem.
  if (hidden_began_) line = is_first ? "forbidden call in " + problem + ": in a hidden case" : "";
  if (note.kind == Kind::unreadable_code && !hidden_began_) noted_.code_is_unreadable = true;
  if (line.empty()) return;
  // Also where the same words have come as another kind of note.
  if (is_call) noted_.forbidden_calls.insert(problem);
  if (note.kind == Kind::missing_package) noted_.package_is_missing = true;
  std::vector<std::string>& lines = noted_.lines;
  if ((is_first || lines.size() < most_notes) && std::ranges::find(lines, line) == lines.end()) {
    lines.push_back(line);
  }
}

/// A compiler's message has names of files as the source gives them (#line).
void Submission::fail(Status why, const std::string& what) {
  status = why;
  message = printable_lines(told(what));
}

void Submission::read_outputs_files() {
  std::vector<fs::path> files{root_};
  if (fs::is_directory(root_)) files = files_of(root_, is_outputs);
  Workplace place = this->place();
  std::string unusable;
  std::size_t left = most_case_bytes();  // for all files together
  const Process::Deadline end = deadline_in(seconds_to_read_outputs);
  for (const fs::path& file : files) {
    place.box.readable = {file};
    try {
      ReadLimits limits;
      limits.bytes = left;
      limits.sandbox = &place.box;
      limits.seconds_of_file = seconds_to_read_file;
      if (std::chrono::steady_clock::now() > end) {
        throw BadFixture(file.string() + ": the files take more than " +
                         seconds_text(seconds_to_read_outputs) + " to read");
      }
      const std::string by_name = file.stem().string().substr(0, file.stem().string().find('.'));
      OutputsFile read =
          read_outputs(file, limits, [&](const OutputsFile& of, const OutputsFile::Entry& entry) {
            return !options_.wanted_outputs ||
                   options_.wanted_outputs(of.problem.empty() ? by_name : of.problem, entry);
          });
      for (const OutputsFile::Entry& entry : read.entries) {
        left -= std::min(left, entry.value.data.size());
      }
      if (read.problem.empty()) read.problem = by_name;
      const std::string problem = read.problem;
      if (!outputs_.emplace(problem, std::move(read)).second) {
        return fail(Status::bad_fixture, "several files of " + problem + ", wanted one");
      }
    } catch (const BadFixture& error) {
      // The message begins with the copy's path, which means nothing to anybody.
      std::string why = error.what();
      const std::string prefix = file.string();
      if (why.starts_with(prefix)) why = file.filename().string() + why.substr(prefix.size());
      // A bad file costs the others nothing, unless there is no other.
      constexpr std::size_t most_named = 20;
      if (files.size() > 1 && notes.size() < most_named) {
        notes.push_back("not used: " + printable(why, 500));
      }
      if (unusable.empty()) unusable = why;
    }
  }
  if (outputs_.empty()) fail(Status::bad_fixture, unusable);
}

/// A worker, where it runs, and what it may see.
WorkerStart Submission::worker() const {
  const bool is_python = kind == SubmissionKind::python;
  Workplace place = this->place(is_python);
  const fs::path& library = is_python ? place.submission : library_;
  place.box.readable = {place.box.copied.empty() ? library : place.box.copied};
  Process::Command command;
  if (is_python) {
    const Json how{{"forbidden", options_.forbidden_calls},
                   {"round_float64", options_.round_float64},
                   {"device", has_device          ? "given"
                              : may_have_device() ? "there"
                                                  : "none"}};
    command =
        python_script(options_, "prenorm_worker.py", {adapters.json(), to_line(how)}, place.box);
  } else {
    command.program = fs::canonical(home() / "libexec" / "prenorm") / "prenorm-worker";
    place.box.readable.push_back(command.program);
  }
  WorkerStart worker{confined(command, place.box), library, place.folder};
  worker.command.keep_output = true;
  return worker;
}

Submission::Submission(const fs::path& path, const SubmissionOptions& options,
                       const Adapters& adapters)
    : name(submission_name(path)),
      options_(options),
      declaration_(std::make_shared<Declaration>()) {
  const auto [file, variant] = split_variant(without_slash(path));
  variant_ = variant;
  const fs::file_status found = fs::symlink_status(file);
  if (!fs::exists(found)) throw std::invalid_argument(path.string() + ": no such file or folder");
  if (fs::is_symlink(found)) {
    throw std::invalid_argument(file.string() + ": is a symbolic link; name what it points to");
  }
  kind = submission_kind(file);
  if (kind == SubmissionKind::python) {
    if (::access(options.python.c_str(), X_OK) != 0) {
      throw std::invalid_argument(
          options.python.string() +
          ": no Python there (Debian: python3-torch; --python names another)");
    }
    if (adapters.empty()) {
      throw std::invalid_argument(path.string() + ": is Python, and the rubric names no adapters");
    }
    this->adapters = adapters;
  }
  folder_.emplace();
  root_ = folder_->path() / "submission";
  if (!fs::is_directory(found)) root_ /= file.filename();
  if (!fs::is_directory(found)) fs::create_directory(root_.parent_path());
  try {
    Snapshot copied = copy_snapshot(file, root_);
    files = std::move(copied.digest);
    notes = std::move(copied.left_out);
  } catch (const CannotCopy&) {
    throw;
  } catch (const std::exception& error) {
    throw std::invalid_argument(file.string() + ": " + error.what());
  }
  if (!fs::exists(root_)) {
    fail(Status::load_error, notes.empty() ? "cannot be read" : notes[0]);
    return;
  }
  const bool is_built = kind == SubmissionKind::cmake || kind == SubmissionKind::cuda;
  const bool has_copies = is_built || kind == SubmissionKind::python;  // others are only read
  may_write_ = has_copies && can_be_copied(folder_->path() / "submission");
  if (has_copies && !may_write_) {
    notes.push_back(fmt::format("larger than {} MiB: it cannot write next to its own files",
                                most_copied >> 20));
  }
  library_ = root_;
  if (kind == SubmissionKind::outputs) read_outputs_files();
  if (kind == SubmissionKind::outputs) return;
  if (kind == SubmissionKind::python) {
    if (may_have_device() && probe_for_device()) {
      declaration_ = std::make_shared<Declaration>();  // more functions may load there
    }
    return;
  }
  if (kind == SubmissionKind::cuda && fs::is_directory(root_)) {
    for (const auto& is_other : {is_library, is_outputs}) {
      for (const fs::path& other : files_of(root_, is_other)) {
        notes.push_back("not used: " + printable(other.filename().string()) +
                        ", as there are CUDA sources");
      }
    }
  }
  const bool is_cuda =
      kind == SubmissionKind::cuda || (kind == SubmissionKind::cmake && has_cuda_sources(root_));
  emulated = is_cuda && has_emulator() && (options.emulate || !has_devices());
  if (is_built) build();
  if (status != Status::passed) return;
  if (fs::is_directory(library_)) {
    const std::vector<fs::path> libraries = files_of(root_, is_library);
    if (libraries.empty()) {
      fail(Status::load_error, notes.empty() ? "no library" : notes[0]);
      return;
    }
    library_ = libraries.front();
  }
  list_symbols();
  if (has_devices()) probe_for_device();
}

bool Submission::probe_for_device() {
  Solution probe = solution();
  probe.load();
  return has_device = probe.on_device();
}

Solution Submission::solution() const {
  Solution::Options options;
  options.limits = options_.limits;
  options.limits.loading =
      slow_to_start() ? seconds_to_import : std::max(options.limits.seconds, seconds_to_start);
  // Who waits for a device needs no processor.
  options.limits.clock_factor = has_device ? 1 : usual_clock_factor;
  // Wider tolerances are for hardware that rounds so, not for whoever asks.
  options.tf32 = has_device;
  options.python = kind == SubmissionKind::python;
  // What is not resident counts too; Python's libraries reserve much that they never use.
  options.limits.bytes =
      slow_to_start() ? std::max(options_.memory, addresses_of_python) : options_.memory;
  options.worker = [this] { return worker(); };
  options.declaration = declaration_;
  options.note = [this](const protocol::Note& each) { note(each); };
  return {name, library_, variant_, options};
}

Submission::Notes Submission::noted() const {
  const std::scoped_lock lock(noting_);
  if (noted_at_load_) {
    std::sort(noted_.lines.begin() + static_cast<std::ptrdiff_t>(*noted_at_load_),
              noted_.lines.end());
  }
  return noted_;
}

void Submission::visible_cases_begin() const {
  const std::scoped_lock lock(noting_);
  noted_at_load_ = noted_.lines.size();
}

void Submission::hidden_cases_begin() const {
  const std::scoped_lock lock(noting_);
  hidden_began_ = true;
}

const OutputsFile* Submission::outputs(const std::string& problem) const {
  const auto found = outputs_.find(problem);
  return found == outputs_.end() ? nullptr : &found->second;
}

std::string_view name(SubmissionKind kind) {
  switch (kind) {
    case SubmissionKind::cmake: return "CMake project";
    case SubmissionKind::cuda: return "CUDA source";
    case SubmissionKind::library: return "library";
    case SubmissionKind::python: return "Python";
    case SubmissionKind::outputs: return "outputs";
  }
  return "?";
}

SubmissionKind submission_kind(const fs::path& path) {
  if (!fs::is_directory(fs::symlink_status(path))) {
    if (is_library(path)) return SubmissionKind::library;
    if (is_cuda(path)) return SubmissionKind::cuda;
    if (path.extension() == ".py") return SubmissionKind::python;
    if (is_outputs(path)) return SubmissionKind::outputs;
    throw std::invalid_argument(path.string() +
                                ": wanted a folder, a library (.so), a Python file (.py), a "
                                "CUDA source (.cu) or outputs (.h5)");
  }
  try {
    // Python packages have a CMakeLists.txt for extensions of theirs.
    const bool has_lists = fs::exists(path / "CMakeLists.txt");
    if (has_lists && looks_for_prenorm(path)) return SubmissionKind::cmake;
    if (has_adapters(path)) return SubmissionKind::python;
    if (has_lists) return SubmissionKind::cmake;
    if (!files_of(path, is_cuda).empty()) return SubmissionKind::cuda;
    if (files_of(path, is_library).size() == 1) return SubmissionKind::library;
    if (!files_of(path, is_outputs).empty()) return SubmissionKind::outputs;
  } catch (const TreeTooLarge& error) {
    throw std::invalid_argument(path.string() + ": " + error.what());
  }
  throw std::invalid_argument(
      path.string() +
      ": nothing in it that can be graded: no CMakeLists.txt, no "
      "adapters.py, no CUDA source (.cu) at its top, no library (one .so), no "
      "outputs (.h5)");
}

}  // namespace prenorm::harness
