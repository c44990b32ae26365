// Answers that others are judged by: expected values, and outputs that tolerances are derived from.
#pragma once

#include "solution/solution.hpp"

#include <stdexcept>

namespace prenorm::harness {

/// The values are not for the solution that was asked: it refused them, or is NaN or infinite there
/// and the truth is not. Other values may do.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The solution that was asked does not work: it cannot be loaded, has no function, crashed, took
/// too long or too much memory, or broke a rule of calls. That tells nothing of the values.
struct SolutionFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws SolutionFailed where it cannot be loaded.
void require_loaded(Solution& solution);

/// The outputs of a call of the solution's function. Throws NoAnswer where it refused, and
/// SolutionFailed where there are none for another reason; both name it and the function.
std::vector<Tensor> outputs_in(Outcome outcome, const Solution& solution,
                               const std::string& function);

/// What the problem's function gives for these values. Throws as outputs_in().
std::vector<Tensor> answer_of(const std::string& problem, const Signature& signature,
                              Solution& solution, const Inputs& inputs,
                              const std::vector<Scalar>& scalars,
                              const std::vector<TensorType>& types);

/// The same for values that the truth has answered. Who refuses these does not work, for by its
/// return code (PRENORM_ERROR) a refusal may as well be a failure. Throws SolutionFailed.
std::vector<Tensor> must_answer(const std::string& problem, const Signature& signature,
                                Solution& solution, const Inputs& inputs,
                                const std::vector<Scalar>& scalars,
                                const std::vector<TensorType>& types);

/// The exact answer for inputs of any floating type: `truth` on the inputs widened to float64.
/// Throws as outputs_in().
std::vector<Tensor> exact_outputs(const std::string& problem, const Signature& signature,
                                  const Inputs& inputs, const std::vector<Scalar>& scalars,
                                  Solution& truth);

}  // namespace prenorm::harness
