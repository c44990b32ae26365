// A picture of one warp's request: its lanes, and the memory below them.
#pragma once

#include "profile/counts.hpp"

namespace prenorm::harness::profile {

/// The access's most expensive request as SVG, 360 units wide. Lanes are on top, in four colours.
/// Below, of global memory: the lines of 128 bytes that they touch, with the bytes that each lane
/// takes, and what moves though nobody asked for it; of shared memory: the 32 banks, a row for each
/// wavefront. Its style is templates/request.css.
std::string request_picture(const Access& access, const std::string& title);

/// The same as a file of its own: with its style, and with title and pattern to read.
std::string request_file(const Access& access, const std::string& title);

}  // namespace prenorm::harness::profile
