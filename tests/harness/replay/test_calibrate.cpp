// Tolerances: the parts of the rule. The whole, through real solutions, is tested in test_cli.py.
#include "replay/calibrate.hpp"

#include "fixture/verdict.hpp"
#include "fixture_testing.hpp"

#include <cmath>
#include <limits>
#include <random>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor row(DType dtype, const std::vector<double>& values) {
  return tensor_of(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

double error_of(const std::vector<double>& actual, const std::vector<double>& truth,
                DType dtype = DType::float64) {
  return largest_error(row(dtype, actual), row(DType::float64, truth));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(calibrate)

BOOST_AUTO_TEST_CASE(the_largest_error_counts_finite_elements) {
  BOOST_TEST(error_of({1, 2, 3}, {1, 2.5, 3.25}) == 0.5);
  BOOST_TEST(error_of({not_a_number, infinity, -infinity, 1},
                      {not_a_number, infinity, -infinity, 1.125}) == 0.125);
  BOOST_TEST(error_of({}, {}) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_must_be_so_in_both) {
  BOOST_CHECK_THROW(error_of({1}, {not_a_number}), std::runtime_error);
  BOOST_CHECK_THROW(error_of({not_a_number}, {1}), std::runtime_error);
  BOOST_CHECK_THROW(error_of({infinity}, {1}), std::runtime_error);
  BOOST_CHECK_THROW(error_of({1}, {infinity}), std::runtime_error);
  BOOST_CHECK_THROW(error_of({-infinity}, {infinity}), std::runtime_error);
  check_has(message_of<std::runtime_error>([] {
              error_of({0, 0, not_a_number}, {0, 0, 2});
            }),
            {"[2]"});
}

BOOST_AUTO_TEST_CASE(an_overflow_is_no_disagreement) {
  // Beyond the largest float16 the answer is an infinity; just beside it either will do.
  BOOST_TEST(error_of({infinity, 1}, {1e6, 1}, DType::float16) == 0);
  BOOST_TEST(error_of({-infinity}, {-65521}, DType::float16) == 0);
  BOOST_TEST(error_of({infinity}, {65500}, DType::float16) == 0);
  BOOST_TEST(error_of({65504}, {65530}, DType::float16) == 26);
  BOOST_CHECK_THROW(error_of({65504}, {1e6}, DType::float16), std::runtime_error);
  BOOST_CHECK_THROW(error_of({infinity}, {30000}, DType::float16), std::runtime_error);
  BOOST_CHECK_THROW(error_of({-infinity}, {1e6}, DType::float16), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(the_root_mean_square_is_over_what_the_type_can_hold) {
  BOOST_CHECK_CLOSE(root_mean_square(row(DType::float64, {3, -4}), DType::float32), std::sqrt(12.5),
                    1e-12);
  BOOST_TEST(
      root_mean_square(row(DType::float64, {2, not_a_number, infinity, 1e6}), DType::float16) == 2);
  BOOST_TEST(root_mean_square(row(DType::float64, {}), DType::float32) == 0);
  BOOST_TEST(root_mean_square(row(DType::float64, {0, 0}), DType::float32) == 0);
  // Neither squares that overflow nor squares that vanish.
  BOOST_CHECK_CLOSE(root_mean_square(row(DType::float64, {1e300, 1e300}), DType::float64), 1e300,
                    1e-12);
  BOOST_CHECK_CLOSE(root_mean_square(row(DType::float64, {1e-300}), DType::float64), 1e-300, 1e-12);
}

BOOST_AUTO_TEST_CASE(twice_the_error_decides) {
  const DerivedTolerance derived = derive_tolerance(1e-3, 1, DType::float32, 16);
  BOOST_TEST(derived.tolerance.atol == 2e-3);
  BOOST_TEST(derived.tolerance.rtol == 4 * std::ldexp(1.0, -23));
  BOOST_TEST(derived.reason ==
             "E = 0.001, the largest error of the textbook loop in 16 draws; "
             "atol = 2 E");
}

BOOST_AUTO_TEST_CASE(or_four_units_in_the_last_place) {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const DerivedTolerance derived = derive_tolerance(0, 1.5, dtype, 1);
    BOOST_TEST(derived.tolerance.atol == 4 * epsilon(dtype));
    BOOST_TEST(derived.tolerance.rtol == 4 * epsilon(dtype));
  }
  BOOST_TEST(derive_tolerance(0, 1.5, DType::float16, 16).reason ==
             "E = 0, the largest error of the textbook loop in 16 draws; atol = 4 ulp at rms 1.5, "
             "more than 2 E");
  // Spacing at 2 is twice that at 1.5; of subnormals, and at 0, it is the least there is.
  BOOST_TEST(derive_tolerance(0, 2, DType::float32, 1).tolerance.atol ==
             8 * epsilon(DType::float32));
  BOOST_TEST(derive_tolerance(0, 1e-40, DType::float32, 1).tolerance.atol ==
             4 * std::ldexp(1.0, -149));
  BOOST_TEST(derive_tolerance(0, 0, DType::float16, 1).tolerance.atol == 4 * std::ldexp(1.0, -24));
}

BOOST_AUTO_TEST_CASE(what_is_rounded_once_is_allowed_that_rounding) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const DerivedTolerance derived = derive_rounded_tolerance(1e-6, dtype, 16);
    BOOST_TEST(derived.tolerance.atol == 2e-6 + spacing(dtype, 0) / 2);
    BOOST_TEST(derived.tolerance.rtol == 0.75 * epsilon(dtype));
    BOOST_TEST(allows_one_rounding(derived.tolerance, dtype));
    BOOST_TEST(!allows_one_rounding(derive_tolerance(1e-6, 1, dtype, 16).tolerance, dtype));
    // The exact answer rounded passes, at every scale; two units in the last place do not.
    for (const double value : {1.0, 1.0 / 3, 1e-3, 1e3, spacing(dtype, 0) / 2, 0.0}) {
      const Tensor truth = row(DType::float64, {value});
      const double rounded = round_to(dtype, value), unit = spacing(dtype, rounded);
      const auto passes = [&](double y) {
        return compare("y", row(dtype, {y}), truth, derived.tolerance).mismatches == 0;
      };
      BOOST_TEST(passes(rounded));
      if (unit > 4e-6) BOOST_TEST(!passes(rounded + 2 * unit));
    }
  }
  BOOST_TEST(derive_rounded_tolerance(0.25, DType::float16, 1).reason ==
             "rounded once: E = 0.25, the largest error of the textbook loop before rounding in 1 "
             "draw; atol = 2 E + half the smallest spacing, rtol = 0.75 eps");
}

BOOST_AUTO_TEST_CASE(tf32_has_a_tolerance_of_its_own_where_it_shows) {
  const Tolerance ordinary{1e-6, 4 * std::ldexp(1.0, -23)};
  const DerivedTolerance shows = derive_tf32_tolerance(1e-3, 1e-7, ordinary);
  BOOST_TEST(shows.tolerance.atol == 2e-3);
  BOOST_TEST(shows.tolerance.rtol == std::ldexp(1.0, -8));
  BOOST_TEST(shows.reason == "tf32: E = 0.001, atol = 2 E");
  // Never below the ordinary one.
  const DerivedTolerance barely = derive_tf32_tolerance(2e-7, 1e-7, ordinary);
  BOOST_TEST(barely.tolerance.atol == 1e-6);
  BOOST_TEST(barely.tolerance.rtol == std::ldexp(1.0, -8));
  BOOST_TEST(barely.reason == "tf32: E = 2e-07, atol as without tf32, more than 2 E");
  // No product, or one that cutting does not change.
  for (const double error : {0.0, 1e-7}) {
    const DerivedTolerance same = derive_tf32_tolerance(error, 1e-7, ordinary);
    BOOST_TEST(same.tolerance.atol == ordinary.atol);
    BOOST_TEST(same.tolerance.rtol == ordinary.rtol);
    BOOST_TEST(same.reason == "tf32: no larger error, the same tolerance");
  }
  // Exact cases: exact in tf32 too, or not.
  BOOST_TEST(derive_tf32_tolerance(0, 0, {0, 0}).tolerance.rtol == 0);
  BOOST_TEST(derive_tf32_tolerance(1, 0, {0, 0}).tolerance.atol == 2);
}

BOOST_AUTO_TEST_CASE(a_case_that_must_be_refused_has_no_tolerance) {
  const Signature signature = parse_signature("x[n] -> y[n]");
  Case info;
  info.error = "must be refused";
  Solution nobody("nobody", "nowhere.so", "", {});
  BOOST_TEST(
      prenorm::harness::calibrate("made_up", signature, {info, {}, {}}, {nobody, nobody, nobody})
          .empty());
}

BOOST_AUTO_TEST_CASE(a_solution_that_fails_is_named_with_the_case) {
  const Signature signature = parse_signature("x[n] -> y[n]");
  Case info;
  info.name = "some_case";
  info.inputs = {InputInfo{{DType::float32, {2}}, ""}};
  info.outputs = {OutputInfo{{2}, DType::float32, {}, {}, ""}};
  const LoadedCase loaded{info, {row(DType::float32, {1, 2})}, {row(DType::float64, {1, 2})}};
  Solution nobody("nobody", "nowhere.so", "", {});
  const auto call = [&] {
    prenorm::harness::calibrate("made_up", signature, loaded, {nobody, nobody, nobody});
  };
  check_has(message_of<std::runtime_error>(call), {"case some_case", "nobody"});
}

BOOST_AUTO_TEST_CASE(together_is_derived_from_what_draws_have_in_common) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<Tensor> actual, exact;
  const auto draw = [&](std::int64_t count, double error) {
    Tensor y(DType::bfloat16, {count}), e(DType::float64, {count});
    for (std::int64_t i = 0; i < count; ++i) {
      e.set(i, normal(random));
      y.set(i, e.at(i) * (1 + error * normal(random)));
    }
    actual.push_back(y);
    exact.push_back(e);
  };
  const auto derived = [&] {
    Tolerance tolerance{0x1p-6, 0x1p-5};
    derive_together(actual, exact, 1.6, tolerance);
    return tolerance;
  };
  for (int i = 0; i < 16; ++i) draw(4096, 0);
  const Tolerance of_roundings = derived();
  BOOST_REQUIRE(of_roundings.rms && of_roundings.bias);
  BOOST_TEST(*of_roundings.bias > 0.05);
  BOOST_TEST(*of_roundings.bias < 0.2);
  const double rms = *compare("", actual[0], exact[0], {0x1p-6, 0x1p-5}).rms;
  BOOST_TEST(*of_roundings.rms > 1.6 * rms);
  BOOST_TEST(*of_roundings.rms < 2.5 * rms);
  // Draws that have nothing in common allow no more than is said of single elements.
  for (int i = 0; i < 8; ++i) draw(4096, i % 2 == 0 ? 0.02 : 0);
  BOOST_TEST(!derived().rms);
  actual.clear(), exact.clear();
  for (int i = 0; i < 16; ++i) draw(100, 0);  // too few
  BOOST_TEST(!derived().rms);
  BOOST_TEST(!derived().bias);
}

BOOST_AUTO_TEST_SUITE_END()
