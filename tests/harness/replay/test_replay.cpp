// Replay: one case through one solution. The problems are those of tests/support/solutions/*.cpp.
#include "replay/runner.hpp"
#include "solution_testing.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace prenorm::harness;
using prenorm::harness::testing::counting;
using prenorm::harness::testing::library;
using prenorm::harness::testing::made_files;

namespace {

Solution open(const std::string& name, const std::string& variant = "") {
  Solution::Options options;
  options.limits.seconds = 20;
  return {variant.empty() ? name : name + "/" + variant, library(name), variant, options};
}

std::vector<std::optional<TensorType>> types_of(const std::vector<std::optional<Tensor>>& inputs) {
  std::vector<std::optional<TensorType>> types;
  for (const auto& input : inputs) {
    types.push_back(input ? std::optional(TensorType{input->dtype, input->shape}) : std::nullopt);
  }
  return types;
}

/// A case in memory, as load_case would give it.
struct Example {
  Signature signature;
  Case info;
  LoadedCase loaded;

  Example(const std::string& text, std::vector<std::optional<Tensor>> inputs,
          std::vector<Tensor> expected, std::vector<Scalar> scalars = {})
      : signature(parse_signature(text)) {
    info.name = "example";
    info.scalars = std::move(scalars);
    info.binding = prenorm::harness::bind(signature, types_of(inputs));
    const std::vector<TensorType> types = output_types(signature, info.binding);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      OutputInfo& output = info.outputs.emplace_back();
      output.shape = expected[i].shape;
      output.dtype = types[i].dtype;
      output.tolerance = Tolerance{1e-6, 0};
    }
    loaded.inputs = std::move(inputs);
    loaded.expected = std::move(expected);
  }

  Result replay(const std::string& problem, Solution solution, const ReplayOptions& options = {},
                std::vector<Tensor>* outputs = nullptr) {
    loaded.info = info;
    return prenorm::harness::replay(problem, signature, loaded, solution, options, outputs);
  }

  /// By `twice` of misbehaving.cpp, or that variant of it.
  Result by(const std::string& variant, const ReplayOptions& options = {},
            std::vector<Tensor>* outputs = nullptr) {
    return replay("twice", open("misbehaving", variant), options, outputs);
  }
};

/// y = 2 x with x = 1, 2, ... of that shape.
Example twice(const Shape& shape = {2, 3}, DType dtype = DType::float32) {
  const Tensor x = counting(shape, dtype);
  Tensor y(DType::float64, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, 2 * x.at(i));
  return Example("x[...] -> y[...]", {x}, {y});
}

/// The same where it must be refused.
Example refused_twice() {
  Example example = twice();
  example.info.outputs.clear();
  example.loaded.expected.clear();
  example.info.error = "x is not to anybody's taste";
  return example;
}

void check(const Result& result, Status status, const std::string& message) {
  BOOST_TEST(name(result.status) == name(status));
  BOOST_TEST(result.message == message);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replay)

BOOST_AUTO_TEST_CASE(a_right_answer_passes_with_its_figures) {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    std::vector<Tensor> outputs;
    const Result result = twice({2, 3}, dtype).by("", {}, &outputs);
    check(result, Status::passed, "");
    BOOST_TEST(result.problem == "twice");
    BOOST_TEST(result.case_name.value() == "example");
    BOOST_TEST(result.solution == "misbehaving");
    BOOST_TEST(result.dtype == name(dtype));
    BOOST_TEST(result.seconds > 0);
    BOOST_REQUIRE(result.outputs.size() == 1u);
    BOOST_TEST(result.outputs[0].name == "y");
    BOOST_TEST(result.outputs[0].elements == 6);
    BOOST_TEST(result.outputs[0].mismatches == 0);
    BOOST_TEST(result.outputs[0].max_abs_error.value() == 0);
    BOOST_TEST(result.outputs[0].atol == 1e-6);
    BOOST_TEST(result.batch_invariant.value());
    BOOST_REQUIRE(outputs.size() == 1u);
    BOOST_TEST(outputs[0].at(5) == 12);
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_answer_is_explained) {
  std::vector<Tensor> outputs;
  const Result result = twice().by("wrong", {}, &outputs);
  check(result, Status::incorrect_numerical,
        "y: 1 of 6 elements wrong, worst at [0, 1]: 6, expected 4 (off by 2, allowed 1e-06)");
  BOOST_TEST(result.outputs.at(0).mismatches == 1);
  BOOST_TEST(!result.batch_invariant);
  BOOST_TEST(outputs.at(0).at(1) == 6);  // what is wrong can be saved
}

