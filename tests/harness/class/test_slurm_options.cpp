// Words for sbatch, as it reads them.
#include "class/slurm.hpp"

#include <boost/test/unit_test.hpp>

using prenorm::harness::excluded_by;

BOOST_AUTO_TEST_SUITE(slurm_options)

BOOST_AUTO_TEST_CASE(nodes_are_excluded_by_a_letter_and_by_the_beginning_of_a_name) {
  BOOST_TEST(excluded_by({"--exclude=n[1-2],n3", "-xn4", "--exclud=n5", "--exclusive",
                          "--partition=x", "-px"}) ==
             (std::vector<std::string>{"n[1-2],n3", "n4", "n5"}));
}

BOOST_AUTO_TEST_SUITE_END()
