// Explanations: known mistakes and pairs by their numbers, properties, and what is shown of a case.
#include "explain/collector.hpp"
#include "explain/numbers.hpp"
#include "replay/runner.hpp"
#include "solution_testing.hpp"

#include <array>
#include <cmath>

using namespace prenorm::harness;
using namespace testing;

namespace {

const double not_a_number = std::nan("");

Tensor tensor(const Shape& shape, const std::vector<double>& values) {
  return tensor_of(DType::float64, shape, values);
}

/// A case of y[..., seq, d] from x of the same shape; its truth is `expected`.
LoadedCase case_of(const Tensor& x, const Tensor& expected) {
  LoadedCase loaded;
  loaded.info.name = "made";
  loaded.info.inputs = {InputInfo{{x.dtype, x.shape}, ""}};
  OutputInfo output;
  output.shape = expected.shape;
  output.dtype = DType::float64;
  output.tolerance = Tolerance{1e-9, 1e-9};
  loaded.info.outputs = {output};
  loaded.info.binding.sizes = {{"seq", 8}, {"d", 4}};
  loaded.inputs = {x};
  loaded.expected = {expected};
  return loaded;
}

const Signature& made_signature() {
  static const Signature signature = parse_signature("x[..., seq, d] -> y[..., seq, d]");
  return signature;
}

/// 8 rows of 4 numbers, no two alike.
Tensor numbers() {
  std::vector<double> values;
  for (int i = 0; i < 32; ++i) values.push_back(1 + std::sin(3.0 * i));
  return tensor({8, 4}, values);
}

/// `of` each element by its place.
template <class Of>
Tensor each(const Tensor& from, Of of) {
  Tensor made = from;
  for (std::int64_t i = 0; i < from.size(); ++i) made.set(i, of(i, from.at(i)));
  return made;
}

/// What is said of these outputs, each of a case of its own; empty where nothing is.
std::string property_of(const std::vector<Tensor>& outputs, const Tensor& truth = numbers()) {
  Solution reference = find_solution("reference", {});
  const Tensor x = each(truth, [](auto, double value) { return 7 * value + 3; });
  Evidence evidence;
  evidence.problem = "made";
  evidence.signature = &made_signature();
  std::vector<std::size_t> all;
  for (const Tensor& y : outputs) {
    all.push_back(evidence.wrong.size());
    evidence.wrong.push_back({all.back(), {y}});
  }
  evidence.load = [&](std::size_t) { return case_of(x, truth); };
  const std::vector<Property> found = properties(evidence, all, reference);
  return found.empty() ? "" : found.front().sentence;
}

/// What `solution` makes of the shipped cases of a problem, up to so many elements, explained.
Explanation explained(const std::string& solution, const std::string& problem,
                      const std::function<void(std::vector<Tensor>&)>& change = nullptr) {
  const Fixture fixture(folder("PRENORM_SOURCE") / "fixtures" / (problem + ".h5"));
  Solution asked = find_solution(solution, {}), mistakes = find_solution("mistakes", {});
  Solution reference = find_solution("reference", {});
  const auto again = [&](const std::string& name) {
    return load_case(fixture, *std::ranges::find(fixture.cases(), name, &Case::name));
  };
  Collector collector(fixture, solution, again);
  for (const Case& info : fixture.cases()) {
    if (info.error || info.elements() > 4000) continue;
    const LoadedCase loaded = load_case(fixture, info);
    std::vector<Tensor> outputs;
    Result result = replay(problem, fixture.signature(), loaded, asked, {false, false}, &outputs);
    if (change && !outputs.empty()) {
      change(outputs);
      result.outputs = {compare("y", outputs[0], loaded.expected[0], *info.outputs[0].tolerance)};
      result.status =
          result.outputs[0].mismatches > 0 ? Status::incorrect_numerical : Status::passed;
    }
    collector.add(loaded, result, std::move(outputs), asked);
  }
  return collector.explain(&mistakes, &reference, &asked, false);
}

std::string first_mistake(const Explanation& explanation) {
  return explanation.reasons.diagnoses.empty() ? "" : explanation.reasons.diagnoses.front().mistake;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(explanation)

BOOST_AUTO_TEST_CASE(hardly_beyond_rounding_is_no_mistake) {
  const Tensor truth = numbers();
  const auto off_by = [&](double times) {
    return each(truth, [=](auto i, double y) { return i == 7 ? y + times * 1e-9 * (1 + y) : y; });
  };
  LoadedCase loaded = case_of(truth, truth);
  const auto agrees = [&](double outputs, double mistake) {
    return agreement({off_by(outputs)}, {off_by(mistake)}, loaded, {}).has_value();
  };
  BOOST_TEST(beyond_rounding({off_by(1.5)}, loaded).value_or(0) == 1.5,
             boost::test_tools::tolerance(1e-6));
  BOOST_TEST(beyond_rounding({off_by(3.9)}, loaded).has_value());
  BOOST_TEST(!beyond_rounding({off_by(4.1)}, loaded));
  BOOST_TEST(!beyond_rounding({off_by(0.9)}, loaded));
  BOOST_TEST(!beyond_rounding({off_by(not_a_number)}, loaded));
  // Twice as near to the mistake as to the truth is enough further away, and not here.
  BOOST_TEST(!agrees(1.5, 2.2));
  BOOST_TEST(agrees(2, 2.2));
  BOOST_TEST(agrees(8, 8.9));
  // A course's bound is no rounding.
  loaded.info.outputs[0].tolerance->wide_atol = 1e-3;
  BOOST_TEST(beyond_rounding({off_by(1.5)}, loaded).value_or(0) == 1.5,
             boost::test_tools::tolerance(1e-6));
  loaded.info.outputs[0].tolerance = Tolerance{};  // exact
  BOOST_TEST(!beyond_rounding({off_by(1)}, loaded));

  loaded = case_of(truth, truth);
  std::array<FailureText, 3> texts;
  Evidence evidence;
  evidence.problem = "made";
  evidence.signature = &made_signature();
  evidence.load = [&](std::size_t) { return loaded; };
  for (const double times : {1.1, 3.0, -1e9}) {
    const std::size_t number = evidence.wrong.size();
    evidence.wrong.push_back({number, {off_by(times)}, 0, &texts[number]});
  }
  Solution reference = find_solution("reference", {});
  const Reasons reasons = reasons_of(evidence, nullptr, &reference, false);
  BOOST_TEST(reasons.undiagnosed);
  BOOST_TEST_REQUIRE(!reasons.properties.empty());
  BOOST_TEST(reasons.properties[0].sentence == "beyond rounding, by up to 3 times the tolerance");
  BOOST_TEST(reasons.properties[0].holds == 2);
  BOOST_TEST(reasons.properties[0].of == 3);
  evidence.wrong.resize(1);
  const Reasons one = reasons_of(evidence, nullptr, &reference, false);
  BOOST_TEST_REQUIRE(one.properties.size() == 1u);
  BOOST_TEST(one.properties[0].sentence == "beyond rounding, by 1.1 times the tolerance");
  BOOST_TEST(!one.unexplained);  // no law is asked
}

BOOST_AUTO_TEST_CASE(small_cases_show_all_their_numbers) {
  const Tensor x = tensor({2, 2}, {3, 4, -6, 8}),
               truth = tensor({2, 2}, {0.6, 1.6, 1, not_a_number});
  const std::string text = numbers_of(made_signature(), case_of(x, truth),
                                      {tensor({2, 2}, {0.6, 2.5, not_a_number, 2})});
  check_has(text,
            {"x = [[3, 4], [-6, 8]]\n", "y[0, 0]       0.6  0.6\n", "y[0, 1]       1.6  2.5  *\n",
             "y[1, 0]         1  NaN  *\n", "y[1, 1]       NaN    2  *\n"});
}

BOOST_AUTO_TEST_CASE(large_cases_show_the_worst_with_their_neighbours) {
  const Tensor truth = numbers();
  const Tensor wrong = each(truth, [](auto i, double y) { return i == 17 ? y + 1 : y; });
  const std::string text = numbers_of(made_signature(), case_of(truth, truth), {wrong});
  check_lacks(text, {"x = "});
  check_has(text, {"y[4, 0]", "y[4, 1]", "y[4, 2]"});
  BOOST_TEST(std::ranges::count(text, '\n') == 4);
  BOOST_TEST(std::ranges::count(text, '*') == 1);
}

BOOST_AUTO_TEST_CASE(a_rule_in_sizes_tells_what_passes_from_what_fails) {
  const Signature signature = parse_signature("x[..., seq, d]; heads: int -> y[..., seq, d]");
  using Sizes = std::array<std::int64_t, 3>;  // seq, d, heads
  const auto rule = [&](const std::vector<Sizes>& pass, const std::vector<Sizes>& fail) {
    const auto cases = [](const std::vector<Sizes>& all) {
      std::vector<Case> made;
      for (const auto& [seq, d, heads] : all) {
        made.emplace_back().binding.sizes = {{"d", d}};
        if (seq > 0) made.back().binding.sizes["seq"] = seq;  // 0: its input is absent
        made.back().scalars = {heads};
      }
      return made;
    };
    const auto pointers = [](const std::vector<Case>& all) {
      std::vector<const Case*> to;
      for (const Case& each : all) to.push_back(&each);
      return to;
    };
    const std::vector<Case> passing = cases(pass), failing = cases(fail);
    return rule_in_sizes(pointers(passing), pointers(failing), signature).value_or("");
  };
  BOOST_TEST(rule({{3, 1, 1}, {5, 128, 2}, {7, 64, 4}}, {{4, 129, 2}, {6, 300, 1}, {3, 256, 4}}) ==
             "passes only where d is at most 128");
  BOOST_TEST(rule({{3, 8, 1}, {5, 9, 1}, {9, 7, 1}}, {{4, 8, 2}, {6, 9, 4}, {3, 6, 2}}) ==
             "passes only where heads is 1");
  BOOST_TEST(rule({{16, 8, 2}, {64, 9, 4}, {32, 7, 1}}, {{17, 8, 2}, {40, 9, 4}, {3, 6, 1}}) ==
             "passes only where seq is a multiple of 16");
  BOOST_TEST(rule({{4, 8, 2}, {6, 9, 4}, {3, 6, 2}}, {{3, 8, 1}, {5, 9, 1}, {9, 7, 1}}) ==
             "passes only where heads is at least 2");
  BOOST_TEST(rule({{8, 8, 2}, {9, 9, 1}, {6, 6, 2}}, {{3, 8, 1}, {10, 9, 2}, {6, 7, 1}}) ==
             "passes only where d and seq are equal");
  BOOST_TEST(rule({{3, 8, 1}, {5, 9, 2}, {9, 7, 1}}, {{4, 8, 1}, {6, 9, 2}, {4, 7, 4}}) ==
             "fails only where seq is a multiple of 2");
  // Two cases may be coincidence, and what overlaps is no rule.
  BOOST_TEST(rule({{3, 1, 1}, {5, 128, 2}, {7, 64, 4}}, {{4, 129, 2}, {6, 300, 1}}).empty());
  BOOST_TEST(rule({{3, 8, 1}, {5, 9, 2}, {9, 7, 1}}, {{3, 8, 1}, {5, 9, 2}, {9, 7, 1}}).empty());
  BOOST_TEST(rule({{3, 3, 1}, {0, 5, 2}, {7, 7, 4}}, {{4, 8, 1}, {6, 4, 2}, {5, 9, 4}}).empty());
}

BOOST_AUTO_TEST_CASE(the_simplest_case_of_each_cause_comes_first) {
  struct Made {
    Result result;
    FailureText text;
  };
  const auto made = [](const std::string& name, std::int64_t elements, std::size_t cause) {
    Made one;
    one.result.case_name = name;
    one.result.status = Status::incorrect_numerical;
    one.text.elements = elements;
    one.text.cause = cause;
    return one;
  };
  std::vector<Made> all{made("large", 900, 0),      made("small", 9, 0),
                        made("middle", 90, 0),      made("other", 500, 1),
                        made("by_hand_f32", 20, 0), made("refused", 1, Causes::none)};
  all.back().text.refusal = true;
  const auto failures_in = [](const std::vector<Made>& cases) {
    Failures failures;
    for (const Made& each : cases) failures.add(each.result, &each.text, true);
    return failures;
  };
  const auto names = [&] {
    std::vector<std::string> names;
    for (const FailingCase& each : failures_in(all).simplest_first()) {
      names.push_back(*each.result->case_name);
    }
    return names;
  };
  const std::vector<std::string> order{"by_hand_f32", "other",  "refused",
                                       "small",       "middle", "large"};
  BOOST_TEST(names() == order, boost::test_tools::per_element());
  BOOST_TEST(failures_in(all).shown_at_first() == 4u);
  BOOST_TEST(failures_in(std::vector<Made>(9, made("one", 1, 0))).shown_at_first() == 2u);
  // What a function says does not move its case; that it was not run does.
  Made& small = all[1];
  small.result.message = "not run: says the function";
  BOOST_TEST(names() == order, boost::test_tools::per_element());
  small.result.not_run = true;
  small.text.late = failure_text(Case{}, made_signature(), small.result).late;
  BOOST_TEST(names().back() == "small");
}

BOOST_AUTO_TEST_CASE(element_types_are_told_where_they_tell_something) {
  const std::map<std::string, Failed> telling{{"float64", {13, 20, 7}}, {"float32", {2, 20}}};
  BOOST_TEST(dtype_line(telling) ==
             "13 of the 15 failing cases are float64: is something computed in float32?");
  BOOST_TEST(dtype_line({{"float64", {13, 20, 6}}, {"float32", {2, 20}}}) ==
             "13 of the 15 failing cases are float64: what is different there?");
  BOOST_TEST(dtype_line({{"float64", {8, 20}}, {"float32", {7, 20}}}).empty());
  BOOST_TEST(dtype_line({{"float64", {13, 20}}}).empty());
  BOOST_TEST(dtype_line({{"float64", {20, 20}}, {"float32", {3, 3}}}).empty());
}

BOOST_AUTO_TEST_CASE(rounding_is_suspected_where_most_failing_cases_are_near) {
  const auto told = [](const std::vector<double>& relative_errors) {
    std::vector<Result> results(relative_errors.size());
    Result passing;
    passing.dtype = "float32";
    Failures failures;
    failures.add(passing, nullptr, false);
    for (std::size_t i = 0; i < results.size(); ++i) {
      OutputReport& output = results[i].outputs.emplace_back();
      output.mismatches = 1;
      output.worst_actual = 1;  // and should be 0
      output.atol = 0.1;
      output.relative_l2_error = relative_errors[i];
      results[i].dtype = "float64";
      failures.add(results[i], nullptr, true);
    }
    return failures.remarks();
  };
  const std::string all = "all 3 failing cases are float64: ";
  BOOST_TEST(told({1e-7, 1e-7, 1}) == Texts{all + "is something computed in float32?"},
             boost::test_tools::per_element());
  BOOST_TEST(told({1e-7, 1, 1}) == Texts{all + "what is different there?"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_case_is_tried_with_its_batch_axes_joined_where_nothing_broadcasts) {
  const Signature signature = parse_signature("a[..., n], b[..., n] -> y[..., n]");
  Solution pair("pair", library("pair"), "", {});
  Result failed;
  failed.problem = "outer_sum";
  failed.status = Status::incorrect_numerical;
  int calls = 9;
  const auto hint = [&](const Shape& a, const Shape& b) {
    LoadedCase loaded;
    std::vector<std::optional<TensorType>> types;
    for (const Shape& shape : {a, b}) {
      types.emplace_back(TensorType{DType::float32, shape});
      loaded.info.inputs.push_back(InputInfo{*types.back(), ""});
      loaded.inputs.emplace_back(Tensor(DType::float32, shape));
    }
    loaded.info.binding = prenorm::harness::bind(signature, types);
    loaded.expected = {Tensor(DType::float64, {2, 3, 4})};
    loaded.info.outputs = {OutputInfo{{2, 3, 4}, DType::float32, Tolerance{}, {}, ""}};
    return axes_hint(failed.problem, signature, loaded, failed, pair, calls);
  };
  for (const Shape& broadcast : {Shape{4}, Shape{3, 4}, Shape{2, 1, 4}, Shape{1, 3, 4}}) {
    BOOST_TEST(hint({2, 3, 4}, broadcast) == "");
    BOOST_TEST(hint(broadcast, {2, 3, 4}) == "");
  }
  BOOST_TEST(calls == 9);  // none was made
  BOOST_TEST(hint({2, 3, 4}, {2, 3, 4}) ==
             "with one batch axis it passes: does the function expect exactly 2 axes?");
  BOOST_TEST(calls == 8);
}

BOOST_AUTO_TEST_CASE(a_map_is_labelled_with_its_first_and_last_row_and_column) {
  const auto labels = [](const Shape& shape) {
    const Tensor y(DType::float32, shape), e(DType::float64, shape);
    const std::string svg = heat_map(error_map(made_signature().outputs[0], y, e, {}), nullptr);
    Texts texts;
    for (std::size_t end = 0; (end = svg.find("</text>", end + 1)) != svg.npos;) {
      const std::size_t begin = svg.rfind('>', end) + 1;
      texts.push_back(svg.substr(begin, end - begin));
    }
    return texts;
  };
  const auto check = [&](const Shape& shape, const Texts& wanted) {
    BOOST_TEST(labels(shape) == wanted, boost::test_tools::per_element());
  };
  check({8, 4}, {"0", "3", "0", "7"});
  check({2, 5, 200}, {"0", "199", "0", "9"});
  check({3, 1}, {"0", "0", "2"});
  check({1, 2}, {"0", "1", "0"});
  check({1, 1}, {"0", "0"});
}

BOOST_AUTO_TEST_CASE(properties_are_told_in_words) {
  const Tensor truth = numbers();
  const auto at = [&](std::int64_t row, std::int64_t column) { return truth.at(4 * row + column); };
  BOOST_TEST(property_of({truth}) == "");
  const auto property = [&](const auto& of) { return property_of({each(truth, of)}); };
  BOOST_TEST(property([](auto, double) { return 0.0; }) == "y is zero everywhere");
  BOOST_TEST(property([](auto, double y) { return 7 * y + 3; }) == "y is x, unchanged");
  BOOST_TEST(property([](auto, double y) { return 2 * y; }) ==
             "y is the truth times 2, which is the root of d");
  BOOST_TEST(property([](auto, double y) { return -y; }) == "y has the wrong sign");
  BOOST_TEST(property([](auto, double y) { return y + 0.5; }) ==
             "y is the truth plus 0.5 everywhere");
  BOOST_TEST(property([&](auto i, double) { return at(7 - i / 4, i % 4); }) ==
             "y is the truth in reverse along seq");
  BOOST_TEST(property([&](auto i, double) { return at((i / 4 + 1) % 8, i % 4); }) ==
             "y is the truth shifted by one along seq");
  BOOST_TEST(property([&](auto i, double y) { return i < 8 ? y : y * y - 9; }) ==
             "y is right for the first 2 indices of seq only");
  BOOST_TEST(property([](auto i, double y) { return i % 2 == 0 ? y : y * y + 9; }) ==
             "y is right for every second index of d only");
  BOOST_TEST(property([](auto i, double y) { return y * (2 + double(i / 4)); }) ==
             "each slice of y along d is the truth times a number of its own");
  BOOST_TEST(property([](auto i, double y) { return y + std::cos(double(i / 4)); }) ==
             "each slice of y along d is the truth plus a number of its own");
  BOOST_TEST(property([](auto i, double y) { return i / 4 == 5 ? 1 + y * y : y; }) ==
             "y is wrong at index 5 of seq only");
  BOOST_TEST(property([&](auto i, double) { return at(0, i % 4); }) ==
             "y is the same all along seq");
  BOOST_TEST(property([](auto i, double y) { return i == 9 ? not_a_number : y; }) ==
             "y is NaN where a number is expected, and right elsewhere");
  BOOST_TEST(property([](auto i, double y) {
               return y * (1 + 3e-4 * std::cos(5.0 * double(i)));
             }) == "y is right to 3 digits, as where something is computed in float16");
  BOOST_TEST(property([](auto i, double y) {
               return y + 1e-6 * std::pow(8.0, double(i / 4)) * (i % 2 == 0 ? 1 : -1);
             }) == "the error of y grows along seq");
  // Rows that sum to 1, and rows that do not.
  const Tensor shares = each(truth, [&](auto i, double y) {
    const std::int64_t row = i / 4;
    return y / (at(row, 0) + at(row, 1) + at(row, 2) + at(row, 3));
  });
  const std::string sums = property_of(
      {each(shares, [](auto i, double y) { return y + 0.1 * std::sin(double(i * i)); })}, shares);
  BOOST_TEST(sums == "y does not sum to 1 along d");
}

/// What is said of rows of y that are wrong where `wrong` says so of the row's id.
template <class Wrong>
std::string told_of_ids(const std::vector<double>& ids, Wrong wrong) {
  const Signature signature = parse_signature("ids[..., seq]: int64, w[d] -> y[..., seq, d]");
  const Tensor truth = numbers();
  LoadedCase loaded = case_of(truth, truth);
  loaded.inputs = {tensor_of(DType::int64, {8}, ids), tensor({4}, {1, 2, 3, 4})};
  Evidence evidence;
  evidence.problem = "made";
  evidence.signature = &signature;
  evidence.load = [&](std::size_t) { return loaded; };
  evidence.wrong.push_back({0, {each(truth, [&](std::int64_t i, double y) {
                              return wrong(ids[static_cast<std::size_t>(i / 4)]) ? y * y + 9 : y;
                            })}});
  Solution reference = find_solution("reference", {});
  const std::vector<Property> found = properties(evidence, {0}, reference);
  return found.empty() ? "" : found.front().sentence;
}

BOOST_AUTO_TEST_CASE(an_input_may_select_what_is_wrong) {
  const std::vector<double> ids{3, 7, 0, 5, 7, 1, 9, 8};
  BOOST_TEST(told_of_ids(ids, [](double id) { return id == 0; }) ==
             "y is wrong only where ids is 0");
  BOOST_TEST(told_of_ids(ids, [](double id) { return id == 7; }) ==
             "y is wrong only where ids is 7");
  BOOST_TEST(told_of_ids({30, 7, 0, 50, 70, 1, 90, 8}, [](double id) { return id > 20; }) ==
             "y is wrong only where ids is 16 or more");
  // An id that occurs once may as well be an index, and so may positions that count.
  BOOST_TEST(told_of_ids({0, 1, 2, 3, 4, 5, 6, 7}, [](double id) { return id >= 4; }) ==
             "y is right for the first 4 indices of seq only");
  BOOST_TEST(told_of_ids(ids, [](double id) { return id == 9; }) ==
             "y is wrong at index 6 of seq only");
}

BOOST_AUTO_TEST_CASE(another_value_of_a_scalar_is_told) {
  const Signature signature =
      parse_signature("x[..., d_model], weight[d_model]; eps: float = 1e-05 -> y[..., d_model]");
  Solution reference = find_solution("reference", {});
  LoadedCase loaded = case_of(numbers(), numbers());
  loaded.inputs = {each(numbers(), [](auto, double x) { return x / 1000; }),
                   tensor({4}, {1, 2, 3, 4})};
  loaded.info.scalars = {1e-5};
  const auto with_eps = [&](double eps) {
    LoadedCase other = loaded;
    other.info.scalars = {eps};
    return outputs_of("rmsnorm", signature, other, reference);
  };
  loaded.expected = with_eps(1e-5);
  Evidence evidence;
  evidence.problem = "rmsnorm";
  evidence.signature = &signature;
  evidence.load = [&](std::size_t) { return loaded; };
  evidence.wrong.push_back({0, with_eps(1e-8)});
  const std::vector<Property> found = properties(evidence, {0}, reference);
  BOOST_REQUIRE(!found.empty());
  BOOST_TEST(found.front().sentence == "y is what eps = 1e-08 gives, whatever the call says");
}

BOOST_AUTO_TEST_CASE(a_property_is_told_where_most_cases_have_it) {
  const auto zeros = [](auto, double) { return 0.0; };
  const auto noise = [](auto i, double y) { return y * (1.2 + std::sin(7.0 * double(i))); };
  // The simplest cases come first; the others count too.
  const auto told = [&](std::size_t first, std::size_t cases) {
    std::vector<Tensor> outputs(cases, each(numbers(), noise));
    std::fill_n(outputs.begin(), first, each(numbers(), zeros));
    return property_of(outputs);
  };
  BOOST_TEST(told(7, 12) == "y is zero everywhere");
  for (const std::size_t first : {4, 6}) BOOST_TEST(told(first, 12) == "");
  BOOST_TEST(told(12, 60) == "");
}

BOOST_AUTO_TEST_CASE(known_mistakes_are_named_by_their_numbers) {
  for (const auto& [problem, mistake] : std::vector<std::pair<std::string, std::string>>{
           {"rmsnorm", "no_eps"},
           {"rmsnorm", "mean_subtracted"},
           {"rope", "halves"},
           {"rope", "exponent_k_over_d"},
           {"softmax", "wrong_axis"},
           {"scaled_dot_product_attention", "mask_inverted"}}) {
    const Explanation told = explained("mistakes/" + mistake, problem);
    BOOST_TEST(first_mistake(told) == mistake, problem << ": " << first_mistake(told));
    BOOST_TEST(told.reasons.diagnoses.size() == 1u);
    BOOST_TEST(told.reasons.diagnoses.front().agrees == told.reasons.diagnoses.front().of);
  }
}

BOOST_AUTO_TEST_CASE(two_mistakes_at_once_are_both_named) {
  const Explanation told = explained("mistakes/halves+theta_fixed", "rope");
  BOOST_TEST((first_mistake(told) == "halves" || first_mistake(told) == "halves+theta_fixed"));
  bool both = false;
  for (const Diagnosis& each : told.reasons.diagnoses)
    both = both || each.mistake == "halves+theta_fixed";
  BOOST_TEST(both);
}

BOOST_AUTO_TEST_CASE(nan_for_empty_rows_hides_no_mistake) {
  const auto nan_rows = [](std::vector<Tensor>& outputs) {
    Tensor& y = outputs[0];
    const std::int64_t width = y.shape.back();
    for (std::int64_t row = 0; row < y.size(); row += width) {
      bool zeros = true;
      for (std::int64_t i = row; i < row + width; ++i) zeros = zeros && y.at(i) == 0;
      for (std::int64_t i = row; zeros && i < row + width; ++i) y.set(i, not_a_number);
    }
  };
  const std::string problem = "scaled_dot_product_attention";
  BOOST_TEST(first_mistake(explained("mistakes/mask_inverted", problem, nan_rows)) ==
             "mask_inverted");
  BOOST_TEST(first_mistake(explained("reference", problem, nan_rows)) == "empty_rows_nan");
}

BOOST_AUTO_TEST_CASE(a_mistake_that_most_outputs_contradict_is_not_named) {
  const auto halves_in = [](int share) {
    return first_mistake(explained("mistakes/halves", "rope", [=, n = 0](auto& outputs) mutable {
      if (n++ % 6 < share) return;
      outputs[0] = each(outputs[0], [](auto i, double y) { return y * (2 + std::sin(double(i))); });
    }));
  };
  BOOST_TEST(halves_in(4) == "halves");
  BOOST_TEST(halves_in(2) == "");
}

BOOST_AUTO_TEST_CASE(right_work_noise_and_zeros_are_told_no_mistake) {
  BOOST_TEST(explained("reference", "rmsnorm").failures.empty());
  const Explanation zeros = explained("reference", "rope", [](std::vector<Tensor>& outputs) {
    outputs[0] = Tensor(outputs[0].dtype, outputs[0].shape);
  });
  BOOST_TEST(first_mistake(zeros) == "");
  BOOST_TEST(zeros.reasons.undiagnosed);
  BOOST_REQUIRE(!zeros.reasons.properties.empty());
  BOOST_TEST(zeros.reasons.properties.front().sentence == "y is zero everywhere");
  // NaN everywhere agrees with nothing, whatever mistake gives NaN somewhere.
  const Explanation nan = explained("reference", "rmsnorm", [](std::vector<Tensor>& outputs) {
    outputs[0] = each(outputs[0], [](auto, double) { return not_a_number; });
  });
  BOOST_TEST(first_mistake(nan) == "");
  BOOST_TEST(nan.reasons.properties.front().sentence == "y is NaN where a number is expected");
  const Explanation noise = explained("reference", "softmax", [](std::vector<Tensor>& outputs) {
    outputs[0] =
        each(outputs[0], [](auto i, double y) { return y * (1.2 + std::sin(7.0 * double(i))); });
  });
  BOOST_TEST(first_mistake(noise) == "");
}

BOOST_AUTO_TEST_SUITE_END()
