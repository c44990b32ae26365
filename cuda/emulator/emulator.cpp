#include "emulator.hpp"

#include "checker.hpp"
#include "sanitizers.hpp"

#include <algorithm>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim{}, gridDim{};

namespace prenorm::emulator {
namespace {

using boost::context::fiber;
using boost::context::stack_context;

// AddressSanitizer's frames are several times larger.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t stack_bytes = 512 << 10;
#else
constexpr std::size_t stack_bytes = 128 << 10;
#endif
constexpr int warp_size = 32;
constexpr unsigned most_threads = 1024;
// As sm_86 and sm_89 have it, the smallest of our targets; sm_80 has 163 KiB, sm_90 227.
constexpr std::size_t most_shared_bytes = 99 << 10;

/// Stacks with a guard page below, kept for the next fiber: mapping one takes longer than a block.
class Stacks {
 public:
  /// Room at once: what a CUDA thread allocates, and others free, looks like a race.
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

/// What a fiber gives its stack back to.
struct StackReturn {
  Stacks* stacks;
  void deallocate(stack_context& stack) { stacks->deallocate(stack); }
};

/// Thrown in threads that wait when their block has failed, so that what they hold is freed.
struct Abandoned {};

std::string to_text(const auto& v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

enum class State { fresh, ready, running, at_barrier, in_warp, returned };

/// One CUDA thread.
struct Thread {
  uint3 index{};
  State state = State::fresh;
  fiber context;  // while it waits
  Stack stack;    // of that
  RaceFiber race;
  Stacks own_stacks;  // where races are looked for: a stack that threads share would be one
  // The warp operation that it waits in.
  const char* word = "";
  unsigned mask = 0;
  int source = 0;
  std::uint64_t bits = 0;  // given; then what comes of it
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

/// Runs blocks, one after the other, on one thread of the machine.
class Block {
 public:
  void run(const Launch& launch, uint3 index, const std::function<void()>& body);

  // What the running thread asks for.
  Votes barrier(bool predicate);
  std::uint64_t warp_operation(const char* word, unsigned mask, std::uint64_t bits, int source);
  void collective(const char* word, void* operand, Combine combine);
  void begin_copy(const AsyncCopy& copy);
  void commit_copies() { ++threads_[current_].groups; }
  bool next_copy(int groups_left, AsyncCopy* copy);
  int lane() const { return static_cast<int>(current_ % warp_size); }
  unsigned running_lanes() const { return warps_[current_ / warp_size].running; }
  std::byte* shared() const { return shared_.get(); }
  std::string where() const { return where(current_); }
  void record(const std::string& what) {
    if (!failure_) failure_ = std::make_exception_ptr(KernelError(where() + ": " + what));
  }

 private:
  std::string where(std::size_t thread) const {
    return "kernel " + std::string(launch_->kernel) + ", block " + to_text(blockIdx) + ", thread " +
           to_text(threads_[thread].index);
  }
  [[noreturn]] void fail(std::size_t thread, const std::string& what) const {
    throw KernelError(where(thread) + ": " + what);
  }

  void prepare(const Launch& launch, uint3 index);
  void turns(const std::function<void()>& body);
  fiber run_fresh_threads(const std::function<void()>& body);
  void run_to_its_end(std::size_t thread, const std::function<void()>& body);
  void become(std::size_t thread);
  std::size_t next_ready();
  void give_turn(std::size_t thread);
  void go_to(fiber&& context, const Stack& stack);
  void wait();
  void make_ready(std::size_t thread);
  void synchronize(auto each, void* at);
  void complete_warp_operation(std::size_t warp, const Thread& example);
  void check_operation(std::size_t thread, unsigned lanes) const;
  void enter_warp_operation(const char* word, unsigned mask);
  void check_copies() const;
  [[noreturn]] void report_stuck() const;
  std::string what_it_does(const Thread& thread) const;

  const Launch* launch_ = nullptr;
  std::vector<Thread> threads_ = std::vector<Thread>(most_threads);
  std::vector<Warp> warps_;
  dim3 shape_{0, 0, 0};      // of the block that threads_ are numbered for
  std::size_t size_ = 0;     // threads of a block
  std::size_t current_ = 0;  // the thread whose turn it is
  std::size_t fresh_ = 0;    // the first thread that has not begun
  std::size_t returned_ = 0;
  // A ring: threads that may go on. It never grows while threads run, for memory that is freed on
  // the way looks like a race.
  std::vector<std::size_t> ready_;
  std::size_t ready_first_ = 0, ready_count_ = 0;
  std::size_t at_barrier_ = 0;
  unsigned votes_ = 0;
  char begin_ = 0, barrier_ = 0, end_ = 0;  // what ThreadSanitizer knows them by

  Stacks stacks_;
  fiber scheduler_;  // while a thread runs
  RaceFiber scheduler_race_;
  Stack scheduler_stack_, running_stack_;
  fiber* leaving_ = nullptr;  // where the context that is being left is kept
  bool abandoned_ = false;
  std::exception_ptr failure_;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> shared_;  // of exactly the size asked for, so that a step beyond
  std::size_t shared_bytes_ = 0;             // it is one that AddressSanitizer sees
};

constinit thread_local Block* block = nullptr;  // that this thread of the machine runs

Block& running_block(const char* word) {
  if (block == nullptr) throw KernelError(std::string(word) + " outside of a kernel");
  return *block;
}

void Block::prepare(const Launch& launch, uint3 index) {
  launch_ = &launch;
  blockIdx = index;
  blockDim = launch.block;
  gridDim = launch.grid;
  const dim3 shape = launch.block;
  if (shape.x != shape_.x || shape.y != shape_.y || shape.z != shape_.z) {
    shape_ = shape;
    size_ = std::size_t{shape.x} * shape.y * shape.z;
    for (unsigned i = 0; i < size_; ++i) {
      threads_[i].index = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
    }
  }
  warps_.assign((size_ + warp_size - 1) / warp_size, Warp{});
  for (std::size_t i = 0; i < size_; ++i) {
    threads_[i].state = State::fresh;
    threads_[i].copies.clear();
    threads_[i].copies_made = 0;
    threads_[i].groups = 0;
    warps_[i / warp_size].running |= 1u << i % warp_size;
    if constexpr (RaceFiber::used) {
      // It keeps 63 letters.
      const std::string name = "thread " + to_text(threads_[i].index) + ", block " +
                               to_text(blockIdx) + ", kernel " + launch.kernel;
      threads_[i].race.name(name.c_str());
    }
  }
  fresh_ = returned_ = at_barrier_ = 0;
  votes_ = 0;
  ready_.resize(size_);
  ready_first_ = ready_count_ = 0;
  abandoned_ = false;
  failure_ = nullptr;
  if (!shared_ || shared_bytes_ != launch.shared_bytes) {
    shared_bytes_ = launch.shared_bytes;
    const std::size_t bytes = std::max<std::size_t>(16, shared_bytes_);
    void* memory = nullptr;
    if (::posix_memalign(&memory, 256, bytes) != 0) throw std::bad_alloc();
    shared_.reset(static_cast<std::byte*>(memory));
  }
  checker::begin_block(shared_.get(), shared_bytes_);
}

void Block::run(const Launch& launch, uint3 index, const std::function<void()>& body) {
  prepare(launch, index);
  block = this;
  scheduler_race_.remember_this();
  RaceFiber::release(&begin_);
  try {
    turns(body);
  } catch (...) {
    failure_ = std::current_exception();
  }
  abandoned_ = true;
  for (std::size_t i = 0; i < size_; ++i) {
    if (threads_[i].context) give_turn(i);
  }
  RaceFiber::acquire(&end_);
  block = nullptr;
  checker::end_block();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

/// The scheduler: begins threads, and gives turns until all have returned. Threads that wait pass
/// their turn on among themselves as long as one is ready, so that it is asked seldom.
void Block::turns(const std::function<void()>& body) {
  while (returned_ < size_ && !failure_) {
    if (ready_count_ > 0) {
      give_turn(next_ready());
    } else if (fresh_ < size_) {
      Stacks& stacks = RaceFiber::used ? threads_[fresh_].own_stacks : stacks_;
      const stack_context stack = stacks.allocate();
      const Stack extent{static_cast<std::byte*>(stack.sp) - stack.size, stack.size};
      leaving_ = &scheduler_;
      go_to(fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                  StackReturn{&stacks},
                  [this, &body](fiber&& left) {
                    arrive_on_stack(nullptr, &scheduler_stack_);
                    *leaving_ = std::move(left);
                    return run_fresh_threads(body);
                  }),
            extent);
      scheduler_race_.enter();
    } else {
      report_stuck();
    }
  }
}

std::size_t Block::next_ready() {
  const std::size_t thread = ready_[ready_first_];
  if (++ready_first_ == size_) ready_first_ = 0;
  --ready_count_;
  return thread;
}

/// By the scheduler: lets a thread that has waited go on.
void Block::give_turn(std::size_t thread) {
  leaving_ = &scheduler_;
  become(thread);
  go_to(std::move(threads_[thread].context), threads_[thread].stack);
  scheduler_race_.enter();
}

/// Goes over to another context, and is back when that, or a third one, comes here.
void Block::go_to(fiber&& context, const Stack& stack) {
  running_stack_ = stack;
  void* kept = nullptr;
  leave_stack(&kept, stack);
  fiber left = std::move(context).resume();
  arrive_on_stack(kept, nullptr);
  if (left) *leaving_ = std::move(left);  // one that has ended leaves nothing
}

void Block::become(std::size_t thread) {
  current_ = thread;
  threadIdx = threads_[thread].index;
  threads_[thread].state = State::running;
  threads_[thread].race.enter();
}

/// A fiber runs thread after thread as long as none of them waits.
fiber Block::run_fresh_threads(const std::function<void()>& body) {
  do {
    run_to_its_end(fresh_++, body);
    RaceFiber::release(&end_);
  } while (fresh_ < size_ && !failure_ && !RaceFiber::used);
  leave_stack(nullptr, scheduler_stack_);
  return std::move(scheduler_);
}

void Block::run_to_its_end(std::size_t thread, const std::function<void()>& body) {
  become(thread);
  RaceFiber::acquire(&begin_);
  try {
    body();
    check_copies();
  } catch (const Abandoned&) {
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_) return;
  threads_[thread].state = State::returned;
  ++returned_;
  Warp& warp = warps_[thread / warp_size];
  warp.running &= ~(1u << thread % warp_size);
  try {
    // Those of its warp may have waited for no one else.
    for (unsigned lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(__builtin_ctz(lanes));
      const Thread& waiting = threads_[thread / warp_size * warp_size + lane];
      if (waiting.state == State::in_warp) complete_warp_operation(thread / warp_size, waiting);
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
}

/// Lets others have their turns until this thread is ready again.
void Block::wait() {
  Thread& self = threads_[current_];
  self.stack = running_stack_;
  leaving_ = &self.context;
  if (ready_count_ > 0 && !failure_) {
    Thread& next = threads_[next_ready()];
    become(static_cast<std::size_t>(&next - threads_.data()));
    go_to(std::move(next.context), next.stack);
  } else {
    go_to(std::move(scheduler_), scheduler_stack_);
  }
  if (abandoned_) throw Abandoned();
}

Votes Block::barrier(bool predicate) {
  Thread& self = threads_[current_];
  self.state = State::at_barrier;
  votes_ += predicate ? 1 : 0;
  if (++at_barrier_ == size_) {
    const auto each = [this](auto visit) {
      for (std::size_t i = 0; i < size_; ++i) visit(i);
    };
    synchronize(each, &barrier_);
    each([this](std::size_t i) {
      threads_[i].bits = votes_;
      make_ready(i);
    });
    votes_ = 0;
    at_barrier_ = 0;
  } else {
    wait();
  }
  return {static_cast<int>(self.bits), static_cast<int>(size_)};
}

std::uint64_t Block::warp_operation(const char* word, unsigned mask, std::uint64_t bits,
                                    int source) {
  Thread& self = threads_[current_];
  self.bits = bits;
  self.source = source;
  self.combine = nullptr;
  enter_warp_operation(word, mask);
  return self.bits;
}

void Block::collective(const char* word, void* operand, Combine combine) {
  Thread& self = threads_[current_];
  self.operand = operand;
  self.combine = combine;
  enter_warp_operation(word, 0xffffffffu);
}

void Block::enter_warp_operation(const char* word, unsigned mask) {
  Thread& self = threads_[current_];
  const unsigned own = 1u << lane();
  if ((mask & own) == 0) {
    fail(current_, std::string(word) + ": the thread is lane " + std::to_string(lane()) +
                       ", which its mask leaves out");
  }
  self.word = word;
  self.mask = mask;
  self.state = State::in_warp;
  warps_[current_ / warp_size].waiting |= own;
  complete_warp_operation(current_ / warp_size, self);
  if (self.state == State::in_warp) wait();
}

/// To ThreadSanitizer: what any of these threads did before, all of them see from now on. Said when
/// the last has come and none has gone on; a thread that runs ahead must not seem in order with
/// those that are still on their way.
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

/// The thread may go on. One whose turn it is just does.
void Block::make_ready(std::size_t thread) {
  const bool has_its_turn = thread == current_;
  threads_[thread].state = has_its_turn ? State::running : State::ready;
  if (has_its_turn) return;
  ready_[(ready_first_ + ready_count_) % size_] = thread;
  ++ready_count_;
}

/// Completes the operation that `example` waits in, if all lanes that it needs are there.
void Block::complete_warp_operation(std::size_t warp_index, const Thread& example) {
  Warp& warp = warps_[warp_index];
  const unsigned lanes = example.mask & warp.running;  // one that has returned is not waited for
  if ((warp.waiting & lanes) != lanes) return;
  const std::size_t first = warp_index * warp_size;
  const auto each = [lanes, first](auto visit) {
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      visit(first + static_cast<std::size_t>(__builtin_ctz(rest)));
    }
  };
  bool together = true;
  each([&](std::size_t i) { together = together && threads_[i].mask == example.mask; });
  if (!together) return;  // another group of lanes: it may yet come here
  const char* word = example.word;
  each([&](std::size_t i) {
    if (threads_[i].word != word && std::string_view(threads_[i].word) != word) {
      fail(i, std::string(threads_[i].word) + " meets " + word + " of another lane of its mask");
    }
    check_operation(i, lanes);
  });
  if (example.combine != nullptr) {
    void* operands[warp_size] = {};
    each([&](std::size_t i) { operands[i % warp_size] = threads_[i].operand; });
    example.combine(operands);
    each([this](std::size_t i) { make_ready(i); });
    warp.waiting &= ~lanes;
    return;
  }
  // Groups of a warp that go separate ways have different lowest lanes.
  synchronize(each, &threads_[first + static_cast<std::size_t>(__builtin_ctz(lanes))]);
  unsigned votes = 0;
  std::uint64_t given[warp_size];
  each([&](std::size_t i) {
    given[i % warp_size] = threads_[i].bits;
    if (threads_[i].bits != 0) votes |= 1u << i % warp_size;
  });
  each([&](std::size_t i) {
    Thread& thread = threads_[i];
    thread.bits = thread.source < 0 ? votes : given[thread.source];
    make_ready(i);
  });
  warp.waiting &= ~lanes;
}

/// A lane that takes no part has no value to give.
void Block::check_operation(std::size_t i, unsigned lanes) const {
  const Thread& thread = threads_[i];
  int source = thread.source;
  if (thread.combine != nullptr) source = ~lanes == 0 ? -1 : __builtin_ctz(~lanes);
  if (source < 0 || (lanes >> source & 1u) != 0) return;
  const std::size_t other = i / warp_size * warp_size + static_cast<std::size_t>(source);
  std::string why = "is not in its mask";
  if (other >= size_) why = "does not exist";
  if (other < size_ && threads_[other].state == State::returned) why = "has returned";
  fail(i, std::string(thread.word) + (thread.combine != nullptr ? " needs" : " reads") + " lane " +
              std::to_string(source) + ", which " + why);
}

void Block::begin_copy(const AsyncCopy& copy) {
  Thread& self = threads_[current_];
  self.copies.emplace_back(copy, self.groups);
  checker::forget(copy.to, sizeof(AsyncCopy::Bytes));
}

bool Block::next_copy(int groups_left, AsyncCopy* copy) {
  Thread& self = threads_[current_];
  if (self.copies_made == self.copies.size()) return false;
  const auto& [next, group] = self.copies[self.copies_made];
  if (group + groups_left >= self.groups) return false;
  *copy = next;
  if (++self.copies_made == self.copies.size()) {
    self.copies.clear();
    self.copies_made = 0;
  }
  return true;
}

/// By a thread that returns.
void Block::check_copies() const {
  const Thread& self = threads_[current_];
  const std::size_t left = self.copies.size() - self.copies_made;
  if (left > 0) {
    fail(current_, "returns with " + std::to_string(left) +
                       " copies by cp.async under way, for which it has not waited");
  }
}

std::string Block::what_it_does(const Thread& thread) const {
  switch (thread.state) {
    case State::returned: return "has returned";
    case State::at_barrier: return "waits at __syncthreads";
    case State::in_warp: return std::string("waits in ") + thread.word;
    default: return "runs";
  }
}

/// No thread can go on: says who waits for whom.
void Block::report_stuck() const {
  const auto begin = threads_.begin(), end = begin + static_cast<std::ptrdiff_t>(size_);
  const auto in_state = [](State state) {
    return [state](const Thread& thread) { return thread.state == state; };
  };
  // A warp operation first: threads at a barrier may wait for those in it.
  const auto stuck = std::find_if(begin, end, in_state(State::in_warp));
  if (stuck != end) {
    const auto i = static_cast<std::size_t>(stuck - begin);
    const std::size_t first = i / warp_size * warp_size;
    for (std::size_t other = first; other < std::min(size_, first + warp_size); ++other) {
      const Thread& absent = threads_[other];
      const bool named = (stuck->mask >> (other - first) & 1u) != 0;
      if (!named || (absent.state == State::in_warp && absent.mask == stuck->mask)) continue;
      fail(i, std::string(stuck->word) + " names lane " + std::to_string(other - first) +
                  ", which never takes part: it " + what_it_does(absent));
    }
  }
  const auto waiting = std::find_if(begin, end, in_state(State::at_barrier));
  const auto absent = std::find_if_not(begin, end, in_state(State::at_barrier));
  fail(static_cast<std::size_t>((waiting == end ? begin : waiting) - begin),
       "__syncthreads is reached by " + std::to_string(at_barrier_) + " of " +
           std::to_string(size_) + " threads: thread " + to_text(absent->index) + " " +
           what_it_does(*absent));
}

/// Blocks to run blocks with, kept from launch to launch with their stacks.
class Pool {
 public:
  std::unique_ptr<Block> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  void give_back(std::unique_ptr<Block> taken) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(taken));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> free_;
};

Pool& pool() {
  static Pool one;
  return one;
}

/// Cores to use: as many as OpenMP would, so that one setting serves the reference and this.
unsigned cores() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const int wanted = std::atoi(text);
    if (wanted > 0) return static_cast<unsigned>(wanted);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

/// For a sanitizer that has found something and ends the process.
void print_where() {
  if (block == nullptr) return;
  const std::string text = "prenorm: in " + where() + "\n";
  std::fputs(text.c_str(), stderr);
}

void check(const Launch& launch) {
  const auto refuse = [&launch](const std::string& why) {
    throw std::invalid_argument("kernel " + std::string(launch.kernel) + ": " + why);
  };
  const dim3 b = launch.block, g = launch.grid;
  const std::uint64_t threads = std::uint64_t{b.x} * b.y * b.z;
  if (threads == 0 || threads > most_threads || b.z > 64) {
    refuse("a block of " + to_text(b) + " threads; there may be 1024, 64 of them along z");
  }
  if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535) {
    refuse("a grid of " + to_text(g) + " blocks; there may be (2147483647, 65535, 65535)");
  }
  if (launch.shared_bytes > most_shared_bytes) {
    refuse(std::to_string(launch.shared_bytes) + " bytes of shared memory; there are " +
           std::to_string(most_shared_bytes));
  }
}

}  // namespace

void (*observe_launch)(const Launch& launch) = nullptr;

void run(const Launch& launch, const std::function<void()>& body) {
  if (block != nullptr) {
    throw KernelError(where() + ": launches kernel " + launch.kernel +
                      ", which no kernel may here");
  }
  check(launch);
  if (observe_launch != nullptr) observe_launch(launch);
  say_at_death(&print_where);
  const dim3 grid = launch.grid;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t threads = blocks * launch.block.x * launch.block.y * launch.block.z;
  std::atomic<std::uint64_t> next = 0;
  std::mutex failed;
  std::exception_ptr failure;  // of the first block that fails
  std::uint64_t failing = blocks;

  const auto work = [&](Block& runner, std::uint64_t share, std::uint64_t shares) {
    // Where races are looked for, blocks are dealt out, so that neighbours never follow each other
    // on one thread: one that comes later there is in order with one before.
    auto take = [&, i = share]() mutable {
      return RaceFiber::used && next < blocks ? std::exchange(i, i + shares) : next++;
    };
    for (std::uint64_t i = take(); i < blocks; i = take()) {
      const uint3 index{static_cast<unsigned>(i % grid.x),
                        static_cast<unsigned>(i / grid.x % grid.y),
                        static_cast<unsigned>(i / grid.x / grid.y)};
      try {
        runner.run(launch, index, body);
      } catch (...) {
        next = blocks;
        const std::lock_guard lock(failed);
        if (i < failing) failure = std::current_exception();
        failing = std::min(failing, i);
      }
    }
  };

  constexpr std::uint64_t worth_a_thread = 1u << 12;
  // Three where races are looked for: blocks that lie a power of two apart then differ in theirs.
  const std::uint64_t shares =
      RaceFiber::used ? std::min<std::uint64_t>(3, blocks)
                      : std::min<std::uint64_t>({cores(), blocks, threads / worth_a_thread + 1});
  std::vector<std::unique_ptr<Block>> runners;
  for (std::uint64_t i = 0; i < shares; ++i) runners.push_back(pool().take());
  {
    std::vector<std::jthread> others;
    for (std::uint64_t i = 1; i < shares; ++i) {
      others.emplace_back([&, i] { work(*runners[i], i, shares); });
    }
    work(*runners[0], 0, shares);
  }
  for (auto& runner : runners) pool().give_back(std::move(runner));
  if (failure) std::rethrow_exception(failure);
}

std::byte* dynamic_shared_memory() { return running_block("dynamic shared memory").shared(); }

Votes barrier(bool predicate) { return running_block("__syncthreads").barrier(predicate); }

unsigned vote(const char* word, unsigned mask, bool predicate) {
  const std::uint64_t bits = predicate ? 1 : 0;
  return static_cast<unsigned>(running_block(word).warp_operation(word, mask, bits, -1));
}

std::uint64_t shuffle(const char* word, unsigned mask, std::uint64_t bits, int source) {
  return running_block(word).warp_operation(word, mask, bits, source);
}

void collective(const char* word, void* operand, Combine combine) {
  running_block(word).collective(word, operand, combine);
}

void begin_copy(const AsyncCopy& copy) { running_block("cp.async").begin_copy(copy); }
void commit_copies() { running_block("cp.async.commit_group").commit_copies(); }
bool next_copy(int groups_left, AsyncCopy* copy) {
  return running_block("cp.async.wait_group").next_copy(groups_left, copy);
}

int lane() { return running_block("lane").lane(); }
unsigned running_lanes() { return running_block("__activemask").running_lanes(); }
void record_error(const std::string& what) { running_block("an error").record(what); }
std::string where() { return block == nullptr ? "" : block->where(); }

}  // namespace prenorm::emulator
