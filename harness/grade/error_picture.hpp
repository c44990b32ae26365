// Pictures of where an output is wrong, and by how much: inline SVG, on one scale of colours.
#pragma once

#include "grade/grading.hpp"

#include <string>

namespace prenorm::harness {

/// The colours, for light and dark pages: blue within the bound, orange to red beyond it, which
/// colour-blind people tell apart by hue and by lightness.
std::string picture_style();

/// What the pictures refer to; once in a page, before the first of them.
std::string picture_definitions();

/// Rows and columns of the output, each cell by its largest error over the bound; a ring marks the
/// worst element. `report` is of the same output, or nullptr.
std::string heat_map(const ErrorMap& map, const OutputReport* report);

/// How many elements are that far off: a bar for each factor of two, with the bound marked. Its
/// axis is the key to the colours.
std::string histogram(const ErrorMap& map, const OutputReport* report);

}  // namespace prenorm::harness
