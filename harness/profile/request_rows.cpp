#include "profile/request_rows.hpp"

namespace prenorm::harness::profile {
namespace {

/// Which lanes ask for which bytes, or words.
using Wanted = std::map<std::uint64_t, std::vector<unsigned>>;

/// The lanes of each unit of so many bytes that lanes first to last - 1 ask for.
Wanted wanted_units(const Access& access, std::uint64_t unit, unsigned first, unsigned last) {
  Wanted wanted;
  for (unsigned lane = first; lane < last; ++lane) {
    if (!access.worst[lane]) continue;
    const std::uint64_t begin = *access.worst[lane], end = begin + access.width;
    for (std::uint64_t at = begin / unit; at <= (end - 1) / unit; ++at) {
      wanted[at].push_back(lane);
    }
  }
  return wanted;
}

/// Adds a unit to the row's last piece, if that ends there and is the same lanes'.
void append(std::vector<Piece>& pieces, std::uint64_t at, const std::vector<unsigned>& lanes) {
  const bool continues = !pieces.empty() && pieces.back().begin + pieces.back().length == at &&
                         pieces.back().lanes == lanes;
  if (continues)
    ++pieces.back().length;
  else
    pieces.push_back({at, 1, lanes});
}

std::vector<RequestRow> lines(const Access& access) {
  std::vector<RequestRow> rows;
  for (const auto& [byte, lanes] : wanted_units(access, 1, 0, 32)) {
    const std::uint64_t address = byte / line_bytes * line_bytes;
    if (rows.empty() || rows.back().address != address) {
      rows.emplace_back();
      rows.back().address = address;
    }
    rows.back().sectors[byte % line_bytes / sector_bytes] = true;
    append(rows.back().pieces, byte % line_bytes, lanes);
  }
  return rows;
}

/// As cuda/emulator/request.hpp counts them: wavefront k gives the k-th word of each bank.
std::vector<RequestRow> wavefronts(const Access& access) {
  const unsigned at_once = access.width <= 4 ? 32 : access.width <= 8 ? 16 : 8;
  std::vector<RequestRow> rows;
  for (unsigned first = 0; first < 32; first += at_once) {
    // Of each bank the words that are asked for.
    std::array<std::vector<std::vector<unsigned>>, banks> words;
    for (auto& [word, lanes] : wanted_units(access, bank_bytes, first, first + at_once)) {
      words[word % banks].push_back(lanes);
    }
    std::size_t most = 0;
    for (const auto& of_bank : words) most = std::max(most, of_bank.size());
    for (std::size_t k = 0; k < most; ++k) {
      RequestRow& row = rows.emplace_back();
      row.waits = k > 0;
      for (std::uint64_t bank = 0; bank < banks; ++bank) {
        if (k < words[bank].size()) append(row.pieces, bank, words[bank][k]);
      }
    }
  }
  return rows;
}

}  // namespace

std::vector<RequestRow> request_rows(const Access& access) {
  return access.space == Space::global ? lines(access) : wavefronts(access);
}

std::uint64_t distinct_bytes(const Access& access) { return wanted_units(access, 1, 0, 32).size(); }

}  // namespace prenorm::harness::profile
