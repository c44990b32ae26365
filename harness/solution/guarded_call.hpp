// The buffers of one call: filled before it, checked after it. Only the function's use of them
// is judged here; compare judges the numbers.
#pragma once

#include "solution/solution.hpp"
#include "worker/protocol.hpp"

namespace prenorm::harness {

class GuardedCall {
 public:
  /// Copies the inputs, poisons the outputs, sets the canaries. Throws std::bad_alloc.
  GuardedCall(const Call& call, std::uint64_t number, std::mt19937_64& random);

  const protocol::CallMessage& message() const { return message_; }
  const Arena& arena() const { return *arena_; }

  /// After the call: canaries, inputs, what was returned, unwritten elements, in this order.
  Outcome judge(const protocol::Returned& answer) const;
  /// After a fault.
  Outcome judge(const protocol::Fault& fault) const;

 private:
  std::string damaged() const;
  std::string finding_of(const protocol::Returned& answer) const;
  std::string changed_input() const;
  std::string error_message() const;
  void take_outputs(Outcome& outcome) const;

  const Call& call_;
  protocol::CallMessage message_;
  std::vector<std::string> names_;  // of the regions, in order: "input x"
  std::optional<Arena> arena_;
  std::vector<Poison> poisons_;  // of the outputs
};

}  // namespace prenorm::harness
