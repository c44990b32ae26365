// Words and figures that the reports of gradings share.
#pragma once

#include <string>

namespace prenorm::harness {

/// At most two digits behind the point, and none that say nothing: "1", "0.5", "1234.25".
std::string points_text(double points);

/// "1 point", "2.5 points".
std::string of_points(double points);

/// A mistake's name in words: "halves_instead_of_neighbours" is "halves instead of neighbours".
std::string as_words(std::string name);

}  // namespace prenorm::harness
