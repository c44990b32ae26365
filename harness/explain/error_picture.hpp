// Pictures of where an output is wrong, and by how much: inline SVG. The colours
// are those of templates/errors.css; templates/patterns.mustache belongs in the page before them.
#pragma once

#include "explain/error_map.hpp"

#include <string>

namespace prenorm::harness {

/// Rows and columns of the output, each cell by its largest error over the bound; a ring marks the
/// worst element. `report` is of the same output, or nullptr.
std::string heat_map(const ErrorMap& map, const OutputReport* report);

/// How many elements are that far off: a bar for each factor of two, with the bound marked. Its
/// axis is the key to the colours.
std::string histogram(const ErrorMap& map, const OutputReport* report);

}  // namespace prenorm::harness
