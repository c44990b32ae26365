// What the tests of solutions share: calls of y = 2 x in a library of tests/support/solutions.
#pragma once

#include "fixture_testing.hpp"
#include "solution/solution.hpp"

namespace prenorm::harness::testing {

inline fs::path library(const std::string& name) {
  return folder("PRENORM_TEST_SOLUTIONS") / ("lib" + name + ".so");
}

inline const Signature& twice_signature() {
  static const Signature signature = parse_signature("x[...] -> y[...]");
  return signature;
}

/// 1, 2, 3, ...
inline Tensor counting(const Shape& shape, DType dtype = DType::float32) {
  Tensor x(dtype, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i + 1));
  return x;
}

inline Outcome call(Solution& solution, const std::string& variant, const Tensor& x,
                    bool timed = false) {
  Call call;
  call.function = variant.empty() ? "twice" : "twice__" + variant;
  call.inputs = {&x};
  call.outputs = {{x.dtype, x.shape}};
  call.signature = &twice_signature();
  call.timed = timed;
  return solution.call(call);
}

inline void check(const Outcome& outcome, Status status, const std::string& message) {
  BOOST_TEST(name(outcome.status) == name(status));
  BOOST_TEST(outcome.message == message);
  BOOST_TEST(!outcome.refused);
}

inline void check_refused(const Outcome& outcome, const std::string& message) {
  BOOST_TEST(name(outcome.status) == "RUNTIME_ERROR");
  BOOST_TEST(outcome.message == message);
  BOOST_TEST(outcome.refused);
  BOOST_TEST(outcome.outputs.empty());
}

/// A float written there changes a canary's bytes, but one that happened to be the same.
inline void check_wrote(const Outcome& outcome, const std::string& side_of_buffer) {
  BOOST_TEST(name(outcome.status) == "OUT_OF_BOUNDS");
  const std::string& message = outcome.message;
  BOOST_TEST(message.starts_with("wrote "), message);
  // All bytes of a float, but for an outermost one that was the same before.
  BOOST_TEST((message.size() > 6 && message[6] >= '2' && message[6] <= '4'), message);
  BOOST_TEST(message.ends_with(side_of_buffer), message);
  BOOST_TEST(!outcome.refused);
}

inline void check_doubled(const Outcome& outcome, const Tensor& x) {
  BOOST_TEST(name(outcome.status) == "PASSED", outcome.message);
  BOOST_REQUIRE(outcome.outputs.size() == 1u);
  BOOST_TEST((outcome.outputs[0].dtype == x.dtype));
  BOOST_TEST(outcome.outputs[0].shape == x.shape, boost::test_tools::per_element());
  for (std::int64_t i = 0; i < x.size(); ++i) BOOST_TEST(outcome.outputs[0].at(i) == 2 * x.at(i));
}

}  // namespace prenorm::harness::testing
