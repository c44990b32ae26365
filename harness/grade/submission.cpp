#include "grade/submission.hpp"

#include "base/digest.hpp"
#include "base/home.hpp"
#include "base/json.hpp"
#include "base/printable.hpp"
#include "base/temporary_folder.hpp"
#include "grade/build_script.hpp"
#include "grade/confinement.hpp"
#include "grade/emulator_kit.hpp"
#include "grade/grading.hpp"
#include "grade/kept_builds.hpp"
#include "grade/room.hpp"
#include "grade/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <prenorm/prenorm.h>
#include <sstream>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// Of a library that a build hands out.
constexpr std::size_t most_library_bytes = 256u << 20;
constexpr std::size_t most_listing_bytes = 1u << 20;
constexpr std::size_t build_scratch = 2ull << 30;
constexpr double seconds_to_list = 20;
/// Of one file of outputs, and of all of them.
constexpr double seconds_to_read_file = 10, seconds_to_read_outputs = 60;
constexpr std::size_t addresses_of_python = 16ull << 30;
/// Of a sandbox with a library in it: however little time a call may take.
constexpr double seconds_to_start = 10;
/// Of torch, by a machine that has much else to do.
constexpr double seconds_to_import = 60;

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

/// What a library takes from elsewhere, one name per line, by the program "$2".
constexpr const char* list_imports = R"sh(
"$2" "$1" >"$TMPDIR/list" || exit
printf '%020d' "$(wc -c <"$TMPDIR/list")" >&3
cat "$TMPDIR/list" >&3
)sh";

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

struct Submission::State {
  SubmissionOptions options;
  std::string name, variant;
  SubmissionKind kind = SubmissionKind::library;
  Adapters adapters;
  Status status = Status::passed;
  std::string message;
  std::optional<TemporaryFolder> folder;  // "submission" and "library.so" in it
  fs::path root;                          // what was handed in, in the copy
  fs::path library;                       // or the Python submission
  std::map<std::string, OutputsFile> outputs;
  std::vector<std::string> imports, notes;
  std::vector<std::string> noted;  // by workers, on several threads
  std::mutex noting;
  bool hidden_began = false;
  bool imports_known = true, devices = false;
  bool emulated = false;  // CUDA, in the emulator
  bool may_write = true;  // its own copy, that is
  std::shared_ptr<Declaration> declaration = std::make_shared<Declaration>();

  Room room(bool writable = false) const {
    Room room = make_room(options, folder->path(), root, writable && may_write);
    room.box.devices = devices;
    return room;
  }

  bool may_have_device() const { return has_devices() && !options.emulate; }

  std::string told(std::string what) const {
    what = without_rooms(std::move(what), folder->path());
    for (const fs::path& place : {root, root.parent_path(), folder->path()}) {
      const std::string prefix = place.string() + "/";
      for (std::size_t at = 0; (at = what.find(prefix)) != what.npos;) {
        what.erase(at, prefix.size());
      }
    }
    what = without_rooms(std::move(what), folder->path().parent_path());  // of a kept build
    return without_rooms(std::move(what), "/tmp");  // where the folder's path is too long for them
  }

  /// A worker's note: once, however many workers say it. However many there are, the first about a
  /// forbidden call in each problem is among them.
  void note(const std::string& text) {
    constexpr std::size_t most_notes = 200;
    constexpr std::size_t longest = 4096;  // of what is looked at
    std::string line = printable(told(text.substr(0, longest)));
    const std::string call = begin_of_call(line);
    const std::scoped_lock lock(noting);
    const bool is_first =
        !call.empty() && std::ranges::none_of(noted, [&call](const std::string& each) {
          return each.starts_with(call);
        });
    // Of a hidden case nothing is told but the problem.
    if (hidden_began) line = is_first ? call + "in a hidden case" : "";
    if (!line.empty() && (is_first || noted.size() < most_notes) &&
        std::ranges::find(noted, line) == noted.end()) {
      noted.push_back(line);
    }
  }

  /// "forbidden call in PROBLEM: " of a note that begins so.
  std::string begin_of_call(const std::string& line) const {
    const std::string begin = std::string(forbidden_call_note) + " in ";
    if (!line.starts_with(begin)) return "";
    const std::string problem = line.substr(begin.size(), line.find(": ") - begin.size());
    return adapters.function(problem).empty() ? "" : begin + problem + ": ";
  }

  /// A compiler's message has names of files as the source gives them (#line).
  void fail(Status why, const std::string& what) {
    status = why;
    message = printable_lines(told(what));
  }

  void build();
  void list_symbols();
  void read_outputs_files();
  WorkerStart worker() const;
};

