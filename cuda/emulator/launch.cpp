// Launches: blocks are spread over the cores. And what emulator.hpp offers to the running thread.
#include "block.hpp"
#include "bounds.hpp"
#include "checker.hpp"
#include "counter.hpp"
#include "races.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
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
  if (launch.cluster == 0 || launch.cluster > most_cluster || g.x % launch.cluster != 0) {
    refuse("clusters of " + std::to_string(launch.cluster) + " along " + std::to_string(g.x) +
           " blocks; there may be " + std::to_string(most_cluster) + ", and no part of one");
  }
  if (launch.cluster > 1 && !has_clusters) refuse("this device has no clusters");
  const auto most = launch.cluster > 1 ? most_shared_bytes_of_cluster : most_shared_bytes;
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

/// The blocks of one cluster, which begin at `first`; or the one block where there are no clusters.
/// What the first of them threw is thrown.
void run_cluster(const Launch& launch, uint3 first, const Pool::Blocks& runners,
                 const std::function<void()>& body) {
  if (launch.cluster == 1) return runners[0]->run(launch, first, body);
  Cluster cluster(launch.cluster);
  std::vector<std::exception_ptr> failures(launch.cluster);
  {
    std::vector<std::jthread> blocks;
    for (unsigned rank = 0; rank < launch.cluster; ++rank) {
      const auto run_block = [&, rank] {
        try {
          runners[rank]->run(launch, {first.x + rank, first.y, first.z}, body, &cluster);
        } catch (...) {
          failures[rank] = std::current_exception();
        }
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

void run(const Launch& launch, const std::function<void()>& body) {
  if (current_block != nullptr) {
    throw KernelError(where() + ": launches kernel " + launch.kernel +
                      ", which no kernel may here" + described(launch.here, nullptr));
  }
  check(launch);
  if (observe_launch != nullptr) observe_launch(launch);
  const bounds::Open device_memory;
  say_at_death(&print_where);
  const dim3 grid = launch.grid;
  const std::uint64_t all_blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t blocks = all_blocks / launch.cluster;  // here one is a cluster
  const std::uint64_t threads = all_blocks * launch.block.x * launch.block.y * launch.block.z;
  std::atomic<std::uint64_t> next = 0;
  std::mutex failed;
  std::exception_ptr failure;  // of the first block that fails
  std::uint64_t failing = blocks;

  const auto work = [&](const Pool::Blocks& runner, std::uint64_t share, std::uint64_t shares) {
    // With ThreadSanitizer blocks are dealt out, so that neighbours never run one after the other
    // on one thread, which would make them ordered.
    auto take = [&, i = share]() mutable {
      return RaceFiber::used && next < blocks ? std::exchange(i, i + shares) : next++;
    };
    for (std::uint64_t i = take(); i < blocks; i = take()) {
      const std::uint64_t block = i * launch.cluster;
      const uint3 index{static_cast<unsigned>(block % grid.x),
                        static_cast<unsigned>(block / grid.x % grid.y),
                        static_cast<unsigned>(block / grid.x / grid.y)};
      try {
        run_cluster(launch, index, runner, body);
      } catch (...) {
        next = blocks;
        const std::lock_guard lock(failed);
        if (i < failing) failure = std::current_exception();
        failing = std::min(failing, i);
      }
    }
  };

  constexpr std::uint64_t worth_a_thread = 1u << 12;
  // Three with ThreadSanitizer: blocks that are a power of two apart are then on different threads.
  const std::uint64_t shares =
      RaceFiber::used ? std::min<std::uint64_t>(3, blocks)
      : races::used   ? 1
                      : std::min<std::uint64_t>({cores(), blocks, threads / worth_a_thread + 1});
  counter::begin_launch(launch);
  races::begin_launch(launch.cluster == 1);
  std::vector<Pool::Blocks> runners;
  for (std::uint64_t i = 0; i < shares; ++i) runners.push_back(pool().take(launch.cluster));
  {
    std::vector<std::jthread> others;
    for (std::uint64_t i = 1; i < shares; ++i) {
      others.emplace_back([&, i] { work(runners[i], i, shares); });
    }
    work(runners[0], 0, shares);
  }
  for (auto& runner : runners) pool().give_back(std::move(runner));
  counter::end_launch();
  if (failure && observe_failure != nullptr) observe_failure(failure);
  if (failure) std::rethrow_exception(failure);
}

std::byte* dynamic_shared_memory() { return running_block("dynamic shared memory").shared(); }

Votes barrier(bool predicate, Place here) {
  return running_block("__syncthreads").barrier(predicate, here);
}

unsigned vote(const char* word, unsigned mask, bool predicate, Place here) {
  const std::uint64_t bits = predicate ? 1 : 0;
  return static_cast<unsigned>(running_block(word).warp_operation(word, mask, bits, -1, here));
}

std::uint64_t shuffle(const char* word, unsigned mask, std::uint64_t bits, int source, Place here) {
  return running_block(word).warp_operation(word, mask, bits, source, here);
}

void collective(const char* word, void* operand, Combine combine, Place here) {
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
