// Words and figures that the reports of gradings share.
#pragma once

#include <cstdint>
#include <string>

namespace prenorm::harness {

/// At most two digits behind the point, and none that say nothing: "1", "0.5", "1234.25".
std::string points_text(double points);

/// "1 point", "2.5 points".
std::string of_points(double points);

/// Whole per cents of `whole`, which is not 0: "33 %"; 0 and 100 only where it is none and all.
std::string per_cent(std::int64_t part, std::int64_t whole);

}  // namespace prenorm::harness
