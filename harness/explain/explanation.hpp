// The causes of a problem's failures in words: the same in every report.
#pragma once

#include "explain/diagnosis.hpp"
#include "explain/property.hpp"

#include <map>
#include <span>

namespace prenorm::harness {

/// One cause: "looks like no eps (all 50 failing cases)", what that mistake is, and a hint. The
/// latter two are empty for what has no words.
struct CauseText {
  std::string heading, sentence, hint;
};

/// "looks like no eps", or, of several that give the same numbers, "looks like a, b or c".
std::string looks_like(const Diagnosis& diagnosis);

/// What the wrong numbers of `problem` come from, of the diagnoses and properties of several.
/// `undiagnosed`: there are such numbers that no mistake explains.
std::vector<CauseText> causes_of(const std::string& problem, std::span<const Diagnosis> diagnoses,
                                 std::span<const Property> properties, bool undiagnosed);

/// The same as lines of text.
std::vector<std::string> cause_lines(const std::vector<CauseText>& causes);

/// "of the 3 cases with wrong numbers (13 failed otherwise):"; empty where all failed alike.
std::string kinds_line(std::int64_t wrong, std::int64_t failed);

/// "answers 2 calls that it must refuse"; empty for none.
std::string refusal_line(std::int64_t count);

/// Failing cases among those asked.
struct Failed {
  std::int64_t failed = 0, asked = 0;
};

/// "13 of the 15 failing cases are float64: is something computed in float32?"; empty where the
/// element types say nothing.
std::string dtype_line(const std::map<std::string, Failed>& by_dtype);

}  // namespace prenorm::harness
