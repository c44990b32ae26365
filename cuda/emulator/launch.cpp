// Launches: blocks are spread over the cores. And what emulator.hpp offers to the running thread.
#include "block.hpp"
#include "bounds.hpp"
#include "checker.hpp"
#include "counter.hpp"
#include "races.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

namespace prenorm::emulator {
namespace {

// Blocks of a cluster can rely on what sm_90 has, the first with clusters.
constexpr std::size_t most_shared_bytes_of_cluster = 227 << 10;
constexpr unsigned most_cluster = 8;  // that every device with clusters has

Block& running_block(const char* word) {
  if (current_block == nullptr) throw KernelError(std::string(word) + " outside of a kernel");
  return *current_block;
}

/// Block objects, kept from launch to launch with their stacks.
class Pool {
 public:
  using Blocks = std::vector<std::unique_ptr<Block>>;
  Blocks take(unsigned count) {
    const std::lock_guard lock(mutex_);
    Blocks taken;
    while (taken.size() < count) {
      if (free_.empty()) free_.push_back(std::make_unique<Block>());
      taken.push_back(std::move(free_.back()));
      free_.pop_back();
    }
    return taken;
  }
  void give_back(Blocks taken) {
    const std::lock_guard lock(mutex_);
    std::ranges::move(taken, std::back_inserter(free_));
  }

