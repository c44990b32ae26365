// What known mistakes are called and how they are explained: share/prenorm/mistakes/*.toml, which
// reference/mistakes/README.md describes.
#pragma once

#include <string>

namespace prenorm::harness {

/// A known mistake in words. One that no file explains has only a name.
struct MistakeWords {
  std::string name;      // completes "looks like ...": "halves instead of neighbours"
  std::string sentence;  // what the code does, and what belongs there instead
  std::string hint;      // where to look; does not give the solution
  std::string form_of;   // the mistake that this is another form of, or empty
  bool honest = false;   // correct code may deviate like this too
};

/// The words of a problem's mistake "halves", or of several at once, "halves+theta_fixed". They
/// stay where they are. Threads may call this. Throws std::invalid_argument if a file of words is
/// damaged.
const MistakeWords& words_of(const std::string& problem, const std::string& mistake);

/// What two forms of a mistake have in common: the mistake that this is a form of, or itself.
std::string same_mistake(const std::string& problem, const std::string& mistake);

}  // namespace prenorm::harness
