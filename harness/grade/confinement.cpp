#include "grade/confinement.hpp"

#include "base/paths.hpp"
#include "base/text.hpp"
#include "base/temporary_folder.hpp"
#include "base/json.hpp"
#include "sandbox/confine.hpp"
#include "sandbox/writable_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// The environment that an interpreter belongs to: pyvenv.cfg and what Python reads beside it, and
/// where the base interpreter lies. Nothing of it is run to find out.
std::set<fs::path> python_folders(const fs::path& python) {
  std::set<fs::path> folders;
  // Not the prefix itself: it may be somebody's home.
  const auto add_prefix = [&folders](const fs::path& program) {
    const fs::path prefix = program.parent_path().parent_path();
    if (!prefix.has_relative_path() || prefix.string().starts_with("/usr/") || prefix == "/usr") {
      return;
    }
    for (const char* part : {"bin", "lib", "lib64"}) {
      if (fs::exists(prefix / part)) folders.insert(prefix / part);
    }
  };
  const fs::path prefix = python.parent_path().parent_path();
  if (fs::exists(prefix / "pyvenv.cfg")) {
    // Not the folder itself either: a course may lie in it, with everybody's work.
    for (const char* part : {"pyvenv.cfg", "bin", "lib", "lib64"}) {
      if (fs::exists(prefix / part)) folders.insert(prefix / part);
    }
    std::ifstream file(prefix / "pyvenv.cfg");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string key, equals, value;
      if (words >> key >> equals && key == "home" && std::getline(words >> std::ws, value)) {
        // As it is written and as it is: there may be links on the way.
        add_prefix(fs::path(value) / "python");
        add_prefix(fs::weakly_canonical(fs::path(value) / "python"));
      }
    }
  }
  add_prefix(fs::canonical(python));
  return folders;
}

/// As long as the name of a workplace. Other processes of a sandbox without namespaces cannot guess
/// it.
std::string workplace_name() {
  return TemporaryFolder::prefix() + std::string(TemporaryFolder::random_letters, 'X');
}
constexpr std::string_view copy_name = "submission";

/// A socket's path has at most 107 bytes, of which Python's multiprocessing takes some for itself.
constexpr std::size_t longest_folder = 68;

/// In the folder, or in /tmp where its path would be too long there.
fs::path parent_of_workplace(const fs::path& folder) {
  const bool is_long = (folder / workplace_name()).string().size() > longest_folder;
  return is_long && ::access("/tmp", W_OK) == 0 ? "/tmp" : folder;
}

constexpr std::size_t most_import_bytes = 1u << 20, most_import_scratch = 16u << 20;
constexpr double most_import_seconds = 30;
/// Of a module, a distribution, a place.
constexpr std::size_t longest_name = 100;

/// The child has read somebody's files: nothing that it says is believed unchecked.
PythonImports imports_of(const Json& answer) {
  PythonImports imports;
  for (const auto& [module, what] : answer.at("missing").items()) {
    imports.missing[printable(module, longest_name)] = {
        printable(what.at(0).get<std::string>(), longest_name),
        printable(what.at(1).get<std::string>(), longest_name)};
  }
  for (const Json& module : answer.at("own")) {
    imports.own.push_back(printable(module.get<std::string>(), longest_name));
  }
  const Json& failure = answer.at("failure");
  if (!failure.is_null()) imports.failure = printable(failure.get<std::string>());
  return imports;
}

/// The sandbox for anything of a submission; what it may read is left to the caller.
Sandbox submission_sandbox(const SubmissionOptions& options) {
  Sandbox sandbox;
  sandbox.kind = options.sandbox;
  sandbox.memory = options.memory;
  sandbox.hidden = options.hidden;
  sandbox.hidden.push_back(home() / "lib" / "prenorm");
  sandbox.hidden.push_back(home() / "share" / "prenorm");
  return sandbox;
}

}  // namespace

