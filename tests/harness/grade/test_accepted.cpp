// What a rubric accepts is as wide as its mistakes make it: one that does not run makes nothing of
// it.
#include "grade/exam.hpp"
#include "replay/answer.hpp"
#include "solution_testing.hpp"

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

BOOST_AUTO_TEST_SUITE(accepted)

BOOST_AUTO_TEST_CASE(a_mistake_that_fails_is_not_left_out) {
  const Signature signature = parse_signature("x[...] -> y[...]");
  LoadedCase loaded;
  loaded.inputs = {counting({4})};
  loaded.expected = {tensor_of(DType::float64, {4}, {2, 4, 6, 8})};
  loaded.info.inputs = {InputInfo{{DType::float32, {4}}, ""}};
  loaded.info.outputs = {OutputInfo{{4}, DType::float32, {}, {}, ""}};
  Solution mistakes("mistakes", library("misbehaving"), "", {});
  const auto deviation = [&](const std::string& name) {
    return accepted_deviations({name}, "twice", signature, loaded, mistakes).at(0);
  };
  BOOST_TEST(deviation("wrong") > 0);
  BOOST_TEST(deviation("refuses") == 0);
  BOOST_TEST(deviation("not_implemented") == 0);
  BOOST_TEST(deviation("leaves_nan") == 0);
  check_has(message_of<SolutionFailed>([&] { deviation("aborts"); }),
            {"mistakes, asked for twice__aborts, fails: "});
  mistakes = Solution("mistakes", "nowhere.so", "", {});
  check_has(message_of<SolutionFailed>([&] { deviation("wrong"); }), {"mistakes cannot be used"});
}

BOOST_AUTO_TEST_SUITE_END()
