#include "model.hpp"

#include "emulator/emulator.hpp"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <vector>

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim{}, gridDim{};

namespace hopper {
namespace {

using boost::context::fiber;

struct Thread {
  fiber context;
  bool returned = false;
  std::uint64_t given = 0;  // to a warp operation
  void* operand = nullptr;  // of a collective one
};

/// Where threads wait for each other: a barrier of some.
struct Meeting {
  unsigned arrived = 0, round = 0;
};

struct Block {
  std::vector<Thread> threads;
  std::vector<Meeting> warps;
  Meeting all;
  std::unique_ptr<std::byte[]> memory;
  std::byte* shared = nullptr;
  std::deque<std::function<void()>> copies;
  fiber scheduler;
  unsigned current = 0;
  bool progress = false;              // of any thread in this round
  unsigned letting_others_go_on = 0;  // threads
  unsigned standstills = 0;           // how often only these could go on
  bool failed = false;
};
Block* block = nullptr;

constexpr std::uint32_t first_address = 48;
constexpr std::size_t most_shared_bytes = 227 << 10;

void meet(Meeting& meeting, unsigned threads) {
  const unsigned round = meeting.round;
  if (++meeting.arrived == threads) {
    meeting = {0, round + 1};
    block->progress = true;
  }
  wait_until([&, round] { return meeting.round != round; });
}

}  // namespace

void wait_until(const std::function<bool()>& holds) {
  while (!holds()) {
    block->scheduler = std::move(block->scheduler).resume();
    if (block->failed) throw std::runtime_error("no thread can go on");
  }
  block->progress = true;
}

void let_others_go_on() {
  ++block->letting_others_go_on;
  const unsigned before = block->standstills;
  wait_until([before] { return block->standstills != before; });
  --block->letting_others_go_on;
}

void copy(std::function<void()> work) {
  if (copies == When::early) {
    work();
  } else {
    block->copies.push_back(std::move(work));
  }
}

unsigned thread() { return block->current; }
std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(at) - block->shared) +
         first_address;
}
std::byte* at_shared_address(std::uint32_t address) {
  return block->shared + (address - first_address);
}

}  // namespace hopper

// What the kernels' own emulator does, for blocks such as these.
namespace prenorm::emulator {

using hopper::block;

void (*observe_launch)(const Launch& launch) = nullptr;

void run(const Launch& launch, const std::function<void()>& body) {
  if (observe_launch != nullptr) observe_launch(launch);
  if (launch.shared_bytes > hopper::most_shared_bytes) throw std::runtime_error("shared memory");
  blockDim = launch.block;
  gridDim = launch.grid;
  const unsigned size = launch.block.x * launch.block.y;
  for (unsigned b = 0; b < launch.grid.x * launch.grid.y; ++b) {
    hopper::Block one;
    block = &one;
    std::ranges::fill(hopper::named_barriers, hopper::NamedBarrier{});
    blockIdx = {b % launch.grid.x, b / launch.grid.x, 0};
    one.memory = std::make_unique<std::byte[]>(launch.shared_bytes + 16);
    one.shared = one.memory.get();
    std::memset(one.shared, 0xff, launch.shared_bytes);  // NaN, in any type
    one.threads.resize(size);
    one.warps.resize(size / 32);
    std::exception_ptr failure;
    for (unsigned i = 0; i < size; ++i) {
      one.threads[i].context = hopper::fiber([&, i](hopper::fiber&& scheduler) {
        one.scheduler = std::move(scheduler);
        try {
          body();
        } catch (...) {
          if (!failure) failure = std::current_exception();
        }
        one.threads[i].returned = true;
        one.progress = true;
        return std::move(one.scheduler);
      });
    }
    for (bool running = true; running;) {
      running = one.progress = false;
      for (unsigned i = 0; i < size; ++i) {
        hopper::Thread& thread = one.threads[i];
        if (thread.returned) continue;
        running = true;
        one.current = i;
        threadIdx = {i % launch.block.x, i / launch.block.x, 0};
        thread.context = std::move(thread.context).resume();
      }
      if (!running || one.progress) continue;
      if (one.letting_others_go_on != 0) {
        ++one.standstills;
      } else if (one.copies.empty()) {
        one.failed = true;
      } else {
        one.copies.back()();  // which end first is not said
        one.copies.pop_back();
      }
    }
    if (failure) std::rethrow_exception(failure);
    if (!one.copies.empty()) throw std::runtime_error("a block ended before its copies");
    for (const hopper::NamedBarrier& barrier : hopper::named_barriers) {
      if (barrier.arrived != 0) throw std::runtime_error("a barrier was left half full");
    }
  }
}

std::byte* dynamic_shared_memory() { return block->shared; }

Votes barrier(bool predicate, Place) {
  const auto size = static_cast<unsigned>(block->threads.size());
  block->threads[block->current].given = predicate;
  hopper::meet(block->all, size);
  Votes votes{0, static_cast<int>(size)};
  for (const hopper::Thread& thread : block->threads) votes.count += thread.given != 0;
  hopper::meet(block->all, size);
  return votes;
}

/// All lanes of a warp take part in all that these kernels do.
unsigned vote(const char*, unsigned, bool predicate, Place) {
  const unsigned warp = block->current / 32;
  block->threads[block->current].given = predicate;
  hopper::meet(block->warps[warp], 32);
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; ++i) {
    votes |= static_cast<unsigned>(block->threads[32 * warp + i].given) << i;
  }
  hopper::meet(block->warps[warp], 32);
  return votes;
}

std::uint64_t shuffle(const char*, unsigned, std::uint64_t bits, int source, Place) {
  const unsigned warp = block->current / 32;
  block->threads[block->current].given = bits;
  hopper::meet(block->warps[warp], 32);
  const std::uint64_t taken = block->threads[32 * warp + static_cast<unsigned>(source)].given;
  hopper::meet(block->warps[warp], 32);
  return taken;
}

void collective(const char*, void* operand, Combine combine, Place) {
  const unsigned first = block->current / 32 * 32;
  block->threads[block->current].operand = operand;
  hopper::meet(block->warps[first / 32], 32);
  if (block->current == first) {
    void* operands[32];
    for (unsigned i = 0; i < 32; ++i) operands[i] = block->threads[first + i].operand;
    combine(operands);
  }
  hopper::meet(block->warps[first / 32], 32);
}

/// Copies by cp.async are made at once: what must wait for them is tested with the emulator.
void begin_copy(const AsyncCopy& copy) {
  *copy.to = AsyncCopy::Bytes{};
  std::memcpy(copy.to, copy.from, copy.bytes);
}
void commit_copies() {}
bool next_copy(int, AsyncCopy*) { return false; }

/// Other kernels of the same solution have clusters; here they take their ways without.
bool has_clusters = false;
void cluster_barrier() { throw std::logic_error("the model has no clusters"); }
void* cluster_peer(void*, unsigned) { throw std::logic_error("the model has no clusters"); }
AtomicOperation::~AtomicOperation() {}

std::string where() { return "a block"; }
int lane() { return static_cast<int>(block->current % 32); }
unsigned converged_lanes(const char*, Place) { return 0xffffffffu; }

}  // namespace prenorm::emulator
