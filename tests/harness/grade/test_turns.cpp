// The time of one submission: how its kinds of cases and its problems share it.
#include "grade/budget.hpp"

#include <boost/test/unit_test.hpp>

using prenorm::harness::Budget;

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(each_kind_of_cases_has_its_part) {
  Budget budget(100);
  budget.begin_kind(30, 120);
  BOOST_TEST(budget.left() == 25);
  budget.spend(10);
  BOOST_TEST(budget.left() == 15);
  budget.spend(20);  // the last call was under way
  BOOST_TEST(budget.spent());
  budget.begin_kind(90, 90);  // all of the rest
  BOOST_TEST(budget.left() == 70);
  budget.begin_kind(1, 0);
  BOOST_TEST(budget.left() == 70);
}

BOOST_AUTO_TEST_CASE(turns_are_equal_and_what_is_not_used_is_the_others) {
  Budget budget(100);
  budget.begin_kind(1, 1);
  budget.begin_round(4);
  const auto take = [&budget](double used) {
    const double seconds = budget.begin_turn();
    budget.spend(used);
    budget.end_turn(seconds, used);
    return seconds;
  };
  BOOST_TEST(take(1) == 25);
  BOOST_TEST(take(3) == 33);  // 99 for three
  // Two at a time: what the first one has not used yet is not the second one's.
  const double one = budget.begin_turn(), other = budget.begin_turn();
  BOOST_TEST(one == 48);
  BOOST_TEST(other == 48);
  budget.spend(50);  // of 48: its last case took longer
  budget.end_turn(one, 50);
  budget.spend(6);
  budget.end_turn(other, 6);
  budget.begin_round(1);
  BOOST_TEST(take(0) == 40);
}

BOOST_AUTO_TEST_CASE(turns_when_nothing_is_left) {
  Budget budget(10);
  budget.begin_kind(1, 1);
  budget.begin_round(2);
  const double seconds = budget.begin_turn();
  budget.spend(12);
  budget.end_turn(seconds, 12);
  BOOST_TEST(budget.begin_turn() == 0);
  BOOST_TEST(budget.spent());
}

BOOST_AUTO_TEST_SUITE_END()
