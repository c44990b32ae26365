// Labels of powers of two in pictures.
#pragma once

#include "report/svg.hpp"

namespace prenorm::harness {

/// "1/16", "1", "256", 2 to the 16th; `anchor` as SVG has it: "middle", "end".
void label_power(Svg& svg, double x, double y, int power, std::string_view anchor);

}  // namespace prenorm::harness
