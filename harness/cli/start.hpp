// Function templates generated from signatures, for `prenorm new`.
#pragma once

#include "base/json.hpp"
#include "fixture/signature.hpp"

#include <string>

namespace prenorm::harness {

/// How wide generated code may be.
constexpr std::size_t code_columns = 100;

/// A problem, as far as the generator needs it.
struct StartProblem {
  std::string name;
  std::string signature_text;
  std::string source;
  Signature signature;
};

/// A C++ function template that throws not_implemented, with the contract above it; `device`: with
/// a Stream at the end of its parameters.
std::string cpp_function(const StartProblem& problem, bool device);
/// The line that exports it from namespace mine.
std::string cpp_export(const StartProblem& problem);

/// A Python function that raises NotImplementedError, with its arguments in a docstring.
/// `adapter` is what Adapters::json() says of the problem. Throws std::invalid_argument for a name
/// that is not valid in Python.
std::string python_function(const StartProblem& problem, const Json& adapter);

}  // namespace prenorm::harness