std::string hand_out(const Process::Command& command, std::size_t most, double seconds,
                     double processors) {
  Process process(command);
  const Process::Patience patience = process.within(seconds, usual_clock_factor, processors);
  std::string digits(20, ' ');
  process.receive(digits.data(), digits.size(), patience);
  const std::size_t size = std::strtoull(digits.c_str(), nullptr, 10);
  if (size > most)
    throw std::runtime_error("hands out more than " + std::to_string(most) + " bytes");
  std::string bytes(size, '\0');
  process.receive(bytes.data(), bytes.size(), patience);
  return bytes;
}

Process::Command python_script(const SubmissionOptions& options, const std::string& script,
                               const std::vector<std::string>& arguments, Sandbox& box) {
  const fs::path helpers = home() / "libexec" / "prenorm";
  Process::Command command;
  command.program = options.python;
  command.arguments = {"-I", "-B", fs::canonical(helpers / script).string()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  // The scripts load each other.
  for (const fs::directory_entry& entry : fs::directory_iterator(helpers)) {
    if (entry.path().extension() == ".py") box.readable.push_back(fs::canonical(entry.path()));
  }
  std::ranges::copy(python_folders(command.program), std::back_inserter(box.readable));
  return command;
}

bool can_be_copied(const fs::path& handed_in) {
  std::uintmax_t bytes = 0;
  std::size_t entries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(handed_in)) {
    // A hole of a file takes its room in the copy.
    if (fs::is_regular_file(entry.symlink_status())) bytes += entry.file_size();
    if (bytes > most_copied || ++entries > sandbox::most_entries / 2) return false;
  }
  return true;
}

Workplace make_workplace(const SubmissionOptions& options, const fs::path& folder,
                         const fs::path& handed_in, bool writable) {
  Workplace place{submission_sandbox(options), handed_in, nullptr};
  const fs::path original = folder / copy_name;
  if (options.sandbox == SandboxKind::bubblewrap) {
    if (writable) place.box.copied = original;
    return place;
  }
  const auto own = std::make_shared<const TemporaryFolder>(parent_of_workplace(folder));
  place.folder = own;
  place.box.folder = own->path() / "tmp";
  fs::create_directory(place.box.folder);
  if (writable) {
    place.box.copied = own->path() / copy_name;
    fs::create_directory(place.box.copied);
    sandbox::copy_writable(original, place.box.copied);
    place.submission = place.box.copied / handed_in.lexically_relative(original);
    if (handed_in == original) place.submission = place.box.copied;
  }
  return place;
}

std::string without_workplaces(std::string text, const fs::path& parent) {
  const std::string begin = (parent / TemporaryFolder::prefix()).string();
  const std::size_t length = (parent / workplace_name()).string().size() + 1;
  for (std::size_t at = 0; (at = text.find(begin)) != text.npos;) {
    text.erase(at, length);
    while (text.compare(at, TemporaryFolder::prefix().size(), TemporaryFolder::prefix()) == 0) {
      text.erase(at, workplace_name().size() + 1);  // one inside
    }
    if (text.compare(at, copy_name.size(), copy_name) == 0) text.erase(at, copy_name.size() + 1);
  }
  return text;
}

std::optional<PythonImports> read_imports(const fs::path& path, const SubmissionOptions& options) {
  const fs::path file = submission_file(path);
  if (fs::is_symlink(file) || submission_kind(file) != SubmissionKind::python) return std::nullopt;
  const TemporaryFolder scratch;
  Sandbox box = submission_sandbox(options);
  box.readable = {fs::canonical(file)};
  box.scratch = most_import_scratch;
  box.cpu_seconds = most_import_seconds;
  if (box.kind == SandboxKind::process) box.folder = scratch.path();
  try {
    const Process::Command reader =
        python_script(options, "prenorm_missing.py", {box.readable.front().string()}, box);
    return imports_of(
        parse_json(hand_out(confined(reader, box), most_import_bytes, most_import_seconds)));
  } catch (const std::exception&) {
    return std::nullopt;  // the worker tells more
  }
}

}  // namespace prenorm::harness
