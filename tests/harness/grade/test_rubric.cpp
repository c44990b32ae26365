// Rubrics: what is read, and what is refused with which words.
#include "grade/report_parts.hpp"
#include "grade/rubric.hpp"

#include "fixture_testing.hpp"

namespace harness = prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

harness::Rubric read(const std::string& text) {
  const Scratch scratch;
  std::ofstream(scratch / "rubric.toml") << text;
  return harness::read_rubric((scratch / "rubric.toml").string());
}

const std::string head = "title = 'T'\n";
const std::string group = "[[groups]]\nname = 'all'\n";
const std::string item = "[[items]]\nname = 'one'\nproblems = ['softmax']\npoints = 1\n";

harness::Case make_case(const std::string& name, harness::DType dtype, bool error = false) {
  harness::Case info;
  info.name = name;
  info.binding.element_type = dtype;
  if (error) info.error = "no";
  return info;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rubric)

BOOST_AUTO_TEST_CASE(shipped_ones_are_read) {
  const std::vector<std::string> names = harness::shipped_rubrics();
  const std::vector<std::string> wanted{"all",        "cs336-2024", "cs336-2025",
                                        "cs336-2026", "cuda-intro", "strict"};
  BOOST_TEST(names == wanted, boost::test_tools::per_element());
  const auto points_of = [](const std::string& name) {
    double all = 0;
    const harness::Rubric rubric = harness::read_rubric(name);
    for (const harness::RubricItem& item : rubric.items) all += item.points;
    return all;
  };
  BOOST_TEST(harness::read_rubric("cs336-2025").name == "cs336-2025");
  BOOST_TEST(points_of("cs336-2025") == 24);
  BOOST_TEST(points_of("cs336-2024") == 17);
  BOOST_TEST(points_of("cs336-2026") == 25);
  BOOST_TEST(harness::read_rubric("all").items.size() == 21u);
}

