// Verdicts: names, counts, exit codes.
#include "fixture/verdict.hpp"

#include <boost/test/unit_test.hpp>
#include <initializer_list>

using namespace prenorm::harness;

namespace {

std::vector<Result> results(std::initializer_list<Status> statuses) {
  std::vector<Result> list;
  for (const Status status : statuses) list.emplace_back().status = status;
  return list;
}

/// "passed failed skipped".
std::string counts(std::initializer_list<Status> statuses, bool not_implemented_fails = false) {
  const Summary summary = summarize(results(statuses), not_implemented_fails);
  return std::to_string(summary.passed) + " " + std::to_string(summary.failed) + " " +
         std::to_string(summary.skipped);
}

int code(std::initializer_list<Status> statuses, bool not_implemented_fails = false) {
  return exit_code(results(statuses), not_implemented_fails);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(verdict)

BOOST_AUTO_TEST_CASE(names_are_those_of_the_contract) {
  BOOST_TEST(name(Status::passed) == "PASSED");
  BOOST_TEST(name(Status::not_implemented) == "NOT_IMPLEMENTED");
  BOOST_TEST(name(Status::incorrect_shape) == "INCORRECT_SHAPE");
  BOOST_TEST(name(Status::incorrect_dtype) == "INCORRECT_DTYPE");
  BOOST_TEST(name(Status::incorrect_numerical) == "INCORRECT_NUMERICAL");
  BOOST_TEST(name(Status::input_mutated) == "INPUT_MUTATED");
  BOOST_TEST(name(Status::out_of_bounds) == "OUT_OF_BOUNDS");
  BOOST_TEST(name(Status::nondeterministic) == "NONDETERMINISTIC");
  BOOST_TEST(name(Status::runtime_error) == "RUNTIME_ERROR");
  BOOST_TEST(name(Status::timeout) == "TIMEOUT");
  BOOST_TEST(name(Status::out_of_memory) == "OUT_OF_MEMORY");
  BOOST_TEST(name(Status::sandbox_violation) == "SANDBOX_VIOLATION");
  BOOST_TEST(name(Status::compile_error) == "COMPILE_ERROR");
  BOOST_TEST(name(Status::load_error) == "LOAD_ERROR");
  BOOST_TEST(name(Status::bad_fixture) == "BAD_FIXTURE");
  BOOST_TEST(name(Status::skipped) == "SKIPPED");
}

BOOST_AUTO_TEST_CASE(each_result_counts_once) {
  BOOST_TEST(counts({}) == "0 0 0");
  BOOST_TEST(counts({Status::passed, Status::passed, Status::skipped}) == "2 0 1");
  BOOST_TEST(counts({Status::not_implemented}) == "0 0 1");
  BOOST_TEST(counts({Status::not_implemented, Status::skipped}, true) == "0 1 1");
  BOOST_TEST(counts({Status::bad_fixture, Status::load_error, Status::timeout,
                     Status::incorrect_shape, Status::nondeterministic}) == "0 5 0");
}

BOOST_AUTO_TEST_CASE(exit_codes_by_precedence) {
  BOOST_TEST(code({}) == 3);
  BOOST_TEST(code({Status::skipped, Status::not_implemented}) == 3);
  BOOST_TEST(code({Status::skipped, Status::passed}) == 0);
  BOOST_TEST(code({Status::passed, Status::incorrect_numerical, Status::skipped}) == 1);
  BOOST_TEST(code({Status::load_error}) == 1);
  BOOST_TEST(code({Status::passed, Status::runtime_error, Status::bad_fixture}) == 2);
  BOOST_TEST(code({Status::not_implemented, Status::passed}) == 0);
  BOOST_TEST(code({Status::not_implemented, Status::passed}, true) == 1);
  BOOST_TEST(code({Status::skipped, Status::passed}, true) == 1);
  BOOST_TEST(code({Status::skipped}, true) == 3);
}

BOOST_AUTO_TEST_SUITE_END()
