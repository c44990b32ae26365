// Comparison: what passes, and the figures that are reported.
#include "fixture/compare.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace prenorm::harness;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor result(dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.set(static_cast<std::int64_t>(i), values[i]);
  }
  return result;
}

/// By another name: the suite below is called compare.
OutputReport judge(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  return compare("y", actual, expected, tolerance);
}

OutputReport compare_lists(DType dtype, const std::vector<double>& actual,
                           const std::vector<double>& expected, const Tolerance& tolerance) {
  const Shape shape{static_cast<std::int64_t>(actual.size())};
  return judge(tensor(dtype, shape, actual), tensor(DType::float64, shape, expected), tolerance);
}

bool passes(double actual, double expected, const Tolerance& tolerance = {},
            DType dtype = DType::float32) {
  return compare_lists(dtype, {actual}, {expected}, tolerance).mismatches == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(compare)

BOOST_AUTO_TEST_CASE(the_bound_is_atol_plus_rtol_times_expected) {
  BOOST_TEST(passes(1.5, 1, {0.5, 0}));
  BOOST_TEST(passes(0.5, 1, {0.5, 0}));
  BOOST_TEST(!passes(1.5, 1, {0.4999, 0}));
  BOOST_TEST(passes(-4.5, -4, {0.25, 0.0625}));
  BOOST_TEST(!passes(-4.5, -4, {0.25, 0.06}));
  BOOST_TEST(passes(4, 4.5, {0.05, 0.1}));  // 0.5 = 0.05 + 0.1 * 4.5: of expected, not of actual
  BOOST_TEST(!passes(4, 4.5, {0.05, 0.0999}));
}

BOOST_AUTO_TEST_CASE(nan_passes_only_where_it_is_expected) {
  const Tolerance loose{1e30, 1e30};
  BOOST_TEST(!passes(not_a_number, 1, loose));
  BOOST_TEST(!passes(1, not_a_number, loose));
  BOOST_TEST(!passes(infinity, not_a_number, loose));
  BOOST_TEST(!passes(not_a_number, infinity, loose));
  BOOST_TEST(passes(not_a_number, not_a_number));
}

BOOST_AUTO_TEST_CASE(an_infinity_passes_only_as_the_same_infinity) {
  const Tolerance loose{1e30, 1e30};
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    BOOST_TEST(passes(infinity, infinity, {}, dtype));
    BOOST_TEST(passes(-infinity, -infinity, {}, dtype));
    BOOST_TEST(!passes(-infinity, infinity, loose, dtype));
    BOOST_TEST(!passes(infinity, -infinity, loose, dtype));
    BOOST_TEST(!passes(60000, infinity, loose, dtype));
    BOOST_TEST(!passes(infinity, 60000, loose, dtype));
    BOOST_TEST(!passes(-infinity, 1, loose, dtype));
  }
}

BOOST_AUTO_TEST_CASE(where_expected_overflows_the_type_its_infinity_passes_too) {
  // float16: 65520 lies half-way between the largest number 65504 and 65536.
  BOOST_TEST(passes(infinity, 65520, {}, DType::float16));
  BOOST_TEST(!passes(infinity, 65519.99, {}, DType::float16));
  BOOST_TEST(!passes(-infinity, 65520, {}, DType::float16));
  BOOST_TEST(passes(-infinity, -70000, {}, DType::float16));
  BOOST_TEST(passes(65504, 65520, {16, 0}, DType::float16));  // as a number, by the tolerance
  BOOST_TEST(!passes(65504, 65520, {15, 0}, DType::float16));
  const double threshold = (2 - 0x1p-8) * 0x1p127;
  BOOST_TEST(passes(infinity, threshold, {}, DType::bfloat16));
  BOOST_TEST(!passes(infinity, std::nextafter(threshold, 0), {}, DType::bfloat16));
  BOOST_TEST(passes(infinity, 1e39));
  BOOST_TEST(!passes(infinity, 1e39, {}, DType::float64));
}

