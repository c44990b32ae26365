// A picture of one warp's request: its lanes, and the memory below them.
#pragma once

#include "profile/counts.hpp"

namespace prenorm::harness::profile {

/// A stretch of a row that the same lanes ask for.
struct Piece {
  std::uint64_t begin = 0, length = 0;  // bytes of a line, or banks
  std::vector<unsigned> lanes;
};

/// Of global memory a line of 128 bytes, of which some sectors move; of shared memory a wavefront,
/// in which each bank gives one word.
struct RequestRow {
  std::uint64_t address = 0;      // of the line
  std::array<bool, 4> sectors{};  // that move
  bool waits = false;             // a wavefront that would not be needed without conflicts
  std::vector<Piece> pieces;      // from left to right
};

constexpr std::uint64_t line_bytes = 128, sector_bytes = 32, bank_bytes = 4, banks = 32;

/// The access's most expensive request.
std::vector<RequestRow> request_rows(const Access& access);

/// How many different bytes its lanes ask for.
std::uint64_t distinct_bytes(const Access& access);

/// The access's most expensive request as SVG, 360 units wide. Lanes are on top, in four colours.
/// Below, of global memory: the lines of 128 bytes that they touch, with the bytes that each lane
/// takes, and what moves though nobody asked for it; of shared memory: the 32 banks, a row for each
/// wavefront. Its style is templates/request.css.
std::string request_picture(const Access& access, const std::string& title);

/// The same as a file of its own: with its style, and with title and pattern to read.
std::string request_file(const Access& access, const std::string& title);

}  // namespace prenorm::harness::profile
