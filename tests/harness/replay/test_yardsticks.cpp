// Yardsticks that refuse values, and yardsticks that fail: only the former shape tolerances and
// draws.
#include "replay/calibrate.hpp"
#include "solution_testing.hpp"

#include <cmath>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

const std::string problem = "centred";
const std::vector<std::string> failing{"throws", "crashes", "hangs"};  // loops, in float32

/// In the reason of a tolerance of float64 to which float32 has added.
const std::string in_float32 = "; in float32, times 2^-29";

/// A solution of loops.cpp; the usual limit is of a minute.
Solution loop(const std::string& variant) {
  const double seconds = variant == "hangs" ? 0.2 : 60;
  return {"loops/" + variant,
          library("loops"),
          variant,
          {.limits = {.seconds = seconds, .loading = 60}}};
}

struct Asked {
  Signature signature = parse_signature("x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]");
  Solution truth{"reference", folder("PRENORM_TEST_SOLUTIONS") / "centred/libreference.so", "", {}};
  LoadedCase stored;

  explicit Asked(DType dtype, double scale = 1.5, double size = 1) {
    Case& info = stored.info;
    info.name = "some_case";
    info.scalars = {scale};
    std::vector<std::optional<TensorType>> types;
    for (const Shape& shape : {Shape{3, 8}, Shape{8}}) {
      types.emplace_back(TensorType{dtype, shape});
      info.inputs.push_back(InputInfo{*types.back(), "normal(0,1)"});
      Tensor& input = stored.inputs.emplace_back(Tensor(dtype, shape)).value();
      for (std::int64_t i = 0; i < input.size(); ++i) {
        input.set(i, size * std::sin(static_cast<double>(i)));
      }
    }
    info.binding = prenorm::harness::bind(signature, types);
    info.outputs = {OutputInfo{{3, 8}, dtype, {}, {}, ""}};
    if (scale > 0) {
      stored.expected = exact_outputs(problem, signature, stored.inputs, info.scalars, truth);
    }
  }

  NewTolerance calibrated(Solution& textbook) {
    return calibrate(problem, signature, stored, {textbook, truth, truth}, 0).at(0);
  }
  LoadedCase fair(Solution& textbook, Solution& by, std::uint64_t seed = 0) {
    return fair_case(problem, signature, stored, {textbook, by, truth}, {.seed = seed});
  }
  std::optional<LoadedCase> others(const LoadedCase& drawn, Solution& textbook, Solution& by,
                                   std::uint64_t seed = 0) {
    return with_other_values(problem, signature, drawn, {textbook, by, truth}, seed);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(yardsticks)

BOOST_AUTO_TEST_CASE(a_loop_that_fails_in_float32_alone_shapes_no_tolerance_of_float64) {
  Asked asked(DType::float64);
  Solution works = loop("");
  check_has(asked.calibrated(works).reason, {in_float32});
  for (const std::string& variant : failing) {
    Solution fails = loop(variant);
    check_has(message_of<SolutionFailed>([&] { asked.calibrated(fails); }),
              {"case some_case, the stored inputs: loops/" + variant + ", asked for centred__"});
  }
  Solution lacks = loop("no_such");
  check_has(message_of<SolutionFailed>([&] { asked.calibrated(lacks); }), {"has no function"});
}

BOOST_AUTO_TEST_CASE(what_float32_has_not_is_measured_in_float64_alone) {
  // A scale that vanishes in float32, which the loop may refuse; other scales it may not.
  Solution refuses = loop("refuses_what_vanishes"), works = loop("");
  Asked vanishing(DType::float64, 1e-60);
  check_lacks(vanishing.calibrated(refuses).reason, {in_float32});
  check_has(Asked(DType::float64).calibrated(refuses).reason, {in_float32});
  // Sums that are infinite in float32.
  check_lacks(Asked(DType::float64, 1.5, 3e38).calibrated(works).reason, {in_float32});
}

BOOST_AUTO_TEST_CASE(a_tolerance_of_float64_has_what_float32_errs_in_proportion) {
  Asked asked(DType::float64);
  Solution errs = loop("errs");
  const double error = 0.001 * asked.stored.inputs[0]->at(1);
  BOOST_CHECK_CLOSE(asked.calibrated(errs).tolerance.atol, 2 * error * 0x1p-29, 0.1);
}

BOOST_AUTO_TEST_CASE(a_draw_is_no_other_where_a_loop_fails) {
  Asked asked(DType::float32);
  Solution works = loop("");
  const LoadedCase drawn = asked.fair(works, asked.truth);
  for (const std::string& variant : failing) {
    Solution fails = loop(variant);
    check_has(message_of<SolutionFailed>([&] { asked.fair(fails, asked.truth); }),
              {"case some_case", "loops/" + variant});
    check_has(message_of<SolutionFailed>([&] { asked.others(drawn, fails, asked.truth); }),
              {"case some_case", "loops/" + variant});
  }
}

BOOST_AUTO_TEST_CASE(a_draw_that_sets_its_own_tolerance_is_drawn_again) {
  Asked asked(DType::float32);
  Solution coarse = loop("coarse");
  const auto is_well_within = [&](const LoadedCase& drawn) {
    const auto y = answer_of(problem, asked.signature, coarse, drawn.inputs, drawn.info.scalars,
                             {{DType::float32, {3, 8}}});
    return 2 * largest_error(y[0], drawn.expected[0]) < drawn.info.outputs[0].tolerance->atol;
  };
  // The loop itself is coarse; its field form is; it is on half of the inputs next to a draw.
  for (const char* variant : {"coarse", "", "coarse_where_odd"}) {
    Solution textbook = loop(variant);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {  // one in sixteen does
      const LoadedCase drawn = asked.fair(textbook, asked.truth, seed);
      BOOST_TEST(is_well_within(drawn), variant << " " << seed);
      const auto others = asked.others(drawn, textbook, asked.truth, seed);
      BOOST_TEST(is_well_within(others.value()), variant << " " << seed);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_draw_is_another_where_the_truth_errs_in_the_case_s_type) {
  Asked asked(DType::float32);
  Solution works = loop(""), wrong = loop("wrong_where_negative");
  const LoadedCase drawn = asked.fair(works, asked.truth);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    BOOST_TEST(asked.fair(works, wrong, seed).inputs[0]->at(0) >= 0);
    BOOST_TEST(asked.others(drawn, works, wrong, seed)->inputs[0]->at(0) >= 0);
  }
}

BOOST_AUTO_TEST_CASE(a_draw_is_another_where_the_truth_refuses) {
  Asked asked(DType::float32);
  Solution works = loop(""), refuses = loop("refuses_negative");
  const LoadedCase drawn = asked.fair(works, asked.truth);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    BOOST_TEST(asked.fair(works, refuses, seed).inputs[0]->at(0) >= 0);
    const auto other = asked.others(drawn, works, refuses, seed);
    BOOST_TEST((!other || other->inputs[0]->at(0) >= 0));
  }
  Asked refused(DType::float32, -1);
  check_has(message_of<CaseError>([&] { refused.fair(works, refused.truth); }),
            {"case some_case", "reference, asked for centred, refuses: centred: scale must be"});
}

BOOST_AUTO_TEST_SUITE_END()
