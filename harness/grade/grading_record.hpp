// A grading as JSON that can be read back: what the gradebook holds, and what a grading process
// hands to it. The members' order and names are those of files that were written before.
#pragma once

#include "base/json.hpp"
#include "grade/grading.hpp"

namespace prenorm::harness {

PRENORM_JSON(KernelProfile, kernel, launches, requests, sectors, ideal_sectors, shared_requests,
             wavefronts, ideal_wavefronts, worst)
PRENORM_JSON(CallProfile, problem, case_name, least_bytes, kernels)
PRENORM_JSON(GradedCase::Secret, result, from, shapes)
PRENORM_JSON_WITH_RARE(GradedGroup,
                       (name, hidden, share, passed, total, hidden_passed, hidden_total, earned),
                       lost_by)

/// A case with all that is known of it; secret where it is hidden.
void to_json(Json& record, const GradedCase& graded);
void from_json(const Json& record, GradedCase& graded);

/// The whole, on one line.
std::string grading_record(const Grading& grading);
/// Throws std::invalid_argument where the text is none of these.
Grading grading_of(const std::string& record);
/// The same of parsed text. Throws Json::exception.
Grading grading_from(const Json& record);

}  // namespace prenorm::harness
