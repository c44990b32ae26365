// A failing case as a few lines of PyTorch, to be run beside adapters.py and without this program.
#pragma once

#include "base/json.hpp"
#include "fixture/verdict.hpp"
#include "grade/adapters.hpp"

namespace prenorm::harness {

/// Of one submission; threads may share it.
class Snippets {
 public:
  explicit Snippets(const Adapters& adapters);

  /// At most 8 lines: the inputs inlined where they are small, else loaded from a file that the
  /// first line says how to make; the call as the adapters make it; and what is expected. Empty for
  /// a problem without a function, for a case that must be refused, and where the call's batch axes
  /// are folded into one. `stored` is the case as the file has it, without what every call is
  /// given.
  std::string of(const std::string& problem, const Signature& signature, const LoadedCase& loaded,
                 const Case& stored, const Result& result) const;

 private:
  Json functions_;  // by problem: the adapters' rules
};

}  // namespace prenorm::harness