 private:
  std::mutex mutex_;
  Blocks free_;
};

Pool& pool() {
  static Pool one;
  return one;
}

/// Cores to use: as many as OpenMP would, so that one setting serves `fast` and the
/// emulator.
unsigned cores() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const int wanted = std::atoi(text);
    if (wanted > 0) return static_cast<unsigned>(wanted);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Called by a sanitizer before it ends the process.
void print_where() {
  if (current_block == nullptr) return;
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
  const bool clusters = launch.cluster != 1 && !launch.cooperative;
  if (clusters &&
      (launch.cluster == 0 || launch.cluster > most_cluster || g.x % launch.cluster != 0)) {
    refuse("clusters of " + std::to_string(launch.cluster) + " along " + std::to_string(g.x) +
           " blocks; there may be " + std::to_string(most_cluster) + ", and no part of one");
  }
  if (clusters && !has_clusters) refuse("this device has no clusters");
  const auto most = clusters ? most_shared_bytes_of_cluster : most_shared_bytes;
  constexpr std::uint64_t most_with_sanitizer = 7500;  // which has 8,128
  if (launch.cooperative && RaceFiber::used && threads * g.x * g.y * g.z > most_with_sanitizer) {
    refuse("a cooperative launch of more than " + std::to_string(most_with_sanitizer) +
           " threads, which ThreadSanitizer cannot follow");
  }
  if (launch.shared_bytes > most) {
    refuse(std::to_string(launch.shared_bytes) + " bytes of shared memory; there are " +
           std::to_string(most));
  }
}

}  // namespace

void (*observe_launch)(const Launch& launch) = nullptr;
void (*observe_failure)(const std::exception_ptr& failure) = nullptr;
std::string (*describe_place)(const Place& place, const void* code) = nullptr;
bool has_clusters = true;

namespace {

/// The blocks of one cluster, from number `first` on; or the one block where there are no clusters.
/// What the first of them threw is thrown.
void run_cluster(const Launch& launch, std::uint64_t first, const Pool::Blocks& runners,
                 const std::function<void()>& body, Others& others,
                 const bounds::Suspects& suspects) {
  const auto index = [&launch](std::uint64_t block) {
    const dim3 grid = launch.grid;
    return uint3{static_cast<unsigned>(block % grid.x),
                 static_cast<unsigned>(block / grid.x % grid.y),
                 static_cast<unsigned>(block / grid.x / grid.y)};
  };
  if (launch.cluster == 1) return runners[0]->run(launch, index(first), body, others);
  Cluster cluster(launch.cluster);
  std::vector<std::exception_ptr> failures(launch.cluster);
  {
    std::vector<std::jthread> blocks;
    for (unsigned rank = 0; rank < launch.cluster; ++rank) {
      const auto run_block = [&, rank] {
        bounds::use_suspects(&suspects);
        try {
          runners[rank]->run(launch, index(first + rank), body, others, &cluster);
        } catch (...) {
          failures[rank] = std::current_exception();
        }
        bounds::use_suspects(nullptr);
        counter::end_thread();
      };
      try {
        blocks.emplace_back(run_block);
      } catch (...) {  // there are too many threads
        cluster.cannot_begin();
        failures[rank] = std::current_exception();
      }
    }
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

namespace {

/// A launch that runs: its blocks, on as many threads of the machine as there are cores, and on
/// more where blocks wait for blocks that have not begun.
class Running : public Others {
  using Clock = std::chrono::steady_clock;

 public:
  Running(const Launch& launch, const std::function<void()>& body)
      : launch_(launch),
        body_(body),
        all_(std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z),
        blocks_(all_ / launch.cluster) {}

  void all() {
    constexpr std::uint64_t worth_a_thread = 1u << 12;
    const std::uint64_t threads = all_ * launch_.block.x * launch_.block.y * launch_.block.z;
    // Three with ThreadSanitizer: blocks that are a power of two apart are then on different
    // threads.
    shares_ = RaceFiber::used ? std::min<std::uint64_t>(3, blocks_)
              : races::used
                  ? 1
                  : std::min<std::uint64_t>({cores(), blocks_, threads / worth_a_thread + 1});
    for (std::uint64_t i = 1; i < shares_; ++i) begin_thread(i);
    {
      std::jthread watch;
      if (!sees_reads && !RaceFiber::used && shares_ < blocks_) {
        watch = std::jthread([this](const std::stop_token& stop) { begin_more(stop); });
      }
      work(0);
    }
    for (;;) {  // any of them may begin more
      std::unique_lock lock(mutex_);
      if (workers_.empty()) break;
      std::jthread last = std::move(workers_.back());
      workers_.pop_back();
      lock.unlock();
    }
    if (failure_ && observe_failure != nullptr) observe_failure(failure_);
    if (failure_) std::rethrow_exception(failure_);
  }

  Turn have_turns() override {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return Turn::over;
      const bool may_begin = !RaceFiber::used && !races::used && next_ < blocks_;
      if (may_begin && started_ < most_together) {
        begin_thread_locked(started_);
        return Turn::again;
      }
      const Clock::time_point now = Clock::now();
      waiting_[std::this_thread::get_id()] = now;
      // Who has not asked for a while computes, or will go on to.
      const bool all_wait = waiting_.size() == active_ * launch_.cluster &&
                            std::ranges::all_of(waiting_, [&](const auto& each) {
                              return now - each.second < std::chrono::milliseconds(200);
                            });
      if (!all_wait) since_ = now;
      if (now - since_ > std::chrono::seconds(5)) return Turn::never;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return Turn::again;
  }

  void go_on() override {
    const std::lock_guard lock(mutex_);
    waiting_.erase(std::this_thread::get_id());
  }

 private:
  /// Whether on_read_again() is called: else nobody knows which block waits for another.
#if defined(PRENORM_EMULATOR_CHECKER)
  static constexpr bool sees_reads = true;
#else
  static constexpr bool sees_reads = false;
#endif
  /// Where no block ends for a second, one more begins.
  void begin_more(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (std::uint64_t before = next_; next_ < blocks_ && !stop.stop_requested(); before = next_) {
      over_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (next_ == before && next_ < blocks_ && started_ < most_together) {
        begin_thread_locked(started_);
      }
    }
  }

  /// Blocks that run at the same time, at most: fewer than a device has room for.
  static constexpr std::uint64_t most_together = 256;

  void begin_thread(std::uint64_t share) {
    const std::lock_guard lock(mutex_);
    begin_thread_locked(share);
  }
  void begin_thread_locked(std::uint64_t share) {
    started_ = std::max(started_, share + 1);
    ++active_;
    try {
      workers_.emplace_back([this, share] { work_counted(share); });
    } catch (...) {  // there are too many threads
      --active_;
      started_ = most_together;
    }
  }

  void work(std::uint64_t share) {
    {
      const std::lock_guard lock(mutex_);
      ++active_;
    }
    work_counted(share);
  }

  void work_counted(std::uint64_t share) {
    Pool::Blocks runner = pool().take(launch_.cluster);
    bounds::use_suspects(&suspects_);
    // With ThreadSanitizer blocks are dealt out, so that neighbours never run one after the other
    // on one thread, which would make them ordered.
    auto take = [&, i = share]() mutable {
      return RaceFiber::used && next_ < blocks_ ? std::exchange(i, i + shares_) : next_++;
    };
    for (std::uint64_t i = take(); i < blocks_; i = take()) {
      try {
        run_cluster(launch_, i * launch_.cluster, runner, body_, *this, suspects_);
      } catch (const Abandoned&) {  // as another block has failed
      } catch (...) {
        next_ = blocks_;
        const std::lock_guard lock(mutex_);
        if (i < failing_) failure_ = std::current_exception();
        failing_ = std::min(failing_, i);
      }
    }
    bounds::use_suspects(nullptr);
    pool().give_back(std::move(runner));
    const std::lock_guard lock(mutex_);
    --active_;
    waiting_.erase(std::this_thread::get_id());
  }

  const Launch& launch_;
  const std::function<void()>& body_;
  const std::uint64_t all_, blocks_;  // blocks; and clusters, each of which is one here
  std::uint64_t shares_ = 1;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable_any over_;
  std::exception_ptr failure_;  // of the first block that fails
  std::uint64_t failing_ = ~std::uint64_t{0};
  std::uint64_t started_ = 1;
  std::uint64_t active_ = 0;                              // threads of the machine
  std::map<std::thread::id, Clock::time_point> waiting_;  // when they last had to wait
  Clock::time_point since_ = Clock::now();                // all of them wait
  const bounds::Suspects suspects_ = bounds::take_suspects();
  std::vector<std::jthread> workers_;  // which end before what they use
};

}  // namespace

void run(const Launch& launch, const std::function<void()>& body) {
  if (current_block != nullptr) {
    throw KernelError(where() + ": launches kernel " + launch.kernel +
                      ", which no kernel may here" + described(launch.here, nullptr));
  }
  try {
    check(launch);
  } catch (...) {
    bounds::take_suspects();
    throw;
  }
  if (observe_launch != nullptr) observe_launch(launch);
  const bounds::Open device_memory;
  say_at_death(&print_where);
  counter::begin_launch(launch);
  races::begin_launch(launch.cluster == 1);
  struct Ended {
    ~Ended() { counter::end_launch(); }
  } const ended;
  Running(launch, body).all();
}

bool running() { return current_block != nullptr; }

void on_read_again(const void* at, const void* code) {
  if (current_block != nullptr) current_block->on_read_again(at, code);
}
void on_change() {
  if (current_block != nullptr) current_block->on_change();
}

/// What a thread waits in is one frame, all calls inlined: hundreds of stacks take turns, and the
/// less each uses the more of them stay in the cache.
#define PRENORM_ONE_FRAME __attribute__((flatten))

std::byte* dynamic_shared_memory() { return running_block("dynamic shared memory").shared(); }

PRENORM_ONE_FRAME Votes barrier(bool predicate, Place here) {
  return running_block("__syncthreads").barrier(predicate, here);
}

PRENORM_ONE_FRAME unsigned vote(const char* word, unsigned mask, bool predicate, Place here) {
  const std::uint64_t bits = predicate ? 1 : 0;
  return static_cast<unsigned>(running_block(word).warp_operation(word, mask, bits, -1, here));
}

PRENORM_ONE_FRAME std::uint64_t shuffle(const char* word, unsigned mask, std::uint64_t bits,
                                        int source, Place here) {
  return running_block(word).warp_operation(word, mask, bits, source, here);
}

PRENORM_ONE_FRAME void collective(const char* word, void* operand, Combine combine, Place here) {
  running_block(word).collective(word, operand, combine, here);
}

void begin_copy(const AsyncCopy& copy) {
  Block& block = running_block("cp.async");
  counter::on_copy(copy, __builtin_return_address(0));
  if (copy.bytes > 0) checker::on_read(copy.from, copy.bytes, __builtin_return_address(0), false);
  block.begin_copy(copy);
}
void commit_copies() { running_block("cp.async.commit_group").commit_copies(); }
bool next_copy(int groups_left, AsyncCopy* copy) {
  return running_block("cp.async.wait_group").next_copy(groups_left, copy);
}

void cluster_barrier() { running_block("a cluster's barrier").cluster_barrier(); }
void grid_barrier(Place here) { running_block("a grid's barrier").grid_barrier(here); }
bool cooperative() { return running_block("a grid").cooperative(); }
void* cluster_peer(void* own, unsigned rank) {
  return running_block("a cluster").cluster_peer(static_cast<std::byte*>(own), rank);
}
void note_atomic(const void* at, std::size_t bytes) {
  if (current_block != nullptr) counter::on_atomic(at, bytes, __builtin_return_address(0));
}

int lane() { return running_block("lane").lane(); }
unsigned converged_lanes(const char* word, Place here) {
  return running_block(word).converged_lanes(word, here);
}
void fail(const std::string& what, Place here) {
  throw KernelError(where() + ": " + what + described(here, nullptr));
}
void record_error(const std::string& what, const void* code, KernelError::Kind kind) {
  running_block("an error").record(what, code, kind);
}
void leave_thread() { running_block("an error").leave(); }
std::string where() { return current_block == nullptr ? "" : current_block->where(); }

}  // namespace prenorm::emulator