BOOST_AUTO_TEST_CASE(nan_and_what_was_not_written_do_not_pass) {
  check(twice().by("leaves_nan"), Status::incorrect_numerical,
        "y: 1 of 6 elements wrong, worst at [0, 0]: NaN, expected 2");
  const Result result = twice().by("unwritten");
  check(result, Status::incorrect_numerical, "output y: element [1, 1] was never written");
  BOOST_TEST(result.outputs.at(0).mismatches == 1);
}

BOOST_AUTO_TEST_CASE(broken_rules_come_before_numbers) {
  Example example = twice();
  BOOST_TEST(name(example.by("past_end").status) == "OUT_OF_BOUNDS");
  BOOST_TEST(name(example.by("mutates_input").status) == "INPUT_MUTATED");
  const Result result = example.by("segfaults");
  check(result, Status::runtime_error, "killed by SIGSEGV at address 0x40");
  BOOST_TEST(result.outputs.empty());
}

BOOST_AUTO_TEST_CASE(inputs_may_be_allowed_to_change) {
  const ReplayOptions options{.alone = false, .inputs_may_change = true};
  Example example = twice();
  const Result result = example.by("mutates_input", options);
  check(result, Status::passed, "input x was changed at [1, 2]: 6 became 7");
  example.loaded.expected[0].set(0, 100);
  const Result wrong = example.by("mutates_input", options);
  BOOST_TEST(name(wrong.status) == "INCORRECT_NUMERICAL");
}

BOOST_AUTO_TEST_CASE(what_is_absent_is_not_implemented) {
  check(twice().replay("thrice", open("misbehaving")), Status::not_implemented,
        "no function prenorm_thrice");
  check(twice().by("no_such"), Status::not_implemented, "no function prenorm_twice__no_such");
  check(twice().by("not_implemented"), Status::not_implemented, "later");
  // float32 only: in another type it says so itself.
  check(twice({3}, DType::float64).replay("twice", open("tf32")), Status::skipped,
        "no tf32 tolerance");
}

BOOST_AUTO_TEST_CASE(the_same_call_must_give_the_same_bits) {
  Example example = twice();
  example.info.outputs[0].tolerance = Tolerance{1e-3, 0};
  const Result result = example.by("nondeterministic");
  check(result, Status::nondeterministic,
        "two calls with the same inputs differ: y at [1, 2]: 12, then 12.0000029");
  ReplayOptions once;
  once.twice = false;
  check(example.by("nondeterministic", once), Status::passed, "");
}

BOOST_AUTO_TEST_CASE(a_second_call_may_be_judged_like_the_first) {
  const ReplayOptions judged{.twice = true, .alone = false, .same_bits = false};
  Example example = twice();
  example.info.outputs[0].tolerance = Tolerance{1e-3, 0};
  const Result other_bits = example.by("nondeterministic", judged);
  check(other_bits, Status::passed,
        "two calls with the same inputs differ: y at [1, 2]: 12, then 12.0000029");
  BOOST_TEST(!other_bits.deterministic.value());
  BOOST_TEST(example.by("", judged).deterministic.value());
  example.info.outputs[0].tolerance = Tolerance{1e-7, 0};
  std::vector<Tensor> outputs;
  const Result wrong = example.by("nondeterministic", judged, &outputs);
  BOOST_TEST(name(wrong.status) == "INCORRECT_NUMERICAL");
  BOOST_TEST(wrong.message.starts_with("in the second call: y: 1 of 6"), wrong.message);
  BOOST_TEST(outputs.at(0).at(5) > 12);  // what was wrong, not what was right before
  check(example.by("crashes_second_time", judged), Status::runtime_error,
        "in a second call with the same inputs: killed by SIGSEGV at address 0x40");
}

BOOST_AUTO_TEST_CASE(a_nan_has_no_sign) {
  Example example = twice();
  example.loaded.expected[0].set(0, std::nan(""));
  check(example.by("nan_of_either_sign"), Status::passed, "");
}

BOOST_AUTO_TEST_CASE(errors_must_be_refused) {
  check(refused_twice().by("refuses"), Status::passed, "refused: x is not to my taste");
  for (const char* variant : {"", "unwritten"}) {
    check(refused_twice().by(variant), Status::incorrect_numerical,
          "gave a result, but must refuse this call: x is not to anybody's taste");
  }
  check(refused_twice().by("not_implemented"), Status::not_implemented, "later");
  // A crash is no refusal, and a refusal may write nothing out of bounds.
  check(refused_twice().by("segfaults"), Status::runtime_error,
        "killed by SIGSEGV at address 0x40");
  BOOST_TEST(name(refused_twice().by("refuses_and_writes").status) == "OUT_OF_BOUNDS");
  check(twice().by("refuses"), Status::runtime_error, "x is not to my taste");
}