BOOST_AUTO_TEST_CASE(the_rules_hold_inside_a_long_tensor_too) {
  // Blocks of finite numbers go another way than the rest: each rule again, far from the end.
  const std::size_t size = 5000;
  std::vector<double> expected(size, 1), actual(size, 1);
  const auto count = [&](double y, double e) {
    std::vector<double> ys = actual, es = expected;
    ys[1500] = y;
    es[1500] = e;
    const OutputReport report = compare_lists(DType::float16, ys, es, {0.5, 0});
    BOOST_TEST(report.worst_index == (report.mismatches > 0 ? Shape{1500} : Shape{0}),
               boost::test_tools::per_element());
    BOOST_TEST(report.elements == 5000);
    return report.mismatches;
  };
  BOOST_TEST(count(1, 1) == 0);
  BOOST_TEST(count(not_a_number, 1) == 1);
  BOOST_TEST(count(1, not_a_number) == 1);
  BOOST_TEST(count(not_a_number, not_a_number) == 0);
  BOOST_TEST(count(infinity, 1) == 1);
  BOOST_TEST(count(infinity, infinity) == 0);
  BOOST_TEST(count(-infinity, infinity) == 1);
  BOOST_TEST(count(infinity, 65520) == 0);
  BOOST_TEST(count(infinity, 65519) == 1);
  BOOST_TEST(count(1.75, 1) == 1);
}

BOOST_AUTO_TEST_CASE(signed_zeros_are_equal) {
  BOOST_TEST(passes(-0.0, 0.0));
  BOOST_TEST(passes(0.0, -0.0));
}

BOOST_AUTO_TEST_CASE(zero_tolerance_asks_for_the_same_number) {
  BOOST_TEST(passes(0.1f, 0.1f));
  BOOST_TEST(!passes(0.1f, 0.1));  // the double differs
  BOOST_TEST(!passes(0x1p-149, 0));
  BOOST_TEST(!passes(0x1p-1074, 0, {}, DType::float64));
}

BOOST_AUTO_TEST_CASE(a_tolerance_that_is_no_number_passes_nothing) {
  BOOST_TEST(!passes(1, 1, {not_a_number, 0}));
  BOOST_TEST(!passes(1, 1, {0, not_a_number}));
  BOOST_TEST(!passes(1, 1, {-1, 0}));
}

BOOST_AUTO_TEST_CASE(empty_tensors_pass_and_report_nothing) {
  const OutputReport report =
      judge(Tensor(DType::float32, {3, 0}), Tensor(DType::float64, {3, 0}), {});
  BOOST_TEST(report.mismatches == 0);
  BOOST_TEST(report.elements == 0);
  BOOST_TEST(report.worst_index.empty());
  BOOST_TEST(!report.max_abs_error);
  BOOST_TEST(!report.relative_l2_error);
  BOOST_TEST(!report.worst_actual);
  BOOST_TEST(!report.worst_expected);
}

BOOST_AUTO_TEST_CASE(a_tensor_without_axes_is_one_element) {
  const OutputReport report =
      judge(tensor(DType::float32, {}, {2}), tensor(DType::float64, {}, {1}), {0.5, 0});
  BOOST_TEST(report.mismatches == 1);
  BOOST_TEST(report.elements == 1);
  BOOST_TEST(report.worst_index.empty());
  BOOST_TEST(report.worst_actual.value() == 2);
  BOOST_TEST(report.worst_expected.value() == 1);
}

