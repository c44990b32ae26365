// One call of a worker: its shared memory (arena.cpp), the buffers in it, and the connection
// (call.cpp).
#pragma once

#include "base/process.hpp"
#include "fixture/tensor.hpp"
#include "solution/solution.hpp"
#include "worker/device.hpp"
#include "worker/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace prenorm::harness {

// The memory of a call is shared by the judging program, which fills and checks it, and the worker,
// which passes it to the solution. It is new for each call, so nothing survives from one to the
// next.
//
// Each buffer (a tensor, the message) has its own pages. On the worker's side, where the
// solution runs, unmapped pages surround them:
//
//     | guard ... | canary | data | canary | guard ... | canary | data | canary | guard ... |
//                          ^ aligned to 256 bytes   ^ end of a page
//
// An access to a guard page is a SIGSEGV, whose address tells which buffer was overrun and by
// how far; a smaller step changes a canary.

/// Places buffers of those sizes in random order at random distances.
Layout lay_out(std::span<const std::size_t> sizes, std::mt19937_64& random);

/// The nearest buffer to an address, given as an offset in the stretch: "12 bytes past the end".
struct Nearest {
  std::size_t region = 0;
  std::string where;
};
Nearest nearest(const Layout& layout, std::uint64_t offset);

/// The judging program's side: all pages, without guards between them.
class Arena {
 public:
  /// Throws std::bad_alloc.
  Arena(Layout layout, std::mt19937_64& random);
  ~Arena();
  Arena(Arena&&) = delete;  // nor copied

  const Layout& layout() const { return layout_; }
  /// Descriptor of the shared memory, whose size is fixed; owned by the arena.
  int descriptor() const { return descriptor_; }
  std::byte* data(std::size_t region) const;

  /// Which canary was overwritten: "4 bytes past the end"; empty if none.
  std::string damage(std::size_t region) const;

 private:
  Layout layout_;
  std::vector<std::uint64_t> seeds_;  // of the canaries, one per region
  int descriptor_ = -1;
  std::byte* memory_ = nullptr;
};

/// The initial content of outputs: for a floating type a signaling NaN with random digits, which no
/// arithmetic produces (it makes NaNs quiet); for other types, values that look like any answer.
class Poison {
 public:
  Poison(DType dtype, std::mt19937_64& random);

  void fill(std::byte* data, std::size_t bytes, std::mt19937_64& random) const;
  /// The first element that still has it; -1 for none.
  std::int64_t find(const std::byte* data, std::int64_t elements) const;

 private:
  DType dtype_;
  std::uint64_t pattern_ = 0;
};

/// The buffers of one call: filled before it, checked after it. Only the function's use of them is
/// judged here; compare judges the numbers.
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
  struct Change {
    std::size_t input = 0;
    std::string message;
  };
  /// The first change of an input.
  std::optional<Change> changed_input() const;
  std::string error_message() const;
  void take_outputs(Outcome& outcome) const;

  const Call& call_;
  protocol::CallMessage message_;
  std::vector<std::string> names_;  // of the regions, in order: "input x"
  std::optional<Arena> arena_;
  std::vector<Poison> poisons_;  // of the outputs
};

/// The worker sent a fault message instead of an answer.
struct Faulted {
  protocol::Fault fault;
};

/// The connection to a worker process: one message out, one in.
class WorkerConnection {
 public:
  /// `belongings` are released when the process has ended.
  WorkerConnection(const Process::Command& worker, std::shared_ptr<const void> belongings)
      : belongings_(std::move(belongings)), process_(worker) {}

  /// False if the process has ended since its last answer, or has sent something unasked, which
  /// would be taken for the answer to another call.
  bool alive() const;

  /// Sends and waits that long for the answer's payload, which must be of one of two kinds.
  ///
  /// Throws Faulted, protocol::Malformed, and the exceptions of Process.
  std::pair<protocol::Kind, std::string> ask(const std::string& message, int descriptor,
                                             double seconds, double clock_factor);

  double processor_seconds() const { return process_.processor_seconds(); }

  /// The end of what the process has printed since this was last called, safe to show. Without
  /// standard error where a message has it already: that of a process that ended.
  std::string take_printed(bool error_is_told = false);

 private:
  std::shared_ptr<const void> belongings_;
  Process process_;
};

}  // namespace prenorm::harness
