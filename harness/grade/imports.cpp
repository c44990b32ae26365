#include "grade/imports.hpp"

#include "base/json.hpp"
#include "base/printable.hpp"
#include "base/temporary_folder.hpp"
#include "grade/confinement.hpp"

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = 1u << 20, most_scratch = 16u << 20;
constexpr double most_seconds = 30;
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

}  // namespace

std::optional<PythonImports> read_imports(const fs::path& path, const SubmissionOptions& options) {
  const fs::path file = submission_file(path);
  if (fs::is_symlink(file) || submission_kind(file) != SubmissionKind::python) return std::nullopt;
  const TemporaryFolder scratch;
  Sandbox box = submission_sandbox(options);
  box.readable = {fs::canonical(file)};
  box.scratch = most_scratch;
  box.cpu_seconds = most_seconds;
  if (box.kind == SandboxKind::process) box.folder = scratch.path();
  try {
    const Process::Command reader =
        python_script(options, "prenorm_missing.py", {box.readable.front().string()}, box);
    return imports_of(parse_json(hand_out(confined(reader, box), most_bytes, most_seconds)));
  } catch (const std::exception&) {
    return std::nullopt;  // the worker tells more
  }
}

}  // namespace prenorm::harness