void Submission::State::build() {
  Room room = this->room(true);
  room.box.scratch = build_scratch;
  room.box.cpu_seconds = options.build_seconds;
  fs::path package = fs::canonical(home() / "share" / "cmake" / "prenorm");
  const fs::path headers = fs::canonical(home() / "include" / "prenorm");
  std::array given{package, headers};
  if (emulated) {
    const fs::path kit = folder->path() / "emulator";
    copy_emulator_kit(kit);
    package = kit / "share" / "cmake" / "prenorm";
    given = {kit, kit};
  }
  room.box.readable = {room.submission, given[0], given[1]};
  // Without a sandbox, a submission could change what is kept.
  const bool may_keep = options.sandbox != SandboxKind::none;
  std::string key;
  if (may_keep) key = build_key(root, folder->path().parent_path(), given, build_project);
  if (may_keep && options.reuse_build) {
    if (const fs::path kept = kept_build(key); !kept.empty()) {
      library = folder->path() / "library.so";
      fs::copy_file(kept, library);
      notes.emplace_back("not built again: no file has changed since it was");
      return;
    }
  }
  Process::Command shell{
      "/bin/sh",
      {"-c", build_project, "build", room.submission.string(), package.string(), "2",
       emulated ? "ON" : "OFF", kind == SubmissionKind::cuda ? "sources" : "project"},
      {},
      std::nullopt,
      false};
  try {
    const std::string bytes =
        hand_out(confined(shell, room.box), most_library_bytes, options.build_seconds);
    library = folder->path() / "library.so";
    if (!(std::ofstream(library, std::ios::binary) << bytes).flush()) {
      throw CannotCopy("the library cannot be kept: is the disk full?");
    }
    if (may_keep) keep_build(key, bytes);
  } catch (const CannotCopy&) {
    throw;
  } catch (const ProcessTimeout&) {
    fail(Status::compile_error, "is not built within " + seconds_text(options.build_seconds));
  } catch (const ProcessEnded& end) {
    const bool is_refusal = end.how.exit_code == 1 && !end.error.empty();
    fail(Status::compile_error, is_refusal ? end.error : end.what());
  } catch (const std::exception& error) {
    fail(Status::compile_error, error.what());
  }
}

void Submission::State::list_symbols() {
  Room room = this->room();
  const fs::path program = fs::canonical(home() / "libexec" / "prenorm") / "prenorm-imports";
  room.box.readable = {library, program};
  Process::Command shell{"/bin/sh",
                         {"-c", list_imports, "list", library.string(), program.string()},
                         {},
                         std::nullopt,
                         false};
  try {
    std::istringstream lines(
        hand_out(confined(shell, room.box), most_listing_bytes, seconds_to_list));
    for (std::string line; std::getline(lines, line);) imports.push_back(printable(line, 200));
    std::ranges::sort(imports);
  } catch (const std::exception& error) {
    imports_known = false;
    notes.push_back("what the library takes from elsewhere is not known: " +
                    printable(told(error.what())));
  }
}

