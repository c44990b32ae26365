// Hidden cases: fresh ones, drawn for one grading from stored cases by a secret seed.
#pragma once

#include "replay/calibrate.hpp"

namespace prenorm::harness {

/// Whether fresh cases can be drawn from it: it has an answer and something to draw, and is not so
/// large that tolerances for it take long.
bool can_be_hidden(const Case& info);

/// The order in which a problem's hidden cases are numbered: a permutation of 0 .. count - 1 that
/// the seed decides, so that a number tells nothing of the case behind it.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, const std::string& words);

/// A fresh case, at the stored sizes or at odd ones as the seed decides, truth and tolerances of
/// its own, drawn again where right answers would come near the tolerance; its name is still the
/// stored one's. Nothing where no fresh values could be given an
/// answer: the textbook loop and the truth disagree on what is infinite there.
std::optional<LoadedCase> hidden_case(const std::string& problem, const Signature& signature,
                                      const LoadedCase& stored, const Yardsticks& by,
                                      std::uint64_t seed);

}  // namespace prenorm::harness
