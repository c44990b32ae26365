// Laws, asked of right solutions, which break none, and of known mistakes.
#include "explain/laws.hpp"
#include "fixture_testing.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <map>

using namespace prenorm::harness;
using namespace testing;

namespace {

std::vector<Clue> clues(const std::string& problem, const std::string& solution, DType dtype,
                        SolutionPool& pool) {
  static std::map<std::string, Signature> signatures;
  auto known = signatures.find(problem);
  if (known == signatures.end()) {
    const Fixture fixture(folder("PRENORM_SOURCE") / "fixtures" / (problem + ".h5"));
    known = signatures.emplace(problem, fixture.signature()).first;
  }
  const Witness witness{pool.get(solution), pool.get("reference"), nullptr};
  return clues_to(problem, known->second, dtype, witness);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laws)

BOOST_AUTO_TEST_CASE(right_solutions_break_none) {
  SolutionPool pool(Solution::Options{});
  std::size_t forms = 0;
  for (const auto& entry : fs::directory_iterator(folder("PRENORM_SOURCE") / "fixtures")) {
    if (entry.path().extension() != ".h5") continue;
    const std::string problem = entry.path().stem();
    const auto check = [&](const std::string& solution, DType dtype) {
      for (const Clue& clue : clues(problem, solution, dtype, pool)) {
        BOOST_ERROR(problem << " by " << solution << " in " << name(dtype) << ": " << clue.heading
                            << " (" << clue.example << ")");
      }
    };
    check("plain", DType::float32);
    for (const std::string& form : variants_of(problem, pool.get("honest"))) {
      check("honest/" + form, DType::bfloat16);  // their roundings are largest there
      ++forms;
    }
  }
  BOOST_TEST(forms > 20U);
}

BOOST_AUTO_TEST_CASE(mistakes_are_told_of_by_what_they_break) {
  struct Row {
    const char *problem, *mistake, *law, *term;  // the first clue's law; a term that all have
  };
  SolutionPool pool(Solution::Options{});
  for (const Row& row : {
           Row{"linear", "not_transposed", "right_where", "weight"},
           {"embedding", "id_plus_one", "rows", "ids"},
           {"rmsnorm", "no_gain", "gain", "gain"},
           {"rmsnorm", "mean_over_all", "rows", "mean"},
           {"rmsnorm", "no_root", "length", "root"},
           {"rmsnorm", "mean_subtracted", "equal_elements", "mean"},
           {"rmsnorm", "no_eps", "zero", "eps"},
           {"rmsnorm", "eps_outside_root", "wrong_where", "eps"},
           {"silu", "sigmoid_only", "zero", "function"},
           {"gelu", "no_half", "far_right", "function"},
           {"glu", "relu_gate", "half_open", "gate"},
           {"glu", "sum_for_product", "value", "product"},
           {"ffn_relu", "no_activation", "far_left", "activation"},
           {"ffn_swiglu", "silu_of_product", "product", "product"},
           {"softmax", "global_sum", "sums", "sum"},
           {"softmax", "no_maximum", "wrong_where", "maximum"},
           {"softmax", "over_last_axis", "sums", "axis"},
           {"rope", "halves", "lengths", "pairs"},
           {"rope", "exponent_k_over_d", "right_where", "rate"},
           {"rope", "position_plus_one", "position_0", "position"},
           {"scaled_dot_product_attention", "not_scaled", "right_where", "scale"},
           {"scaled_dot_product_attention", "mask_inverted", "weights", "mask"},
           {"scaled_dot_product_attention", "softmax_over_queries", "weights", "softmax"},
           {"multihead_self_attention", "not_causal", "future", "mask"},
           {"multihead_self_attention", "strictly_causal", "present", "mask"},
           {"multihead_self_attention", "first_head_for_all", "heads", "heads"},
           {"multihead_self_attention_with_rope", "rope_on_v", "shift", "rope"},
           {"transformer_block", "no_first_residual", "first_residual", "residual1"},
           {"transformer_block", "no_second_residual", "second_residual", "residual2"},
           {"transformer_block", "ffn_of_x", "right_where", "between"},
           {"transformer_lm", "no_final_norm", "final_norm", "final_norm"},
           {"transformer_lm", "layers_reversed", "right_where", "layers"},
       }) {
    const std::vector<Clue> found =
        clues(row.problem, "mistakes/" + std::string(row.mistake), DType::float32, pool);
    BOOST_TEST_CONTEXT(row.problem << " " << row.mistake) {
      BOOST_TEST_REQUIRE(!found.empty());
      BOOST_TEST(found.front().law == row.law);
      for (const Clue& clue : found) {
        BOOST_TEST(std::ranges::count(clue.terms, row.term) == 1, clue.heading);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_broken_law_shows_numbers) {
  SolutionPool pool(Solution::Options{});
  const Clue clue = clues("rmsnorm", "mistakes/no_gain", DType::float32, pool).front();
  BOOST_TEST(clue.heading == "breaks a law: RMSNorm is linear in its gain");
  BOOST_TEST(clue.sentence.starts_with("Twice the weight is not twice y: "));
  BOOST_TEST(clue.example.starts_with("with x[2, 3, 8] weight[8], and then weight times 2: y["));
  const Clue where = clues("rope", "mistakes/exponent_k_over_d", DType::float32, pool).front();
  BOOST_TEST(where.heading ==
             "right where theta is 1, so that all pairs turn alike, wrong otherwise");
  BOOST_TEST(where.sentence == "Look at how fast a pair turns: theta^(-2k / d_k), k from 0.");
}

BOOST_AUTO_TEST_SUITE_END()
