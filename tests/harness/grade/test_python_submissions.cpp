// Honest Python submissions, through the worker and over every shipped case.
#include "base/paths.hpp"
#include "fixture_testing.hpp"
#include "grade/adapters.hpp"
#include "replay/replay.hpp"
#include "skip.hpp"

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

struct Count {
  std::map<Status, std::size_t> statuses;
  std::size_t not_asked = 0;

  std::size_t of(Status status) const {
    const auto found = statuses.find(status);
    return found == statuses.end() ? 0 : found->second;
  }
};

/// An interpreter, with modules hidden from it: code that runs before the worker.
struct Interpreter {
  std::string python;
  std::string before;  // Python, or nothing
};

Process::Command worker(const Interpreter& interpreter, const std::string& adapters) {
  const fs::path program = home() / "libexec/prenorm/prenorm_worker.py";
  Process::Command command;
  command.program = interpreter.python;
  command.arguments = {"-I", "-B"};
  if (interpreter.before.empty()) {
    command.arguments.push_back(program);
  } else {
    const std::string run =
        "\nimport runpy, sys; sys.argv = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')";
    for (const std::string& word : {std::string("-c"), interpreter.before + run, program.string()})
      command.arguments.push_back(word);
  }
  command.arguments.push_back(adapters);
  return command;
}

bool counts(const Case& info, const std::vector<DType>& dtypes) {
  return dtypes.empty() || std::ranges::find(dtypes, info.dtype()) != dtypes.end();
}

/// Replays every case of the problems that the map has; those of an error only for their right to
/// be refused. What went wrong is told.
Count replay_all(const std::string& name, const std::string& map, const Interpreter& interpreter,
                 const std::vector<DType>& dtypes = {}) {
  const fs::path source = folder("PRENORM_SOURCE");
  std::vector<Fixture> fixtures;
  std::map<std::string, std::string> signatures;
  for (const fs::path& file : files_in(source / "fixtures")) {
    if (file.extension() != ".h5") continue;
    fixtures.emplace_back(file);
    signatures[fixtures.back().problem()] = fixtures.back().signature_text();
  }
  const Adapters adapters(source / "fixtures/rubrics" / map, signatures);
  Solution::Options options;
  const fs::path written = folder("PRENORM_TEST_SUBMISSIONS") / "honest" / name;
  const fs::path submission =
      fs::exists(written) ? written : source / "tests/submissions/honest" / name;
  options.worker = [&] { return WorkerStart{worker(interpreter, adapters.json()), submission}; };
  Solution solution(name, submission, "", options);
  BOOST_REQUIRE_MESSAGE(solution.load(), solution.message());
  Count count;
  for (const Fixture& fixture : fixtures) {
    if (solution.function_for(fixture.problem()).empty()) continue;
    for (const Case& info : fixture.cases()) {
      if (!counts(info, dtypes)) continue;
      if (!adapters.cannot_ask(fixture.problem(), info).empty()) {
        ++count.not_asked;
        continue;
      }
      const Result result =
          replay(fixture.problem(), fixture.signature(), load_case(fixture, info), solution);
      ++count.statuses[result.status];
      if (result.status == Status::passed || result.status == Status::not_implemented) continue;
      BOOST_TEST_MESSAGE(fixture.problem()
                         << " " << info.name << ": " << prenorm::harness::name(result.status) << " "
                         << result.message);
    }
  }
  for (const auto& [status, cases] : count.statuses) {
    BOOST_TEST_MESSAGE(name << ": " << cases << " " << prenorm::harness::name(status));
  }
  BOOST_TEST_MESSAGE(name << ": " << count.not_asked << " not asked");
  return count;
}

void all_pass(const Count& count, std::size_t at_least) {
  BOOST_TEST(count.statuses.size() == 1u);
  BOOST_TEST(count.of(Status::passed) >= at_least);
}

Interpreter debian() { return {folder("PRENORM_TEST_PYTHON").string(), ""}; }
Interpreter debian_without_torch() {
  return {debian().python, "import sys; sys.modules['torch'] = None"};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_submissions)

BOOST_AUTO_TEST_CASE(functions_on_torch_tensors) {
  const Count count = replay_all("python_torch", "adapters-2025.toml", debian());
  all_pass(count, 400);
  BOOST_TEST(count.not_asked == 16u);  // a block or a model with another eps
}

BOOST_AUTO_TEST_CASE(functions_on_numpy_arrays) {
  const Count count = replay_all("python_numpy", "adapters-2025.toml", debian_without_torch());
  all_pass(count, 400);
}

BOOST_AUTO_TEST_CASE(a_repository_of_the_other_edition) {
  all_pass(replay_all("python_2024", "adapters-2024.toml", debian()), 200);
}

BOOST_AUTO_TEST_CASE(half_done) {
  const Count count = replay_all("python_partial", "adapters-2025.toml", debian());
  BOOST_TEST(count.statuses.size() == 2u);
  BOOST_TEST(count.of(Status::passed) > 100u);
  BOOST_TEST(count.of(Status::not_implemented) > 100u);
}

// With einops, jaxtyping and the current torch, as pip installs them.
BOOST_AUTO_TEST_CASE(a_repository_in_a_virtual_environment) {
  const char* python = std::getenv("PRENORM_TEST_VENV");
  if (python == nullptr || *python == '\0') {
    BOOST_TEST(prenorm::testing::skip(
        "python_submissions", "PRENORM_TEST_VENV names no python with torch, einops, jaxtyping"));
    return;
  }
  all_pass(replay_all("python_repository", "adapters-2025.toml", {python, ""}), 400);
}

BOOST_AUTO_TEST_SUITE_END()
