// A failing case on a page: what templates/case.mustache and cases.mustache show.
#pragma once

#include "base/json.hpp"
#include "explain/collector.hpp"

namespace prenorm::harness {

/// What a status says to somebody who sees it for the first time.
std::string_view meaning_of(Status status);

/// What a list says of a case.
Json case_values(const Result& result, const FailureText& told);

/// All that a page says of a failing case: its numbers and pictures too.
Json failing_case_values(const Result& result, const FailureText& told, bool open);

/// Causes as templates/causes.mustache shows them; null where there are none.
Json cause_values(const std::vector<CauseText>& causes);

}  // namespace prenorm::harness
