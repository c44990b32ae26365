// Yardsticks that refuse values, and yardsticks that fail: only the former shape tolerances and
// draws.
#include "replay/calibrate.hpp"
#include "solution_testing.hpp"

#include <cmath>
#include <set>

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

/// One of tests/support/solutions/centred.cpp.
Solution centred(const std::string& name) {
  return {name, folder("PRENORM_TEST_SOLUTIONS") / ("centred/lib" + name + ".so"), "", {}};
}

struct Asked {
  Signature signature = parse_signature("x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]");
  Solution truth = centred("reference"), plain = centred("plain");
  LoadedCase stored;

  explicit Asked(DType dtype, double scale = 1.5, double size = 1, std::int64_t n = 8) {
    Case& info = stored.info;
    info.name = "some_case";
    info.scalars = {scale};
    std::vector<std::optional<TensorType>> types;
    for (const Shape& shape : {Shape{3, n}, Shape{n}}) {
      types.emplace_back(TensorType{dtype, shape});
      info.inputs.push_back(InputInfo{*types.back(), "normal(0,1)"});
      Tensor& input = stored.inputs.emplace_back(Tensor(dtype, shape)).value();
      for (std::int64_t i = 0; i < input.size(); ++i) {
        input.set(i, size * std::sin(static_cast<double>(i)));
      }
    }
    info.binding = prenorm::harness::bind(signature, types);
    info.outputs = {OutputInfo{{3, n}, dtype, {}, {}, ""}};
    if (scale > 0) {
      stored.expected = exact_outputs(problem, signature, stored.inputs, info.scalars, truth);
    }
  }

  NewTolerance calibrated(Solution& textbook) {
    return calibrate(problem, signature, stored, {textbook, truth, truth}, 0).at(0);
  }
  LoadedCase fresh(Solution& by, const FreshOptions& options) {
    return fresh_case(problem, signature, stored, {plain, by, truth}, options);
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

/// The lengths that n gets in so many draws.
std::set<std::int64_t> lengths(std::uint64_t draws, std::int64_t stored,
                               const std::string& refuses = "", bool resize = true,
                               const std::function<void(Case&)>& change = {}) {
  Asked asked(DType::float32, 1.5, 1, stored);
  asked.stored.info.redrawn_sizes = {"n", "m"};
  if (change) change(asked.stored.info);
  Solution by = refuses.empty() ? centred("reference") : loop(refuses);
  std::set<std::int64_t> found;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const LoadedCase drawn = asked.fresh(by, {.seed = seed, .resize = resize, .redraws = 0});
    const std::int64_t n = drawn.info.binding.sizes.at("n");
    BOOST_TEST((drawn.inputs[0]->shape == Shape{3, n}));
    BOOST_TEST((drawn.inputs[1]->shape == Shape{n}));
    BOOST_TEST((drawn.expected[0].shape == Shape{3, n}));
    BOOST_TEST((drawn.info.outputs[0].shape == Shape{3, n}));
    found.insert(n);
  }
  return found;
}

BOOST_AUTO_TEST_CASE(sizes_that_a_case_names_are_drawn_too) {
  const std::set<std::int64_t> as_stored{8};
  const auto least_and_most = [](const std::set<std::int64_t>& found) {
    return std::pair(*found.begin(), *found.rbegin());
  };
  const std::set<std::int64_t> all = lengths(100, 8);
  BOOST_TEST((least_and_most(all) == std::pair<std::int64_t, std::int64_t>(1, 16)));
  BOOST_TEST(all.size() == 16u);
  const auto [least, most] = least_and_most(lengths(20, 257));
  BOOST_TEST((least < 128 && 386 < most && most <= 514));
  // What is there for its length stays long.
  const auto [least_long, most_long] = least_and_most(lengths(20, 258));
  BOOST_TEST((258 <= least_long && least_long < most_long && most_long < 258 + 64));
  BOOST_TEST((lengths(5, 0) == std::set<std::int64_t>{0}));
  BOOST_TEST((lengths(5, 8, "", false) == as_stored));
  const auto other_size = [](Case& info) { info.redrawn_sizes = {"m"}; };
  BOOST_TEST((lengths(5, 8, "", true, other_size) == as_stored));
  const auto kept_bias = [](Case& info) { info.inputs[1]->draw = ""; };
  BOOST_TEST((lengths(5, 8, "", true, kept_bias) == as_stored));
  // Those that the truth refuses are drawn again, and kept in the end.
  BOOST_TEST(*lengths(20, 8, "refuses_long").rbegin() == 8);
  BOOST_TEST((lengths(5, 8, "refuses_all_but_8") == as_stored));
}

/// A case of y = 2 x, which is exact.
struct Twice {
  Signature signature = twice_signature();
  Solution twice{"twice", library("misbehaving"), "", {}};
  const Yardsticks by{twice, twice, twice};
  LoadedCase stored;

