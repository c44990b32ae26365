// Which submissions have sources that are alike, whatever their names and their layout are: a list
// for the teacher, who reads them, and no verdict.
//
// Sources become tokens: words of the language stay, other words, numbers and texts are one token
// of their kind, comments and white space are none. Each run of 20 tokens has a digest; of every 13
// of these that follow each other the least is kept, a mark: so whatever two sources share of 32
// tokens gives both the same mark ("winnowing": Schleimer, Wilkerson and Aiken 2003, section 3).
#pragma once

#include "base/paths.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

/// A submission's marks, and the files that they are in.
struct Fingerprints {
  struct Mark {
    std::uint64_t digest = 0;
    std::uint32_t file = 0;
  };
  std::string submission;
  std::vector<std::string> files;
  std::vector<Mark> marks;
  bool is_cut = false;                    // there is more than is looked at
  std::set<std::string> no_sources = {};  // endings of files that are not read: ".ipynb"
};

/// Whether a file of that name is read: C, C++, CUDA and Python.
bool is_source(const fs::path& name);

void add_source(Fingerprints& marks, const std::string& file, std::string_view text);

/// Of all sources that a submission's snapshot would have: of a file the first MiB and 20,000
/// marks, of all of them the first 200,000. Throws what look_at_snapshot() throws.
Fingerprints fingerprints_of(const std::string& submission, const fs::path& path);

/// Two submissions, and the files of theirs that share the most.
struct Alike {
  std::string one, other;
  double share = 0;       // of the smaller one's marks, 0 to 1
  std::size_t marks = 0;  // that they share
  std::vector<std::pair<std::string, std::string>> files;
};

struct Likenesses {
  std::vector<Alike> pairs;            // the largest share first
  std::vector<std::string> too_short;  // submissions with too little code of their own to compare
};

/// Pairs with at least that share. What was given to everybody does not count, nor what more than
/// half of a class of eight or more has.
Likenesses alike(std::vector<Fingerprints> submissions, const std::vector<Fingerprints>& given,
                 double least);

}  // namespace prenorm::harness