BOOST_AUTO_TEST_CASE(what_a_course_passes_is_most_of_its_rubric) {
  for (const char* name : {"cs336-2024", "cs336-2025", "cs336-2026"}) {
    for (const harness::RubricItem& item : harness::read_rubric(name).items) {
      BOOST_TEST_CONTEXT(name << " " << item.name) {
        BOOST_TEST(item.atol > 0);
        BOOST_TEST(item.rtol > 0);
        std::int64_t course = 0, precise = 0, all = 0;
        for (const harness::RubricGroup& group : item.groups) {
          all += group.share;
          if (group.name.starts_with("as the course calls it")) {
            course += group.share;
            BOOST_TEST(group.within == 0);
          }
          if (group.name == "precise") {
            precise += group.share;
            BOOST_TEST(group.within == 1);
          }
        }
        BOOST_TEST(all == 100);
        BOOST_TEST(precise == 2);
        BOOST_TEST((course == 86 || course == 76));  // less where a norm's eps has a part
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_says_all_there_is) {
  const harness::Rubric rubric =
      read(head +
           "adapters = 'a.toml'\nforbidden = ['cblas_*', 'torch.softmax']\n"
           "forbidden_calls_earn = false\n" +
           group + item + "[[items]]\n" +
           "name = 'two'\nproblems = ['a', 'b']\npoints = 2.5\natol = 1e-6\nrtol = "
           "1e-4\n[[items.groups]]\nname = 'g'\n"
           "share = 3\nhidden = false\nproblems = ['b']\ndtypes = ['float16']\ncases = ['x_*']\n"
           "except = ['*_y']\ndeterministic = true\nwithin = 4\naccepts = ['b/wrong_*']\n");
  BOOST_TEST(rubric.title == "T");
  BOOST_TEST(rubric.adapters == "a.toml");
  BOOST_TEST(rubric.forbidden == std::vector<std::string>{"cblas_*"});
  BOOST_TEST(rubric.forbidden_calls == std::vector<std::string>{"torch.softmax"});
  BOOST_TEST(!rubric.forbidden_calls_earn);
  BOOST_TEST(rubric.items.at(1).points == 2.5);
  BOOST_TEST(rubric.items.at(0).groups.at(0).name == "all");
  BOOST_TEST(!rubric.items.at(0).own_groups);
  const harness::RubricGroup& own = rubric.items.at(1).groups.at(0);
  BOOST_TEST(own.share == 3);
  BOOST_TEST(!own.hidden);
  BOOST_TEST(rubric.items.at(0).groups.at(0).hidden);
  BOOST_TEST(own.deterministic);
  BOOST_TEST(!rubric.items.at(0).groups.at(0).deterministic);
  BOOST_TEST(own.within == 4);
  BOOST_TEST(rubric.items.at(0).groups.at(0).within == 0);
  BOOST_TEST(rubric.items.at(1).atol == 1e-6);
  BOOST_TEST(rubric.items.at(1).rtol == 1e-4);
  BOOST_TEST(rubric.items.at(0).atol == 0);
  BOOST_TEST(own.accepts.at(0) == "b/wrong_*");
  using harness::DType;
  BOOST_TEST(own.has("b", make_case("x_1", DType::float16)));
  BOOST_TEST(!own.has("a", make_case("x_1", DType::float16)));
  BOOST_TEST(!own.has("b", make_case("x_1", DType::float32)));
  BOOST_TEST(!own.has("b", make_case("z", DType::float16)));
  BOOST_TEST(!own.has("b", make_case("x_y", DType::float16)));
  BOOST_TEST(!own.has("b", make_case("x_1", DType::float16, true)));
}

BOOST_AUTO_TEST_CASE(errors_belong_where_they_are_asked) {
  const harness::Rubric rubric = read(head + group + "errors = true\n" + item);
  const auto refused = make_case("x", harness::DType::float32, true);
  BOOST_TEST(rubric.items.at(0).groups.at(0).has("softmax", refused));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  const auto expect = [](const std::string& text, const std::string& part) {
    check_has(message_of<std::invalid_argument>([&] { read(text); }), {part, ".toml"});
  };
  expect(group + item, "needs a title");
  expect(head + group, "needs [[items]]");
  expect(head + item, "item 'one': has no groups");
  expect(head + group + item + "pionts = 2\n",
         "no key 'pionts' is known here (did you mean 'points'?)");
  expect(head + "groops = []\n" + group + item, "did you mean 'groups'?");
  expect(head + group + "dtypes = ['float23']\n" + item,
         "group 'all': no dtype 'float23': float64, float32, float16, bfloat16 (did you mean "
         "'float32'?)");
  expect(head + group + "share = 0\n" + item, "share must be an integer");
  expect(head + group + "share = 1.5\n" + item, "share must be an integer");
  expect(head + group + "hidden = 1\n" + item, "hidden must be true or false");
  expect(head + group + "accepts = ['float32_angles']\n" + item, "PROBLEM/MISTAKE");
  expect(head + group + "cases = 'x'\n" + item, "cases must be a list of texts");
  expect(head + group + group + item, "two groups are called 'all'");
  expect(head + group + item + item, "two items are called 'one'");
  expect(head + group + item + "[[items]]\nname = 'two'\nproblems = ['softmax']\npoints = 1\n",
         "problem 'softmax' is in the items 'one' and 'two'");
  expect(head + group + "[[items]]\nname = 'one'\nproblems = ['x']\n", "item 'one': needs points");
  for (const char* points : {"0", "-1", "nan", "inf", "'2'", "true"}) {
    expect(head + group + "[[items]]\nname = 'o'\nproblems = ['x']\npoints = " + points + "\n",
           "points must be a number above 0");
  }
  for (const char* bound :
       {"atol = 0", "rtol = -1e-6", "atol = 0.011", "rtol = nan", "atol = '1'"}) {
    expect(head + group + item + bound + "\n", "tol must be a number above 0, up to 0.01");
  }
  expect(head + group + item + "tolerance = 1e-5\n", "no key 'tolerance' is known here");
  for (const char* times : {"0.5", "0", "101", "true"}) {
    expect(head + group + "within = " + times + "\n" + item,
           "within must be a number from 1 to 100");
  }
  expect(head + group + "[[items]]\nname = 'o'\nproblems = []\npoints = 1\n", "needs problems");
  expect(head + group + item + "[[items.groups]]\nname = 'g'\nproblems = ['sofmax']\n",
         "group 'g': no problem 'sofmax' in the item (did you mean 'softmax'?)");
  expect("title = \"a\\u001b[31m\"\n" + group + item, "title must be one line");
  expect(head + "adapters = '../a.toml'\n" + group + item, "a file in the rubric's folder");
  expect(head + "x = [\n", ":");  // no TOML
}

BOOST_AUTO_TEST_CASE(names_that_mean_nothing) {
  for (const auto& [name, message] : {std::pair{"cs336-2052", "did you mean 'cs336-20"},
                                      std::pair{"nowhere/x.toml", "no rubric file"},
                                      std::pair{"adapters-2025", ""}, std::pair{"", ""}}) {
    BOOST_CHECK_THROW(harness::read_rubric(name), std::invalid_argument);
    check_has(message_of<std::invalid_argument>([&] { harness::read_rubric(name); }), {message});
  }
}

BOOST_AUTO_TEST_CASE(points_have_at_most_two_digits_behind_the_point) {
  using Texts = std::vector<std::pair<double, std::string>>;
  for (const auto& [points, text] : Texts{{0, "0"},
                                          {1, "1"},
                                          {100, "100"},
                                          {.5, "0.5"},
                                          {1.0 / 3, "0.33"},
                                          {-.001, "0"},
                                          {12345.25, "12345.25"},
                                          {1000000, "1000000"}}) {
    BOOST_TEST(harness::points_text(points) == text);
  }
  BOOST_TEST(harness::of_points(1) == "1 point");
  BOOST_TEST(harness::of_points(.5) == "0.5 points");
}

BOOST_AUTO_TEST_SUITE_END()
