// Which Python function solves which problem, and how its arguments are made of a call's: data
// beside the rubrics (fixtures/rubrics/adapters-*.toml; fixtures/rubrics/README.md tells the
// format).
#pragma once

#include "fixture/fixture.hpp"
#include "fixture/verdict.hpp"
#include "base/json.hpp"

#include <map>
#include <string>
#include <vector>

namespace prenorm::harness {

class Adapters {
 public:
  /// No problem has one.
  Adapters() = default;
  /// Reads the file; `signatures` are those of the problems, as text. A problem that is not among
  /// them is left out. Throws std::invalid_argument that names the file, the problem and what is
  /// wrong: a name that the signature has not.
  Adapters(const fs::path& file, const std::map<std::string, std::string>& signatures);

  /// For the Python worker: the functions, with places in the call for names. JSON.
  const std::string& json() const { return json_; }
  bool empty() const { return json_.empty(); }

  /// The name of the problem's function; empty where it has none.
  std::string function(const std::string& problem) const;

  /// Why a case cannot be put to the problem's function, which has no argument for something in
  /// it: "run_x has no argument for eps, which is 0.1 here and not 1e-05"; or nothing. No fault of
  /// the submission's: such a case is neither run nor counted.
  std::string cannot_ask(const std::string& problem, const Case& info) const;

  /// Gives the case what the function's callers always give and the case leaves out: the numbers
  /// 0, 1, ... for an absent optional tensor of integers, with a batch axis of 1 where the call has
  /// batch axes. Not where it is the case's point that the tensor is absent.
  void give(const std::string& problem, LoadedCase& loaded) const;

 private:
  /// A function without an argument for a scalar takes one value for it.
  struct Only {
    std::string name;
    std::size_t scalar = 0;
    Scalar value;
  };
  /// A tensor's rows are handed over in as many blocks as the scalar says.
  struct Blocks {
    std::size_t input = 0, scalar = 0;
  };
  /// An absent tensor [..., size], which is given as 0, 1, ...
  struct Counted {
    std::size_t input = 0;
    std::string size;  // a dimension's name
  };
  struct Function {
    std::string name;
    std::vector<Only> only;
    std::vector<Blocks> blocks;
    std::vector<Counted> counted;
    std::vector<std::string> absent;  // globs of cases whose point it is that it is absent
  };
  class FunctionReader;

  std::map<std::string, Function> functions_;  // by problem
  std::string json_;
};

/// A failing case as a few lines of PyTorch or NumPy, to be run beside adapters.py and without this
/// program. Of one submission; threads may share it.
class Snippets {
 public:
  Snippets(const Adapters& adapters, bool numpy);

  /// At most 8 lines: the inputs inlined where they are small, else loaded from a file that the
  /// first line says how to make; the call as the adapters make it; and what is expected. Empty for
  /// a problem without a function, for a case that must be refused, and where the call's batch axes
  /// are folded into one; in NumPy, of bfloat16. `stored` is the case as the file has it, without
  /// what every call is given.
  std::string of(const std::string& problem, const Signature& signature, const LoadedCase& loaded,
                 const Case& stored, const Result& result) const;

 private:
  bool numpy_;
  Json functions_;  // by problem: the adapters' rules
};

}  // namespace prenorm::harness