BOOST_AUTO_TEST_CASE(tf32_has_tolerances_of_its_own) {
  Example example = twice();
  check(example.replay("twice", open("tf32")), Status::skipped, "no tf32 tolerance");
  example.info.outputs[0].tolerance_tf32 = Tolerance{0, 0x1p-10};
  const Result result = example.replay("twice", open("tf32"));
  check(result, Status::passed, "");
  BOOST_TEST(result.outputs.at(0).rtol == 0x1p-10);
  example.info.outputs[0].tolerance_tf32 = Tolerance{0, 0x1p-12};
  BOOST_TEST(name(example.replay("twice", open("tf32")).status) == "INCORRECT_NUMERICAL");
}

BOOST_AUTO_TEST_CASE(without_a_tolerance_nothing_is_judged) {
  Example example = twice();
  example.info.outputs[0].tolerance.reset();
  check(example.by(""), Status::skipped, "no tolerance");
}

BOOST_AUTO_TEST_CASE(rows_of_the_batch_are_tried_alone) {
  const auto invariant = [](const Shape& shape, const std::string& variant = "",
                            const ReplayOptions& options = {}) {
    Example example = twice(shape);
    example.info.outputs[0].tolerance = Tolerance{0, 1e-3};
    const Result result = example.by(variant, options);
    BOOST_TEST(name(result.status) == "PASSED", result.message);
    return result.batch_invariant;
  };
  BOOST_TEST(invariant({2, 3}).value());
  BOOST_TEST(!invariant({2, 3}, "depends_on_batch").value());
  BOOST_TEST(!invariant({2, 3}, "last_depends_on_batch").value());
  BOOST_TEST(!invariant({}).has_value());      // no batch
  BOOST_TEST(!invariant({1, 1}).has_value());  // one row
  BOOST_TEST(!invariant({0, 3}).has_value());
  ReplayOptions together;
  together.alone = false;
  BOOST_TEST(!invariant({2, 3}, "", together).has_value());
}

BOOST_AUTO_TEST_CASE(rows_are_cut_by_the_rules_of_broadcasting) {
  // Of a batch [2, 3], with one axis of its own.
  const Tensor tensor = counting({2, 1, 2});
  const Tensor rows = rows_of(tensor, 1, {2, 3}, {5, 0, 2});
  BOOST_TEST(rows.shape == (Shape{3, 2}), boost::test_tools::per_element());
  BOOST_TEST(prenorm::harness::testing::values(rows) == (std::vector<double>{3, 4, 1, 2, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(rows_of(tensor, 3, {2, 3}, {5}).shape == tensor.shape,
             boost::test_tools::per_element());

  // outer_sum: y[..., n] = a[..., n] + b[..., n] with a[2, 1, 2], b[3, 2]: six rows.
  Tensor y(DType::float64, {2, 3, 2});
  const Tensor a = counting({2, 1, 2}), b = counting({3, 2});
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 2; ++k) {
        y.set((i * 3 + j) * 2 + k, a.at(i * 2 + k) + b.at(j * 2 + k));
      }
    }
  }
  Example example("a[..., n], b[..., n] -> y[..., n]", {a, b}, {y});
  const Result result = example.replay("outer_sum", open("pair"));
  check(result, Status::passed, "");
  BOOST_TEST(result.batch_invariant.value());
}

BOOST_AUTO_TEST_CASE(a_row_that_a_mask_hides_must_be_finite) {
  // Two batches of three rows for two queries: one of them does not see the last row of all.
  Tensor k = counting({2, 3, 2}), mask(DType::boolean, {2, 2, 3});
  for (std::int64_t i = 0; i < mask.size(); ++i) mask.set(i, i == 11 ? 0 : 1);
  const auto found = [&](std::int64_t not_finite) {
    k = counting(k.shape);
    k.set(not_finite, INFINITY);
    Example example("k[..., m, d], mask[..., n, m]: bool -> y[..., n, d]", {k, mask}, {});
    example.loaded.info = example.info;
    const std::vector<Finding> findings = lint_case(example.signature, example.loaded);
    return findings.empty() ? "" : findings.at(0).what;
  };
  for (const std::int64_t hidden : {10, 11}) {
    BOOST_TEST(found(hidden) ==
               "case example, input k: row 2 is not finite, and mask hides it: what comes out is "
               "not specified");
  }
  for (std::int64_t seen = 0; seen < 10; ++seen) BOOST_TEST(found(seen) == "");
}

