#include "replay/answer.hpp"

#include "replay/replay.hpp"

namespace prenorm::harness {

void require_loaded(Solution& solution) {
  if (solution.load()) return;
  throw SolutionFailed(solution.label() + " cannot be used: " + solution.message());
}

std::vector<Tensor> outputs_in(Outcome outcome, const Solution& solution,
                               const std::string& function) {
  if (outcome.status == Status::passed) return std::move(outcome.outputs);
  const std::string who = solution.label() + ", asked for " + function + ", ";
  if (outcome.refused) throw NoAnswer(who + "refuses: " + outcome.message);
  throw SolutionFailed(who + "fails: " + std::string(name(outcome.status)) +
                       (outcome.message.empty() ? "" : ", " + outcome.message));
}

std::vector<Tensor> answer_of(const std::string& problem, const Signature& signature,
                              Solution& solution, const Inputs& inputs,
                              const std::vector<Scalar>& scalars,
                              const std::vector<TensorType>& types) {
  require_loaded(solution);
  const std::string function = solution.function_for(problem);
  if (function.empty()) {
    throw SolutionFailed(solution.label() + " has no function for " + problem);
  }
  return outputs_in(solution.call(call_of(function, signature, inputs, scalars, types)), solution,
                    function);
}

std::vector<Tensor> must_answer(const std::string& problem, const Signature& signature,
                                Solution& solution, const Inputs& inputs,
                                const std::vector<Scalar>& scalars,
                                const std::vector<TensorType>& types) try {
  return answer_of(problem, signature, solution, inputs, scalars, types);
} catch (const NoAnswer& refusal) {
  throw SolutionFailed(std::string(refusal.what()) + " (the truth answers)");
}

std::vector<Tensor> exact_outputs(const std::string& problem, const Signature& signature,
                                  const Inputs& inputs, const std::vector<Scalar>& scalars,
                                  Solution& truth) {
  Inputs wide(inputs.size());
  std::vector<std::optional<TensorType>> types(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    wide[i] = is_floating(inputs[i]->dtype) ? converted(*inputs[i], DType::float64) : *inputs[i];
    types[i] = TensorType{wide[i]->dtype, wide[i]->shape};
  }
  const Binding binding = harness::bind(signature, types);
  std::vector<Tensor> outputs =
      answer_of(problem, signature, truth, wide, scalars, output_types(signature, binding));
  for (Tensor& output : outputs) {
    if (output.dtype != DType::float64) output = converted(output, DType::float64);
  }
  return outputs;
}

}  // namespace prenorm::harness
