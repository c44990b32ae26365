// Causes in words, the same in every report. What known mistakes are called and how they are
// explained is in share/prenorm/mistakes/*.toml, which reference/mistakes/README.md describes.
#pragma once

#include "explain/diagnosis.hpp"
#include "explain/laws.hpp"

#include <map>
#include <span>
#include <string>

namespace prenorm::harness {

/// A known mistake in words. One that no file explains has only a name.
struct MistakeWords {
  std::string name;      // completes "looks like ...": "halves instead of neighbours"
  std::string sentence;  // what the code does, and what belongs there instead
  std::string right;     // the line of the formula as it should be: "x / sqrt(mean(x^2) + eps)"
  std::string wrong;     // and as it is: "x / sqrt(mean(x^2))"
  std::string hint;      // where to look; does not give the solution
  std::string example;   // of a law that is broken: numbers that show it
  std::string form_of;   // the mistake that this is another form of, or empty
  bool honest = false;   // correct code may deviate like this too
};

/// The words of a problem's mistake "halves", or of several at once, "halves+theta_fixed". They
/// stay where they are. Threads may call this. Throws std::invalid_argument if a file of words is
/// damaged.
const MistakeWords& words_of(const std::string& problem, const std::string& mistake);

/// What two forms of a mistake have in common: the mistake that this is a form of, or itself.
std::string same_mistake(const std::string& problem, const std::string& mistake);

/// The words of a mistake below its heading, each line with its label: the sentence, "right: ...",
/// "wrong: ...", and the hint last. What has no words has no lines.
std::vector<std::string> lines_of(const MistakeWords& words);

/// One cause: "looks like no eps (all 50 failing cases)", and that mistake in words, if it has any.
struct CauseText {
  std::string heading;
  MistakeWords words = {};
  bool capital = false;  // on a page the heading begins with one; a tensor's name keeps its letters
};

/// "looks like no eps", or, of several that give the same numbers, "looks like a, b or c".
std::string looks_like(const Diagnosis& diagnosis);

/// What the wrong numbers of `problem` come from, of the diagnoses, clues and properties of
/// several. `undiagnosed`: there are such numbers that no mistake explains.
std::vector<CauseText> causes_of(const std::string& problem, std::span<const Diagnosis> diagnoses,
                                 std::span<const Clue> clues, std::span<const Property> properties,
                                 bool undiagnosed);

/// The same as lines of text.
std::vector<std::string> cause_lines(const std::vector<CauseText>& causes);

/// Failing cases among those asked, but for those that are hardly beyond rounding; `close`: those
/// whose numbers are off by no more than rounding in a narrower type makes.
struct Failed {
  std::int64_t failed = 0, asked = 0, close = 0;
};

/// "13 of the 15 failing cases are float64: is something computed in float32?"; empty where the
/// element types say nothing.
std::string dtype_line(const std::map<std::string, Failed>& by_dtype);

}  // namespace prenorm::harness