BOOST_AUTO_TEST_CASE(figures_of_a_case_checked_by_hand) {
  const OutputReport report = judge(tensor(DType::float32, {2, 2}, {1.5, 2, 0.25, -4}),
                                    tensor(DType::float64, {2, 2}, {1, 2, 0, -4.25}), {0.25, 0});
  BOOST_TEST(report.name == "y");
  BOOST_TEST(report.mismatches == 1);
  BOOST_TEST(report.max_abs_error.value() == 0.5);
  BOOST_TEST(report.max_rel_error.value() == 0.5);             // 0.25 / 0 is left out
  BOOST_TEST(report.max_ulp_error.value() == 0.25 * 0x1p149);  // at expected 0
  const double squares = 0.25 + 0.0625 + 0.0625;
  BOOST_TEST(report.relative_l2_error.value() == std::sqrt(squares / (1 + 4 + 4.25 * 4.25)),
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(report.worst_index == Shape({0, 0}), boost::test_tools::per_element());
  BOOST_TEST(report.worst_actual.value() == 1.5);
  BOOST_TEST(report.worst_expected.value() == 1);
  BOOST_TEST(report.atol == 0.25);
  BOOST_TEST(report.rtol == 0);
}

BOOST_AUTO_TEST_CASE(ulps_are_spacings_of_the_outputs_type_at_expected) {
  const auto ulps = [](DType dtype, double actual, double expected) {
    return compare_lists(dtype, {actual}, {expected}, {}).max_ulp_error.value();
  };
  BOOST_TEST(ulps(DType::float32, 1 + 0x1p-22, 1) == 2);
  BOOST_TEST(ulps(DType::float64, 1 + 0x1p-51, 1) == 2);
  BOOST_TEST(ulps(DType::bfloat16, 1 + 0x1p-6, 1) == 2);
  BOOST_TEST(ulps(DType::float16, 3, 2) == 512);
  BOOST_TEST(ulps(DType::float32, 1, 2 - 0x1p-23) == 0x1p23 - 1);  // below 2 the spacing is 1's
  // Subnormals are evenly spaced.
  BOOST_TEST(ulps(DType::float32, 0x3p-149, 0x1p-149) == 2);
  BOOST_TEST(ulps(DType::float64, 0x3p-1074, 0x1p-1074) == 2);
  BOOST_TEST(ulps(DType::float16, 0x5p-24, 0x1p-24) == 4);
  BOOST_TEST(ulps(DType::bfloat16, 0x5p-133, 0) == 5);
  // Expected values beyond the type's range: its largest spacing.
  BOOST_TEST(ulps(DType::float16, 65504, 65504 + 64) == 2);
  BOOST_TEST(ulps(DType::int64, 7, 4) == 3);
}

BOOST_AUTO_TEST_CASE(worst_is_what_misses_its_bound_most) {
  // Larger differences, but further from nowhere: [2] misses twice over, [1] by half.
  OutputReport report =
      compare_lists(DType::float64, {0.5, 1015, 0.03}, {0, 1000, 0}, {0.01, 0.01});
  BOOST_TEST(report.mismatches == 3);
  BOOST_TEST(report.worst_index == Shape{0}, boost::test_tools::per_element());
  report = compare_lists(DType::float64, {0, 1015, 0.03}, {0, 1000, 0}, {0.01, 0.01});
  BOOST_TEST(report.worst_index == Shape{2}, boost::test_tools::per_element());
  // All pass: the one nearest to its bound.
  report = compare_lists(DType::float64, {0, 1009, 0.001}, {0, 1000, 0}, {0.01, 0.01});
  BOOST_TEST(report.mismatches == 0);
  BOOST_TEST(report.worst_index == Shape{1}, boost::test_tools::per_element());
  // With a zero tolerance the largest difference; what is no number is worse than any.
  report = compare_lists(DType::float64, {1, 5, 3}, {0, 0, 0}, {});
  BOOST_TEST(report.worst_index == Shape{1}, boost::test_tools::per_element());
  report = compare_lists(DType::float64, {1, 5, not_a_number}, {0, 0, 0}, {});
  BOOST_TEST(report.worst_index == Shape{2}, boost::test_tools::per_element());
  BOOST_TEST(std::isnan(report.worst_actual.value()));
  // A miss by the smallest number is worse than any pass.
  report = compare_lists(DType::float64, {1.5, 0x1p-1074}, {1, 0}, {0, 0.5});
  BOOST_TEST(report.mismatches == 1);
  BOOST_TEST(report.worst_index == Shape{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(figures_leave_out_what_is_not_finite) {
  const OutputReport report = compare_lists(DType::float32, {1.5, not_a_number, infinity, infinity},
                                            {1, not_a_number, infinity, 5}, {1, 0});
  BOOST_TEST(report.mismatches == 1);
  BOOST_TEST(report.max_abs_error.value() == 0.5);
  BOOST_TEST(report.relative_l2_error.value() == 0.5);
  const OutputReport none = compare_lists(DType::float32, {not_a_number}, {not_a_number}, {});
  BOOST_TEST(none.mismatches == 0);
  BOOST_TEST(!none.max_abs_error);
  BOOST_TEST(std::isnan(none.worst_expected.value()));
}

BOOST_AUTO_TEST_CASE(relative_l2_survives_the_ends_of_the_range) {
  for (const double scale : {1e-300, 1e300}) {
    const OutputReport report =
        compare_lists(DType::float64, {3 * scale, 4 * scale}, {3 * scale, 2 * scale}, {});
    BOOST_TEST(report.relative_l2_error.value() == 2 / std::sqrt(13),
               boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(compare_lists(DType::float64, {0, 0}, {0, 0}, {}).relative_l2_error.value() == 0);
  BOOST_TEST(std::isinf(compare_lists(DType::float64, {1}, {0}, {}).relative_l2_error.value()));
}

BOOST_AUTO_TEST_CASE(a_long_tensor_gives_the_figures_of_a_plain_loop) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const std::int64_t size = 3 * 1024 + 17;
    Tensor actual(dtype, {size}), expected(DType::float64, {size});
    const Tolerance tolerance{epsilon(dtype), epsilon(dtype)};
    double max_abs = 0, max_rel = 0, max_ulp = 0, squares = 0, all = 0, worst = 0;
    std::int64_t mismatches = 0, where = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double e = normal(random);
      expected.set(i, e);
      actual.set(i, e * (1 + 2 * epsilon(dtype) * normal(random)));
      const double d = std::fabs(actual.at(i) - e);
      const double bound = tolerance.atol + tolerance.rtol * std::fabs(e);
      max_abs = std::max(max_abs, d);
      max_rel = std::max(max_rel, d / std::fabs(e));
      max_ulp = std::max(max_ulp, d / spacing(dtype, e));
      squares += d * d;
      all += e * e;
      mismatches += d <= bound ? 0 : 1;
      if (d / bound > worst) {
        worst = d / bound;
        where = i;
      }
    }
    const OutputReport report = judge(actual, expected, tolerance);
    BOOST_TEST(mismatches > 100);
    BOOST_TEST(report.mismatches == mismatches);
    BOOST_TEST(report.max_abs_error.value() == max_abs);
    BOOST_TEST(report.max_rel_error.value() == max_rel);
    BOOST_TEST(report.max_ulp_error.value() == max_ulp);
    BOOST_TEST(report.relative_l2_error.value() == std::sqrt(squares / all),
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(report.worst_index == Shape{where}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(integers_and_booleans_compare_as_numbers) {
  BOOST_TEST(passes(3, 3, {}, DType::int64));
  BOOST_TEST(!passes(3, 4, {}, DType::int64));
  BOOST_TEST(passes(1, 1, {}, DType::boolean));
  Tensor two(DType::boolean, {1});
  two.data[0] = std::byte{2};  // neither false nor true
  BOOST_TEST(judge(two, tensor(DType::float64, {1}, {1}), {}).mismatches == 1);
}

BOOST_AUTO_TEST_CASE(another_shape_is_an_error_of_the_caller) {
  BOOST_CHECK_THROW(judge(Tensor(DType::float32, {2}), Tensor(DType::float64, {1, 2}), {}),
                    std::invalid_argument);
  BOOST_CHECK_THROW(judge(Tensor(DType::float32, {2}), Tensor(DType::float32, {2}), {}),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(explains_in_one_line) {
  const auto line = [](const std::vector<double>& actual, const std::vector<double>& expected,
                       const Tolerance& tolerance, DType dtype = DType::float32) {
    return explain(compare_lists(dtype, actual, expected, tolerance), dtype);
  };
  BOOST_TEST(line({1, 0.1}, {1, 0.35}, {1e-3, 0}) ==
             "y: 1 of 2 elements wrong, worst at [1]: 0.1, expected 0.35 (off by 0.25, allowed "
             "0.001)");
  BOOST_TEST(line({not_a_number}, {1}, {}) ==
             "y: 1 of 1 element wrong, worst at [0]: NaN, expected 1");
  BOOST_TEST(line({1}, {-infinity}, {}) ==
             "y: 1 of 1 element wrong, worst at [0]: 1, expected -infinity");
  BOOST_TEST(line({0.1f}, {0.1}, {}) ==
             "y: 1 of 1 element wrong, worst at [0]: 0.10000000149011612, expected 0.1 (off by "
             "1.49e-09, allowed 0)");
  BOOST_TEST(line({1, 2}, {1, 2.5}, {1, 0}) ==
             "y: 2 elements within tolerance, nearest to it at [1]: 2, expected 2.5 (off by 0.5, "
             "allowed 1)");
  BOOST_TEST(line({}, {}, {}) == "y: empty, as expected");
}

BOOST_AUTO_TEST_SUITE_END()
