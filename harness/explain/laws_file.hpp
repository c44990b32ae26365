// The files of laws (laws/README.md), as they are written.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace prenorm::harness {

using Words = std::vector<std::string>;

/// Sizes, scalars and inputs by name, as they are written: "2", "normal(0,1)", "identity".
using Setting = std::map<std::string, std::string>;

struct Law {
  std::string name, says, breach;
  Words terms;
  Setting setting;   // beside the base
  Setting change;    // of inputs: "times 2"; empty: there is one call
  std::string then;  // of the output, then: "same"
};

/// Inputs for which some terms make no difference; or, `wrong`, for which some alone matter.
struct Probe {
  std::string where;
  Words terms;
  Setting setting;
};

/// All that is known of a laws.
struct Laws {
  Words problems;
  std::map<std::string, Words> only;   // terms that not all of the problems have: those that do
  std::map<std::string, Words> parts;  // of each problem that is made of others
  Setting terms;                       // in words
  Setting base;
  std::vector<Law> laws;
  std::vector<Probe> right_where, wrong_where;
};

/// The words of "anew first 1 batch".
Words split_words(const std::string& text);

/// Those of a problem; nullptr where no file has any. Threads may call this. Throws
/// std::invalid_argument if a file is damaged.
const Laws* laws_for(const std::string& problem);

/// "Look at the gain: ...; or eps: ...": of these terms, those that the problem has.
std::string look_at(const Laws& laws, const std::string& problem, const Words& terms);

}  // namespace prenorm::harness