  Twice() {
    const TensorType type{DType::float32, {2, 3}};
    stored.info.name = "some_case";
    stored.inputs = {counting(type.shape)};
    stored.info.inputs = {InputInfo{type, "normal(0,1)"}};
    stored.info.binding = prenorm::harness::bind(signature, {{type}});
    stored.info.outputs = {OutputInfo{type.shape, type.dtype, Tolerance{}, {}, ""}};
  }
  Tensor fresh(std::uint64_t seed, bool resize = false) {
    const FreshOptions options{.seed = seed, .resize = resize, .redraws = 0};
    return *fresh_case("twice", signature, stored, by, options).inputs[0];
  }
};

BOOST_AUTO_TEST_CASE(every_axis_of_an_only_input_without_named_ones_is_drawn) {
  Twice twice;
  std::set<Shape> shapes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) shapes.insert(twice.fresh(seed, true).shape);
  BOOST_TEST(shapes.size() == 4u * 6);
  BOOST_TEST((*shapes.begin() == Shape{1, 1} && *shapes.rbegin() == Shape{4, 6}));
  BOOST_TEST((twice.fresh(0).shape == Shape{2, 3}));
  BOOST_TEST(!same(twice.fresh(0), twice.fresh(1)));
  twice.signature = parse_signature("x[..., n] -> y[..., n]");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    BOOST_TEST((twice.fresh(seed, true).shape == Shape{2, 3}));
  }
}

BOOST_AUTO_TEST_CASE(a_case_without_a_draw_text_or_that_must_be_refused_is_as_stored) {
  Twice refused, kept;
  refused.stored.info.error = "must be refused";
  kept.stored.info.inputs[0]->draw = "";
  for (Twice* as_stored : {&refused, &kept}) {
    BOOST_TEST(same(as_stored->fresh(0, true), *as_stored->stored.inputs[0]));
  }
}

BOOST_AUTO_TEST_CASE(what_is_exact_or_rounded_once_is_fair_as_it_is_drawn) {
  Twice exact;
  const auto fair = fair_case("twice", exact.signature, exact.stored, exact.by, {.seed = 1});
  BOOST_TEST(fair.info.outputs[0].tolerance->atol == 0);
  BOOST_TEST(same(*fair.inputs[0], exact.fresh(1)));
  Asked asked(DType::bfloat16);
  const Yardsticks by{asked.plain, asked.truth, asked.truth, &asked.plain};
  const auto rounded = fair_case(problem, asked.signature, asked.stored, by, {.seed = 1});
  BOOST_TEST(allows_one_rounding(*rounded.info.outputs[0].tolerance, DType::bfloat16));
  BOOST_TEST(same(*rounded.inputs[0], *asked.fresh(asked.truth, {.seed = 1}).inputs[0]));
}

BOOST_AUTO_TEST_CASE(sixteen_bits_are_rounded_once_where_no_products_are_taken) {
  Asked asked(DType::bfloat16), zeros(DType::bfloat16, 1.5, 0);
  Solution tf32 = centred("tf32"), other = loop("wrong_where_negative");  // in float32
  const auto once = [](Asked& of, Solution& textbook, Solution* textbook_tf32) {
    const Yardsticks by{textbook, of.truth, of.truth, textbook_tf32};
    const NewTolerance found = calibrate(problem, of.signature, of.stored, by, 3).at(0);
    return allows_one_rounding(found.tolerance, DType::bfloat16);
  };
  BOOST_TEST(once(asked, asked.plain, &asked.plain));
  BOOST_TEST(!once(asked, asked.plain, &tf32));
  // Without a loop in tf32, and of zeros, nobody can say.
  BOOST_TEST(!once(asked, asked.plain, nullptr));
  BOOST_TEST(!once(zeros, asked.plain, &asked.plain));
  BOOST_TEST(!once(asked, other, &other));
}

BOOST_AUTO_TEST_CASE(a_redraw_without_a_tolerance_is_named) {
  Asked asked(DType::float32);
  Solution refuses = loop("refuses_negative");
  const auto redraws = [&](Solution& textbook, Solution& redraws) {
    const Yardsticks by{textbook, asked.truth, redraws};
    calibrate(problem, asked.signature, asked.stored, by);
  };
  // The first that begins with a negative number.
  const std::string where = "case some_case, redraw 2: loops/refuses_negative, asked for centred";
  check_has(message_of<SolutionFailed>([&] { redraws(refuses, asked.truth); }), {where});
  check_has(message_of<CaseError>([&] { redraws(asked.plain, refuses); }), {where});
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

BOOST_AUTO_TEST_CASE(a_draw_is_another_where_the_truth_errs_in_the_case_s_type_or_refuses) {
  Asked asked(DType::float32);
  Solution works = loop("");
  const LoadedCase drawn = asked.fair(works, asked.truth);
  for (const char* variant : {"wrong_where_negative", "refuses_negative"}) {
    Solution truth = loop(variant);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      BOOST_TEST(asked.fair(works, truth, seed).inputs[0]->at(0) >= 0, variant);
      BOOST_TEST(asked.others(drawn, works, truth, seed).value().inputs[0]->at(0) >= 0, variant);
    }
  }
}

BOOST_AUTO_TEST_CASE(values_that_the_truth_always_refuses_are_no_case) {
  Solution works = loop("");
  Asked refused(DType::float32, -1);
  check_has(message_of<CaseError>([&] { refused.fair(works, refused.truth); }),
            {"case some_case", "reference, asked for centred, refuses: centred: scale must be"});
}

BOOST_AUTO_TEST_SUITE_END()
