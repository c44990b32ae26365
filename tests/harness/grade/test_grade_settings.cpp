// The table of a grading's options: what of it is in the command that repeats a case, and in
// records.
#include "grade/grade_settings.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace prenorm::harness;

namespace {

/// Gives a setting a value that is not the usual one.
void change(GradeSettings& settings, const GradeSetting& setting) {
  struct Change {
    GradeSettings& settings;
    void operator()(std::string GradeSettings::*place) const { settings.*place = "other"; }
    void operator()(double GradeSettings::*place) const { settings.*place += 1.5; }
    void operator()(bool GradeSettings::*place) const { settings.*place = true; }
    void operator()(std::optional<std::uint64_t> GradeSettings::*place) const {
      settings.*place = 18446744073709551615u;
    }
  };
  std::visit(Change{settings}, setting.place);
}

bool is_usual(const GradeSettings& settings, const GradeSetting& setting) {
  return std::visit([&](auto place) { return settings.*place == GradeSettings{}.*place; },
                    setting.place);
}

GradeSettings usual() {
  GradeSettings settings;
  settings.rubric = usual_rubric;
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(grade_settings)

BOOST_AUTO_TEST_CASE(the_command_that_repeats_a_case_has_every_option_that_is_not_usual) {
  const std::string plain = repeat_line(usual(), "alice");
  BOOST_TEST(plain.ends_with(" grade alice"));
  // Of the visible case that is named; explained in any case.
  const std::set<std::string> left_out{"--seed", "--no-hidden", "--quick"};
  for (const GradeSetting& setting : prenorm::harness::grade_settings()) {
    GradeSettings settings = usual();
    change(settings, setting);
    const bool repeated = !left_out.contains(setting.option);
    BOOST_TEST((repeat_line(settings, "alice") != plain) == repeated, setting.option);
    const std::size_t at = repeat_line(settings, "alice").find(setting.option);
    BOOST_TEST((at != std::string::npos) == repeated, setting.option);
  }
  GradeSettings settings = usual();
  settings.build_timeout = 600;
  settings.selection.fixtures = {"my fixtures", "b.h5"};
  BOOST_TEST(repeat_line(settings, "alice").substr(plain.size()) ==
             " --build-timeout 600 --fixtures 'my fixtures' --fixtures b.h5");
}

BOOST_AUTO_TEST_CASE(another_grader_gets_every_setting) {
  for (const GradeSetting& setting : prenorm::harness::grade_settings()) {
    GradeSettings settings;
    change(settings, setting);
    const GradeSettings read = settings_of(settings_record(settings));
    BOOST_TEST(!is_usual(read, setting), setting.option);
    BOOST_TEST(settings_record(read) == settings_record(settings), setting.option);
  }
}

BOOST_AUTO_TEST_CASE(a_class_keeps_its_limits_but_for_what_is_typed) {
  for (const GradeSetting& setting : prenorm::harness::grade_settings()) {
    GradeSettings before, now, typed;
    change(before, setting);
    const std::string words = take_limits(now, limits_record(before), {});
    BOOST_TEST(is_usual(now, setting) != setting.kept_for_class, setting.option);
    BOOST_TEST((words.find(setting.option) == 0) == setting.kept_for_class, setting.option);
    take_limits(typed, limits_record(before), {setting.option});
    BOOST_TEST(is_usual(typed, setting), setting.option);
  }
}

BOOST_AUTO_TEST_SUITE_END()