/// A file of one case, tiny, of the problem `scale`.
SelectedFixture made_file(const std::string& name) {
  SelectedFixture file;
  file.path = made_files() / (name + ".h5");
  file.fixture.emplace(file.path);
  file.cases = {&file.fixture->cases().at(0)};
  return file;
}

BOOST_AUTO_TEST_CASE(a_case_that_cannot_be_read_is_named) {
  const SelectedFixture file = made_file("broken/damaged_checksum");
  SolutionPool pool;
  const Column column{"any", library("misbehaving"), "twice"};
  const std::vector<Result> results = replay_file(file, {column, column}, pool, {});
  BOOST_REQUIRE(results.size() == 1u);  // whatever the solutions
  check(results[0], Status::bad_fixture, results[0].message);
  BOOST_TEST(results[0].message.starts_with(file.path + ": /cases/tiny/inputs/x"),
             results[0].message);
  BOOST_TEST(results[0].fixture == file.path);
  BOOST_TEST(results[0].problem == "scale");
  BOOST_TEST(results[0].case_name.value_or("") == "tiny");
  BOOST_TEST(results[0].solution == "");
  BOOST_TEST(results[0].repeat.ends_with("--fixtures " + file.path + " --case tiny"),
             results[0].repeat);
}

BOOST_AUTO_TEST_CASE(what_is_left_out_says_why) {
  const SelectedFixture file = made_file("unusual/plain");  // of 21 elements
  SolutionPool pool;
  const Column lacks{"typed", library("misbehaving"), ""};
  Column skipped = lacks, variant = lacks, large = lacks, fits = lacks;
  skipped.skipped = "no device";
  variant.function = "twice__no_such";
  large.function = fits.function = "twice";
  large.emulator_limit = 20;
  fits.emulator_limit = 21;
  std::vector<std::string> ran;
  RunOptions options;
  options.repeat = {"--fresh", "1"};
  options.keep_outputs = [&](const auto&, const LoadedCase& loaded, const Result& result, auto,
                             Solution&) { ran.push_back(loaded.info.name + result.solution); };
  const auto results = replay_file(file, {skipped, lacks, variant, large, fits}, pool, options);
  BOOST_REQUIRE(results.size() == 5u);
  check(results[0], Status::skipped, "no device");
  check(results[1], Status::not_implemented, "no function prenorm_scale");
  check(results[2], Status::not_implemented, "no function prenorm_twice__no_such");
  check(results[3], Status::skipped,
        "large for the emulator: more than 20 elements (--emulator-limit)");
  BOOST_TEST((results[4].status != Status::skipped));
  BOOST_TEST(ran == std::vector<std::string>{"tinytyped"}, boost::test_tools::per_element());
  for (const Result& result : results) {
    BOOST_TEST(result.fixture == file.path);
    BOOST_TEST(result.problem == "scale");
    BOOST_TEST(result.case_name.value_or("") == "tiny");
    BOOST_TEST(result.solution == "typed");
    BOOST_TEST(result.dtype == "float32");
    BOOST_TEST(result.repeat.ends_with(" --case tiny --solution typed --fresh 1"), result.repeat);
  }
  options.only = [](const Case& info) { return info.name != "tiny"; };
  BOOST_TEST(replay_file(file, {fits}, pool, options).empty());
}

BOOST_AUTO_TEST_CASE(an_absent_input_and_scalars_arrive) {
  Tensor flags(DType::boolean, {2});
  flags.set(1, 1);
  Tensor sum(DType::float64, {2, 3}), count(DType::float64, {2}), any(DType::float64, {2});
  for (int i = 0; i < 6; ++i) sum.set(i, i + 1);
  count.set(0, 11);
  count.set(1, 12);
  any.set(1, 1);
  Example example(
      "a[..., n], b[..., n]?, ids[...]: int64, flags[...]: bool; k: int, f: float, on: bool -> "
      "sum[..., n], count[...]: int64, any[...]: bool",
      {counting({2, 3}), std::nullopt, counting({2}, DType::int64), flags}, {sum, count, any},
      {std::int64_t{10}, 0.5, false});
  const Result result = example.replay("combine", open("pair"));
  check(result, Status::passed, "");
  BOOST_TEST(result.outputs.size() == 3u);
  BOOST_TEST(result.batch_invariant.value());
}

BOOST_AUTO_TEST_SUITE_END()
