// Cases in words: shapes, scalars, tolerances.
#pragma once

#include "fixture.hpp"

namespace prenorm::harness {

/// "1e-05", "3", "true".
std::string to_text(const Scalar& scalar);

/// "x[2, 8] weight[8]; eps=1e-05 -> y[2, 8]".
std::string describe_sizes(const Case& info, const Signature& signature);

/// "|y - e| <= 2.4e-07 + 4.77e-07 |e|", "exact", or "no tolerance".
std::string describe_tolerance(const std::optional<Tolerance>& tolerance);
/// The same, and behind it "; tf32: ..." where there is a tf32 tolerance.
std::string describe_tolerances(const std::optional<Tolerance>& tolerance,
                                const std::optional<Tolerance>& tf32);

/// Breaks words so that lines have at most `width` columns, the following ones indented; what
/// stands before the first word takes `indent` columns too.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

/// The signature, broken between tensors only and never inside brackets.
std::string wrapped_signature(const std::string& signature, std::size_t indent, std::size_t width);

}  // namespace prenorm::harness
