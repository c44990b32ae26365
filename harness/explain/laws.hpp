// Laws: what holds for every right implementation of a component, asked of one whose numbers are
// wrong by new calls of it. laws/*.toml has them; laws/README.md tells how they are written.
#pragma once

#include "solution/solution.hpp"

#include <functional>
#include <string>
#include <vector>

namespace prenorm::harness {

/// What new calls tell of wrong numbers.
struct Clue {
  std::string problem;
  std::string law;                 // its name; part_is_wrong, "right_where" or "wrong_where"
  std::vector<std::string> terms;  // of the component's formula that it points at; of "part", it
  std::string heading = {};        // a sentence without a full stop
  std::string sentence = {};       // what that means in the formula
  std::string example = {};        // numbers that show it, or empty
};

/// The law's name where a part of a composite is wrong by itself.
inline constexpr std::string_view part_is_wrong = "part";

/// A solution that is asked, and how.
struct Witness {
  Solution& asked;
  Solution& truth;                                  // `reference`
  std::function<bool(const Case&)> can_be_asked;    // nothing: everything can
  std::function<void(LoadedCase&)> give = nullptr;  // what its callers give besides
};

/// The problems that a composite is made of, the simplest first.
std::vector<std::string> parts_of(const std::string& problem);

/// At most three clues to why `problem` is wrong, the one that says most first: a part that is
/// wrong by itself, and then nothing else; a law that it breaks; a term without which it is right,
/// or the inputs for which it is wrong where it is right for ordinary ones. None where the truth
/// fails: no grading ends for want of a clue. `dtype`: of the calls.
std::vector<Clue> clues_to(const std::string& problem, const Signature& signature, DType dtype,
                           const Witness& witness);

}  // namespace prenorm::harness
