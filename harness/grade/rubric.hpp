// A rubric: what is graded, for how many points. TOML; fixtures/rubrics/README.md describes the
// format.
#pragma once

#include "fixture/fixture.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Some of an item's cases. Its share of the points is earned where all of them pass.
struct RubricGroup {
  std::string name;                   // "float32", "far positions"
  std::int64_t share = 1;             // of the item's points, against the other groups' shares
  bool hidden = true;                 // secret redraws of its cases count as they do
  std::vector<std::string> problems;  // globs; empty: every one of the item
  std::vector<std::string> dtypes;    // empty: every one
  std::vector<std::string> cases;     // globs; empty: every one
  std::vector<std::string> except;    // globs
  bool errors = false;                // cases that must be refused belong to it too
  bool deterministic = false;         // a case counts only if two calls give the same bits
  /// A case counts only where its error is at most so many times the derived tolerance, whatever
  /// the item's atol and rtol are. 0: by these.
  double within = 0;
  /// Globs of known mistakes, "rope/float32_*", whose deviation from the truth is allowed.
  std::vector<std::string> accepts;

  /// Whether that case of that problem belongs to it.
  bool has(const std::string& problem, const Case& info) const;
};

/// One line of the gradebook.
struct RubricItem {
  std::string name;                   // "positionwise_feedforward"
  std::vector<std::string> problems;  // one or more, of no other item
  double points = 0;
  std::vector<RubricGroup> groups;  // its own, or the rubric's
  bool own_groups = false;
  /// The bound of a course's own tests: that of an element is at least so large, but in groups
  /// that have `within`.
  double atol = 0, rtol = 0;

  bool has(const std::string& problem) const { return std::ranges::count(problems, problem) > 0; }
};

struct Rubric {
  std::string name;                    // "cs336-2025"
  std::string title;                   // one line for people
  std::string adapters;                // file of the adapters beside it; empty: none
  std::vector<std::string> forbidden;  // globs of symbols and libraries that none may import
  /// Globs of torch's functions, "torch.nn.functional.*", whose calls are reported.
  std::vector<std::string> forbidden_calls;
  bool forbidden_calls_earn = true;  // false: an item that makes one earns nothing
  bool round_float64 = false;        // results in float64 count as float32: is_taken()
  bool inputs_may_change = false;    // a function may overwrite its inputs
  bool require_kernel = false;       // a function that launches no kernel fails
  std::vector<RubricItem> items;
  fs::path path;
};

/// Whether a result of that type counts where another is wanted.
bool is_taken(const Rubric& rubric, DType given, DType wanted);

/// Reads a rubric: a file (a word with a '/' or that ends in .toml), or the name of a shipped one.
/// Throws std::invalid_argument, which names the file, the item and what is wrong, with the nearest
/// name.
Rubric read_rubric(const std::string& word);

/// The shipped ones' names, sorted.
std::vector<std::string> shipped_rubrics();

}  // namespace prenorm::harness
