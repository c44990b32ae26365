// The words of known mistakes, by those that are shipped.
#include "explain/causes.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <thread>
#include <vector>

using namespace prenorm::harness;

BOOST_AUTO_TEST_SUITE(known_mistakes)

BOOST_AUTO_TEST_CASE(a_mistake_has_a_name_a_sentence_two_formulas_and_a_hint) {
  const MistakeWords& words = words_of("rope", "halves");
  BOOST_TEST(words.name == "halves instead of neighbours");
  BOOST_TEST(words.sentence.starts_with("Your code rotates the pairs (x0, x[d/2])"));
  BOOST_TEST(words.right == "pair k: x[2k], x[2k + 1]");
  BOOST_TEST(words.wrong == "pair k: x[k], x[k + d/2]");
  BOOST_TEST(words.hint.ends_with("?"));
  BOOST_TEST(words.form_of.empty());
  BOOST_TEST(!words.honest);
}

BOOST_AUTO_TEST_CASE(a_component_comes_before_its_parts) {
  // Both have a mask that can be inverted; that of multi-head attention is causal.
  const std::string& causal = words_of("multihead_self_attention", "mask_inverted").sentence;
  BOOST_TEST(causal != words_of("scaled_dot_product_attention", "mask_inverted").sentence);
  BOOST_TEST(words_of("transformer_block", "mask_inverted").sentence == causal);
  BOOST_TEST(words_of("transformer_lm", "mask_inverted").sentence == causal);
  BOOST_TEST(words_of("transformer_block_post_norm", "halves").name ==
             words_of("rope", "halves").name);
  BOOST_TEST(words_of("softmax", "wrong_axis").name != words_of("rmsnorm", "wrong_axis").name);
}

BOOST_AUTO_TEST_CASE(problems_of_a_component_may_differ) {
  BOOST_TEST(words_of("glu", "exchanged").name == "w1 and w2 exchanged");
  BOOST_TEST(words_of("ffn_swiglu", "exchanged").name == "w1 and w3 exchanged");
  BOOST_TEST(words_of("transformer_block", "exchanged").name == "w1 and w3 exchanged");
}

BOOST_AUTO_TEST_CASE(what_no_file_knows_has_a_name) {
  for (const auto& [problem, mistake] :
       {std::pair("rope", "upside_down"), {"mine", "upside_down"}}) {
    const MistakeWords& words = words_of(problem, mistake);
    BOOST_TEST(words.name == "upside down");
    BOOST_TEST((words.sentence + words.right + words.wrong + words.hint + words.form_of).empty());
    BOOST_TEST(lines_of(words).empty());
    BOOST_TEST(!words.honest);
  }
  // The halves of another problem need not be those of RoPE.
  BOOST_TEST(words_of("mine", "halves").name == "halves");
  BOOST_TEST(words_of("mine", "halves").sentence.empty());
}

BOOST_AUTO_TEST_CASE(several_mistakes_at_once) {
  const MistakeWords &halves = words_of("rope", "halves"), &theta = words_of("rope", "theta_fixed"),
                     &both = words_of("rope", "halves+theta_fixed");
  BOOST_TEST(both.name == "halves instead of neighbours, and theta fixed at 10000");
  BOOST_TEST(both.sentence == halves.sentence + " " + theta.sentence);
  BOOST_TEST(both.right == halves.right + "; " + theta.right);
  BOOST_TEST(both.wrong == halves.wrong + "; " + theta.wrong);
  BOOST_TEST(both.hint == halves.hint + " " + theta.hint);
  BOOST_TEST(both.form_of.empty());
  BOOST_TEST(!both.honest);
  BOOST_TEST(words_of("rope", "halves+theta_fixed+position_plus_one").name ==
             "halves instead of neighbours, theta fixed at 10000, and positions counted from 1");
}

BOOST_AUTO_TEST_CASE(forms_of_the_same_mistake) {
  BOOST_TEST(same_mistake("rope", "float32_angles_by_exp_log") == "float32_angles");
  BOOST_TEST(same_mistake("rope", "float32_angles") == "float32_angles");
  BOOST_TEST(same_mistake("rope", "upside_down") == "upside_down");
  BOOST_TEST(same_mistake("rope", "float32_angles_by_exp_log+halves") == "float32_angles+halves");
  BOOST_TEST(words_of("rope", "float32_angles_by_exp_log").honest);
  BOOST_TEST(!words_of("rope", "float32_angles_by_exp_log+halves").honest);
}

BOOST_AUTO_TEST_CASE(threads_get_the_same_words) {
  std::vector<std::jthread> threads;
  std::vector<const MistakeWords*> got(8);
  for (auto& words : got)
    threads.emplace_back([&words] { words = &words_of("rmsnorm", "no_root"); });
  threads.clear();
  for (const MistakeWords* words : got) BOOST_TEST(words == got.front());
}

BOOST_AUTO_TEST_SUITE_END()
