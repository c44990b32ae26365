// The parts of which a grading's report in JSON is made.
#pragma once

#include "base/json.hpp"
#include "grade/grading.hpp"

namespace prenorm::harness {

/// `secret`: with what a hidden case gave.
Json case_object(const GradedItem& item, const GradedCase& graded, bool secret);

/// Points, groups and diagnoses, without the cases.
Json item_object(const GradedItem& item);

}  // namespace prenorm::harness
