#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "fixture/selection.hpp"

#include <algorithm>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string problem, to, name;
  std::vector<std::string> fixtures;
};

/// The one case of that name, or that the pattern selects.
const Case& chosen_case(const File& file, const std::string& name) {
  if (file.cases.size() == 1) return *file.cases.front();
  std::vector<std::string> names;
  for (const Case* info : file.cases) names.push_back(info->name);
  constexpr std::size_t most = 8;
  const bool cut = names.size() > most;
  const std::string count = counted(names.size(), "case");
  if (cut) names.resize(most);
  throw UsageError("--case '" + name + "' selects " + count + ", wanted one: " + joined(names) +
                   (cut ? ", ..." : ""));
}

/// The inputs that NumPy has no type for.
std::vector<std::string> widened_inputs(const Signature& signature, const LoadedCase& loaded) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < loaded.inputs.size(); ++i) {
    const bool widened = loaded.inputs[i] && loaded.inputs[i]->dtype == DType::bfloat16;
    if (widened) names.push_back(signature.inputs[i].name);
  }
  return names;
}

int run(const ExportOptions& options) {
  const std::vector<std::string>& endings = case_file_endings();
  const std::string ending = fs::path(options.to).extension();
  if (std::ranges::find(endings, ending) == endings.end()) {
    throw UsageError("--to " + options.to + ": the ending chooses the format, wanted " +
                     joined(endings));
  }
  Selection selection;
  selection.fixtures = options.fixtures;
  selection.cases = {options.name};
  const File file = open_problem(options.problem, selection);
  const Case& info = chosen_case(file, options.name);
  require_writable(options.to);
  const Signature& signature = file.fixture->signature();
  std::vector<std::string> written;
  LoadedCase loaded;
  try {
    loaded = load_case(*file.fixture, info);
    written = write_case(options.to, file.fixture->problem(), signature, loaded);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  std::string text = options.to + ": " + joined(written);
  const std::vector<std::string> widened = widened_inputs(signature, loaded);
  if (ending == ".npz" && !widened.empty()) {
    text += " (" + joined(widened) + ": bfloat16 as float32, with the same values)";
  }
  print(printable(text, 2000) + "\n");
  return 0;
}

}  // namespace

void add_fixtures_export(Arguments& fixtures, Action& chosen) {
  auto options = std::make_shared<ExportOptions>();
  Arguments& command = *fixtures.add_subcommand(
      "export", "Write one case's inputs, scalars and expected outputs for other tools");
  command.add_option("PROBLEM|FILE", options->problem, "A problem, or a fixture file")->required();
  command.add_option("--case", options->name, "The case (a glob that selects one)")
      ->required()
      ->type_name("NAME");
  command.add_option("--to", options->to, "The new file: .npz, .pt or .json")
      ->required()
      ->type_name("FILE");
  add_repeatable(command, "--fixtures", options->fixtures,
                 "Where to look for problems: a fixture file, or a folder of them")
      ->type_name("PATH");
  command.footer(
      "  .npz   numpy.load(\"case.npz\"); bfloat16 becomes float32\n"
      "  .pt    torch.load(\"case.pt\", weights_only=True); a scalar float is a tensor without "
      "axes\n"
      "  .json  a text to read\n\n"
      "In .npz and .pt, inputs and scalars have their own names. The expected output y is\n"
      "expected_y, in float64, with its tolerances atol_y and rtol_y; a case that must be refused\n"
      "has the text error instead. An absent input is left out of .npz, None or null elsewhere.\n\n"
      "Example:\n  prenorm fixtures export PROBLEM --case NAME --to case.npz");
  command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace prenorm::harness
