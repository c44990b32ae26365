#include "grade/confinement.hpp"

#include "base/home.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// The environment that an interpreter belongs to: pyvenv.cfg and what Python reads beside it, and
/// where the base interpreter lies. Nothing of it is run to find out.
std::vector<fs::path> python_folders(const fs::path& python) {
  std::vector<fs::path> folders;
  // Not the prefix itself: it may be somebody's home.
  const auto add_prefix = [&folders](const fs::path& program) {
    const fs::path prefix = program.parent_path().parent_path();
    if (!prefix.has_relative_path() || prefix.string().starts_with("/usr/") || prefix == "/usr") {
      return;
    }
    for (const char* part : {"bin", "lib", "lib64"}) {
      if (fs::exists(prefix / part)) folders.push_back(prefix / part);
    }
  };
  const fs::path prefix = python.parent_path().parent_path();
  if (fs::exists(prefix / "pyvenv.cfg")) {
    // Not the folder itself either: a course may lie in it, with everybody's work.
    for (const char* part : {"pyvenv.cfg", "bin", "lib", "lib64"}) {
      if (fs::exists(prefix / part)) folders.push_back(prefix / part);
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
  std::ranges::sort(folders);
  const auto [first, last] = std::ranges::unique(folders);
  folders.erase(first, last);
  return folders;
}

}  // namespace

Sandbox submission_sandbox(const SubmissionOptions& options) {
  Sandbox sandbox;
  sandbox.kind = options.sandbox;
  sandbox.memory = options.memory;
  sandbox.hidden = options.hidden;
  sandbox.hidden.push_back(home() / "lib" / "prenorm");
  sandbox.hidden.push_back(home() / "share" / "prenorm");
  return sandbox;
}

std::string hand_out(const Process::Command& command, std::size_t most, double seconds) {
  Process process(command);
  const Process::Deadline deadline = deadline_in(seconds);
  std::string digits(20, ' ');
  process.receive(digits.data(), digits.size(), deadline);
  const std::size_t size = std::strtoull(digits.c_str(), nullptr, 10);
  if (size > most)
    throw std::runtime_error("hands out more than " + std::to_string(most) + " bytes");
  std::string bytes(size, '\0');
  process.receive(bytes.data(), bytes.size(), deadline);
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
  std::ranges::move(python_folders(command.program), std::back_inserter(box.readable));
  return command;
}

}  // namespace prenorm::harness