void Submission::State::read_outputs_files() {
  std::vector<fs::path> files{root};
  if (fs::is_directory(root)) files = files_of(root, is_outputs);
  Room room = this->room();
  std::string unusable;
  std::size_t left = most_case_bytes();  // for all files together
  const Process::Deadline end = deadline_in(seconds_to_read_outputs);
  for (const fs::path& file : files) {
    room.box.readable = {file};
    try {
      ReadLimits limits;
      limits.bytes = left;
      limits.sandbox = &room.box;
      limits.seconds_of_file = seconds_to_read_file;
      if (std::chrono::steady_clock::now() > end) {
        throw BadFixture(file.string() + ": the files take more than " +
                         seconds_text(seconds_to_read_outputs) + " to read");
      }
      const std::string by_name = file.stem().string().substr(0, file.stem().string().find('.'));
      OutputsFile read =
          read_outputs(file, limits, [&](const OutputsFile& of, const OutputsFile::Entry& entry) {
            return !options.wanted_outputs ||
                   options.wanted_outputs(of.problem.empty() ? by_name : of.problem, entry);
          });
      for (const OutputsFile::Entry& entry : read.entries) {
        left -= std::min(left, entry.value.data.size());
      }
      if (read.problem.empty()) read.problem = by_name;
      const std::string problem = read.problem;
      if (!outputs.emplace(problem, std::move(read)).second) {
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
  if (outputs.empty()) fail(Status::bad_fixture, unusable);
}

/// A worker, where it runs, and what it may see.
WorkerStart Submission::State::worker() const {
  const bool is_python = kind == SubmissionKind::python;
  Room room = this->room(is_python);
  const fs::path& library = is_python ? room.submission : this->library;
  room.box.readable = {room.box.copied.empty() ? library : room.box.copied};
  Process::Command command;
  if (is_python) {
    const Json how{{"forbidden", options.forbidden_calls},
                   {"round_float64", options.round_float64},
                   {"device", devices             ? "given"
                              : may_have_device() ? "there"
                                                  : "none"}};
    command =
        python_script(options, "prenorm_worker.py", {adapters.json(), to_line(how)}, room.box);
  } else {
    command.program = fs::canonical(home() / "libexec" / "prenorm") / "prenorm-worker";
    room.box.readable.push_back(command.program);
  }
  WorkerStart worker{confined(command, room.box), library, room.folder};
  worker.command.keep_output = true;
  return worker;
}

Submission::Submission(const fs::path& path, const SubmissionOptions& options,
                       const Adapters& adapters)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = options;
  const auto [file, variant] = split_variant(without_slash(path));
  state.variant = variant;
  state.name = submission_name(path);
  const fs::file_status status = fs::symlink_status(file);
  if (!fs::exists(status)) throw std::invalid_argument(path.string() + ": no such file or folder");
  if (fs::is_symlink(status)) {
    throw std::invalid_argument(file.string() + ": is a symbolic link; name what it points to");
  }
  state.kind = submission_kind(file);
  if (state.kind == SubmissionKind::python) {
    if (::access(options.python.c_str(), X_OK) != 0) {
      throw std::invalid_argument(
          options.python.string() +
          ": no Python there (Debian: python3-torch; --python names another)");
    }
    if (adapters.empty()) {
      throw std::invalid_argument(path.string() + ": is Python, and the rubric names no adapters");
    }
    state.adapters = adapters;
  }
  state.folder.emplace();
  state.root = state.folder->path() / "submission";
  if (!fs::is_directory(status)) state.root /= file.filename();
  if (!fs::is_directory(status)) fs::create_directory(state.root.parent_path());
  try {
    state.notes = copy_snapshot(file, state.root);
  } catch (const CannotCopy&) {
    throw;
  } catch (const std::exception& error) {
    throw std::invalid_argument(file.string() + ": " + error.what());
  }
  if (!fs::exists(state.root)) {
    state.fail(Status::load_error, state.notes.empty() ? "cannot be read" : state.notes[0]);
    return;
  }
  const bool is_built = state.kind == SubmissionKind::cmake || state.kind == SubmissionKind::cuda;
  const bool has_copies = is_built || state.kind == SubmissionKind::python;  // others are only read
  state.may_write = has_copies && can_be_copied(state.folder->path() / "submission");
  if (has_copies && !state.may_write) {
    state.notes.push_back(fmt::format("larger than {} MiB: it cannot write next to its own files",
                                      most_copied >> 20));
  }
  state.library = state.root;
  if (state.kind == SubmissionKind::outputs) state.read_outputs_files();
  if (state.kind == SubmissionKind::outputs) return;
  if (state.kind == SubmissionKind::python) {
    if (state.may_have_device() && probe_for_device()) {
      state.declaration = std::make_shared<Declaration>();  // more functions may load there
    }
    return;
  }
  const bool is_cuda = state.kind == SubmissionKind::cuda ||
                       (state.kind == SubmissionKind::cmake && has_cuda_sources(state.root));
  state.emulated = is_cuda && has_emulator() && (options.emulate || !has_devices());
  if (is_built) state.build();
  if (state.status != Status::passed) return;
  if (fs::is_directory(state.library)) {
    const std::vector<fs::path> libraries = files_of(state.root, is_library);
    if (libraries.empty()) {
      state.fail(Status::load_error, state.notes.empty() ? "no library" : state.notes[0]);
      return;
    }
    state.library = libraries.front();
  }
  state.list_symbols();
  if (has_devices()) probe_for_device();
}

/// Binds devices if it asks for one, and says whether it does.
bool Submission::probe_for_device() {
  Solution probe = solution();
  probe.load();
  return state_->devices = probe.on_device();
}

Submission::~Submission() = default;

const std::string& Submission::name() const { return state_->name; }
SubmissionKind Submission::kind() const { return state_->kind; }
bool Submission::is_emulated() const { return state_->emulated; }
Status Submission::status() const { return state_->status; }
const std::string& Submission::message() const { return state_->message; }
std::string Submission::told(const std::string& text) const { return state_->told(text); }
bool Submission::has_device() const { return state_->devices; }
bool Submission::slow_to_start() const { return state_->kind == SubmissionKind::python; }
const Adapters& Submission::adapters() const { return state_->adapters; }
const std::vector<std::string>& Submission::imports() const { return state_->imports; }
bool Submission::imports_known() const { return state_->imports_known; }
const std::vector<std::string>& Submission::notes() const { return state_->notes; }

Solution Submission::solution() const {
  Solution::Options options;
  options.limits = state_->options.limits;
  options.limits.loading =
      slow_to_start() ? seconds_to_import : std::max(options.limits.seconds, seconds_to_start);
  // Wider tolerances are for hardware that rounds so, not for whoever asks.
  options.tf32 = state_->devices;
  // What is not resident counts too; Python's libraries reserve much that they never use.
  options.limits.bytes = slow_to_start() ? std::max(state_->options.memory, addresses_of_python)
                                         : state_->options.memory;
  options.worker = [state = state_.get()] { return state->worker(); };
  options.declaration = state_->declaration;
  options.note = [state = state_.get()](const std::string& text) { state->note(text); };
  return {state_->name, state_->library, state_->variant, options};
}

std::vector<std::string> Submission::noted() const {
  const std::scoped_lock lock(state_->noting);
  return state_->noted;
}

void Submission::hidden_cases_begin() const {
  const std::scoped_lock lock(state_->noting);
  state_->hidden_began = true;
}

const OutputsFile* Submission::outputs(const std::string& problem) const {
  const auto found = state_->outputs.find(problem);
  return found == state_->outputs.end() ? nullptr : &found->second;
}

}  // namespace prenorm::harness
