// Laws, asked of every shipped solution, honest form and known mistake.
#include "explain/laws.hpp"

#include "base/text.hpp"
#include "explain/causes.hpp"
#include "replay/runner.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace prenorm::harness;

BOOST_AUTO_TEST_SUITE(laws)

namespace {

std::vector<Clue> clues(const Fixture& fixture, const std::string& solution, DType dtype,
                        SolutionPool& pool) {
  int calls = calls_for_laws;
  const Witness witness{pool.get(solution), pool.get("reference"), nullptr, nullptr, calls};
  return clues_to(fixture.problem(), fixture.signature(), dtype, witness);
}

std::vector<SelectedFixture> shipped() { return open_files({.only_shipped = true}, 1); }

}  // namespace

BOOST_AUTO_TEST_CASE(right_solutions_break_none) {
  SolutionPool pool(Solution::Options{});
  for (const SelectedFixture& file : shipped()) {
    std::vector<std::string> solutions{"reference", "fast", "plain"};
    for (const std::string& form : variants_of(file.problem, pool.get("honest"))) {
      solutions.push_back("honest/" + form);
    }
    for (const std::string& solution : solutions) {
      for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
        for (const Clue& clue : clues(*file.fixture, solution, dtype, pool)) {
          BOOST_ERROR(file.problem << " by " << solution << " in " << name(dtype) << ": "
                                   << clue.heading << " (" << clue.example << ")");
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(known_mistakes_break_some) {
  SolutionPool pool(Solution::Options{});
  std::size_t told = 0, all = 0;
  for (const SelectedFixture& file : shipped()) {
    for (const std::string& mistake : variants_of(file.problem, pool.get("mistakes"))) {
      if (words_of(file.problem, mistake).honest) continue;
      ++all;
      const std::vector<Clue> found =
          clues(*file.fixture, "mistakes/" + mistake, DType::float32, pool);
      told += found.empty() ? 0 : 1;
      BOOST_TEST_MESSAGE(file.problem << " " << mistake << (found.empty() ? ": silent" : ""));
      for (const Clue& clue : found) {
        BOOST_TEST_MESSAGE("    " << clue.law << " [" << joined(clue.terms, " ") << "] "
                                  << clue.heading << " | " << clue.example);
      }
    }
  }
  BOOST_TEST(4 * told >= 3 * all);
}

BOOST_AUTO_TEST_SUITE_END()
