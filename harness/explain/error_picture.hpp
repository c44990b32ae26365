// Pictures of where an output is wrong, and by how much: inline SVG. The colours
// are those of templates/errors.css; templates/patterns.mustache belongs in the page before them.
#pragma once

#include "explain/error_map.hpp"
#include "fixture/verdict.hpp"

#include <string>

namespace prenorm::harness {

/// Rows and columns of the output, each cell by its largest error over the bound; a ring marks the
/// worst element. `report` is of the same output, or nullptr.
std::string heat_map(const ErrorMap& map, const OutputReport* report);

/// The same of the known mistake that explains the case; empty where there is none.
std::string mistake_map(const ErrorMap& map);

/// The largest error over the bound at each index of an axis, on a logarithmic scale.
std::string error_along(const ErrorMap::Axis& axis, const std::string& tensor);

/// How many elements are that many units in the last place off: a bar for each factor of two.
std::string ulp_histogram(const ErrorMap& map);

/// How many elements are that far off: a bar for each factor of two, with the bound marked. Its
/// axis is the key to the colours.
std::string histogram(const ErrorMap& map, const OutputReport* report);

}  // namespace prenorm::harness
