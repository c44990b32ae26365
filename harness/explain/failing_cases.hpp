// Which failing cases are shown, and in which order.
#pragma once

#include "explain/collector.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace prenorm::harness {

struct FailingCase {
  std::string name;
  std::int64_t elements = 0;
  std::string cause;  // of cases with the same one, few are shown: a diagnosis, a message
  bool late = false;  // shown after others: must be refused, has no elements, was not run
};

/// Whether a case's outputs have no elements.
bool has_no_elements(const Case& info);

/// `told` is what is known of the case, or nullptr.
FailingCase failing_case(const Result& result, const FailureText* told);

/// Failing cases that a report shows unless all are asked for.
inline constexpr std::size_t most_shown = 5;

/// Places of the cases, the simplest of each cause first: those made by hand before all, then by
/// their elements, then those that show little. After two of each cause come the others.
std::vector<std::size_t> simplest_first(std::span<const FailingCase> cases);

/// How many of them, in that order, are shown where not all are: two of each cause, at most five.
std::size_t shown_at_first(std::span<const FailingCase> cases);

}  // namespace prenorm::harness
