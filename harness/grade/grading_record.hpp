// A grading as text that can be read back: what a grader of a class hands to its gradebook.
#pragma once

#include "grade/grading.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace prenorm::harness {

/// One case with all that is known of it; secret where it is hidden.
nlohmann::ordered_json case_record(const GradedCase& graded);
/// The same case. Throws nlohmann::json::exception or std::invalid_argument for another text.
GradedCase case_of(const nlohmann::ordered_json& record);

nlohmann::ordered_json group_record(const GradedGroup& group);
GradedGroup group_of(const nlohmann::ordered_json& record);

/// The whole, on one line.
std::string grading_record(const Grading& grading);
/// Throws std::invalid_argument where the text is none of these.
Grading grading_of(const std::string& record);

}  // namespace prenorm::harness
