// Counts of operations and bytes, written as text in a data file: "2*rows*d_in*d_out".
#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace prenorm::harness::bench {

/// What is wrong with an expression's text.
struct ExpressionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value of an expression of numbers, names, + - * / and parentheses, with the usual
/// precedence. Throws ExpressionError, which quotes the text, for a name that is not in `names`.
double evaluate(const std::string& text, const std::map<std::string, double>& names);

}  // namespace prenorm::harness::bench
