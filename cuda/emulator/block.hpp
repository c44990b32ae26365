// A block of a kernel and its threads, as the emulator runs them: block.cpp has the turns and the
// barriers, warp.cpp the operations of warps and the asynchronous copies, launch.cpp the launches.
#pragma once

#include "emulator.hpp"
#include "sanitizers.hpp"

#include <atomic>
#include <barrier>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace prenorm::emulator {

using boost::context::fiber;
using boost::context::stack_context;

// AddressSanitizer's frames are several times larger: what has arrays is in none where threads
// wait.
#if defined(__SANITIZE_ADDRESS__)
#define PRENORM_APART __attribute__((noinline))
constexpr std::size_t stack_bytes = 512 << 10;
#else
#define PRENORM_APART
constexpr std::size_t stack_bytes = 128 << 10;
#endif
constexpr int warp_size = 32;
constexpr unsigned most_threads = 1024;

/// Stacks with a guard page below, kept for the next fiber: mapping one takes longer than running a
/// block.
class Stacks {
 public:
  /// Reserved now: memory that one CUDA thread allocates and another frees looks like a race.
  Stacks() { free_.reserve(1); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  stack_context allocate() {
    if (free_.empty()) return boost::context::protected_fixedsize_stack(stack_bytes).allocate();
    const stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void deallocate(stack_context& stack) { free_.push_back(stack); }
  ~Stacks() {
    for (stack_context& stack : free_) {
      boost::context::protected_fixedsize_stack(stack_bytes).deallocate(stack);
    }
  }

 private:
  std::vector<stack_context> free_;
};

/// Where a fiber returns its stack.
struct StackReturn {
  Stacks* stacks;
  void deallocate(stack_context& stack) { stacks->deallocate(stack); }
};

/// Thrown in waiting threads when their block has failed, so that their objects are destroyed.
struct Abandoned {};

/// "(3, 0, 0)", for messages.
std::string to_text(const auto& v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

inline std::string described(const Place& place, const void* code) {
  return describe_place == nullptr ? "" : describe_place(place, code);
}

enum class State { fresh, ready, running, at_barrier, in_warp, gathering, returned };

/// One CUDA thread.
struct Thread {
  uint3 index{};
  State state = State::fresh;
  fiber context;  // while it waits
  Stack stack;    // of that
  RaceFiber race;
  Stacks own_stacks;      // for ThreadSanitizer: a stack shared by threads would be a race
  bool gave_way = false;  // it waits where nothing may be thrown
  // The warp operation that it waits in, or began last; where that or the barrier stands.
  const char* word = "";
  Place here;
  unsigned mask = 0;
  int source = 0;
  std::uint64_t bits = 0;  // its operand, then its result
  Combine combine = nullptr;
  void* operand = nullptr;
  // Copies that it has begun, in order; the first of those not yet made; groups it has committed.
  std::vector<std::pair<AsyncCopy, int>> copies;  // with their groups
  std::size_t copies_made = 0;
  int groups = 0;
};

struct Warp {
  unsigned waiting = 0;  // lanes in a warp operation
  unsigned running = 0;  // lanes that have not returned
};

/// Bytes beside a block's dynamic shared memory.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t around_shared = 0;
#else
inline constexpr std::size_t around_shared = 4096;
#endif

class Block;

/// The blocks of a cluster, or of a cooperative launch, which run at the same time, each on its own
/// thread of the machine.
class Cluster {
 public:
  explicit Cluster(unsigned blocks) : barrier_(blocks, Passed{this}), blocks_(blocks) {}

  /// Waits until the shared memory of all blocks is there; false if one of them cannot begin.
  bool begin(unsigned rank, Block* block) {
    blocks_[rank] = block;
    wait();
    return complete_;
  }
  /// In place of begin(): the others do not wait for this block.
  void cannot_begin() {
    complete_ = false;
    barrier_.arrive_and_drop();
  }
  /// How many blocks had returned when the others met.
  unsigned wait() {
    barrier_.arrive_and_wait();
    return absent_;
  }
  void end(unsigned rank, bool failed) {
    if (failed) failed_ = true;
    blocks_[rank] = nullptr;
    ++ended_;
    barrier_.arrive_and_drop();
  }
  bool failed() const { return failed_; }
  /// Null once it has returned.
  Block* block(unsigned rank) const { return blocks_[rank]; }

 private:
  struct Passed {
    Cluster* cluster;
    void operator()() const noexcept { cluster->absent_ = cluster->ended_.load(); }
  };
  std::atomic<unsigned> ended_ = 0;
  std::atomic<bool> failed_ = false;  // one of them
  unsigned absent_ = 0;               // of ended_, since the last time that they met
  std::barrier<Passed> barrier_;
  std::vector<std::atomic<Block*>> blocks_;
  std::atomic<bool> complete_ = true;
};

/// What a block that waits for others asks of its launch.
class Others {
 public:
  virtual ~Others() = default;
  /// Lets other blocks run for a moment. Never: none can, and has not for long. Over: one has
  /// failed.
  enum class Turn { again, never, over };
  virtual Turn have_turns() = 0;
  /// The block that asks does not wait any more.
  virtual void go_on() = 0;
};

/// Runs the blocks of a launch, one after the other, on one thread of the machine.
class Block {
 public:
  /// As block `index`, and where there is a cluster as one of its blocks.
  void run(const Launch& launch, uint3 index, const std::function<void()>& body, Others& others,
           Cluster* cluster = nullptr);

  // Called by the running thread.
  Votes barrier(bool predicate, const Place& here) { return meet(predicate, here, true); }
  std::uint64_t warp_operation(const char* word, unsigned mask, std::uint64_t bits, int source,
                               const Place& here);
  void cluster_barrier(const Place& here = {});
  void grid_barrier(const Place& here);
  bool cooperative() const { return launch_->cooperative; }
  std::byte* cluster_peer(std::byte* own, unsigned rank) const;
  void collective(const char* word, void* operand, Combine combine, const Place& here);
  unsigned converged_lanes(const char* word, const Place& here);
  void begin_copy(const AsyncCopy& copy);
  void commit_copies() { ++threads_[current_].groups; }
  bool next_copy(int groups_left, AsyncCopy* copy);
  int lane() const { return static_cast<int>(current_ % warp_size); }
  std::byte* shared() const { return shared_.get() + around_shared; }
  const char* kernel() const { return launch_->kernel; }
  std::string where() const { return where(current_); }
  void record(const std::string& what, const void* code, KernelError::Kind kind) {
    if (failure_) return;
    failure_ =
        std::make_exception_ptr(KernelError(where() + ": " + what + described({}, code), kind));
  }
  [[noreturn]] void leave();
  void on_read_again(const void* at, const void* code);
  void on_change() {
    reads_ = all_reads_ = 0;
    gave_way_ = 0;
  }

 private:
  std::string where(std::size_t thread) const {
    return "kernel " + std::string(launch_->kernel) + ", block " + to_text(blockIdx) + ", thread " +
           to_text(threads_[thread].index);
  }
  [[noreturn]] void fail(std::size_t thread, const std::string& what) const {
    throw KernelError(where(thread) + ": " + what + described(threads_[thread].here, nullptr));
  }

  void prepare(const Launch& launch, uint3 index);
  void run_threads(const std::function<void()>& body);
  void turns(const std::function<void()>& body);
  fiber run_fresh_threads(const std::function<void()>& body);
  void run_to_its_end(std::size_t thread, const std::function<void()>& body);
  void become(std::size_t thread);
  std::size_t next_ready();
  void give_turn(std::size_t thread);
  void go_to(fiber&& context, const Stack& stack);
  void wait();
  void give_way(const void* code, bool waits);
  Votes meet(bool predicate, const Place& here, bool counted);
  void make_ready(std::size_t thread);
  void synchronize(auto each, void* at);
  PRENORM_APART void complete_warp_operation(std::size_t warp, const Thread& example);
  void check_operation(std::size_t thread, unsigned lanes) const;
  void enter_warp_operation(const char* word, unsigned mask);
  unsigned gathered_with(std::size_t thread) const;
  void release_gathered();
  void check_copies() const;
  [[noreturn]] void report_other_barrier() const;
  [[noreturn]] void report_stuck() const;
  std::string what_it_does(const Thread& thread) const;

  const Launch* launch_ = nullptr;
  Cluster* cluster_ = nullptr;
  unsigned absent_ = 0;  // blocks, when it last met those of its cluster
  Others* others_ = nullptr;
  bool waits_for_others_ = false;
  std::vector<Thread> threads_ = std::vector<Thread>(most_threads);
  std::vector<Warp> warps_;
  dim3 shape_{0, 0, 0};                // of the block that threads_ are numbered for
  std::size_t size_ = 0;               // threads of a block
  std::size_t current_ = 0;            // the thread whose turn it is
  uint3* index_of_running_ = nullptr;  // threadIdx, looked up once: it is thread-local
  std::size_t fresh_ = 0;              // the first thread that has not begun
  std::size_t returned_ = 0;
  // The threads that may go on, the next one last: a warp goes on as far as it can before the next
  // warp does, so that its stacks stay in the cache. It does not grow while threads run, as freed
  // memory would look like a race.
  std::vector<std::size_t> ready_;
  std::size_t turns_ = 0;
  std::size_t at_barrier_ = 0;
  Place barrier_place_;  // where those stand
  std::size_t gathering_ = 0;
  unsigned votes_ = 0;
  // What the running thread reads again and again, how often, and how often it read such things.
  const void *read_ = nullptr, *read_before_ = nullptr;
  unsigned reads_ = 0, all_reads_ = 0;
  std::size_t gave_way_ = 0;  // turns that were given away since any thread got on
  bool wants_fresh_ = false;
  char begin_ = 0, barrier_ = 0, end_ = 0;  // their addresses for ThreadSanitizer

  Stacks stacks_;
  fiber scheduler_;  // while a thread runs
  RaceFiber scheduler_race_;
  Stack scheduler_stack_, running_stack_;
  fiber* leaving_ = nullptr;  // where the context that is left is stored
  bool abandoned_ = false;
  std::exception_ptr failure_;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  // For AddressSanitizer of exactly the size asked for; else with room of nobody's on both sides.
  std::unique_ptr<std::byte, Free> shared_;
  std::size_t shared_bytes_ = 0;
};

/// Tells ThreadSanitizer that all of these threads now see what any of them did before. Called when
/// the last has arrived and none has gone on: a thread that runs ahead must not seem synchronized
/// with those that have not arrived.
void Block::synchronize(auto each, void* at) {
  if constexpr (!RaceFiber::used) return;
  each([&](std::size_t i) {
    threads_[i].race.enter();
    RaceFiber::release(at);
  });
  each([&](std::size_t i) {
    threads_[i].race.enter();
    RaceFiber::acquire(at);
  });
  threads_[current_].race.enter();
}

/// The block that this thread of the machine runs; null outside of a launch.
extern constinit thread_local Block* current_block;

}  // namespace prenorm::emulator
