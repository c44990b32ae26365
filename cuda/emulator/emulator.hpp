// Runs CUDA kernels on the CPU. A CUDA thread is a fiber; the threads of a block take turns on one
// thread of the machine, and blocks are spread over its cores. Turns change only where threads wait
// for each other, so a kernel without barriers is as fast as a loop over its threads.
//
// What is undefined on a device is an error here that names kernel, block and thread: a barrier
// that not all threads reach, a shuffle from a lane that does not take part. Builds with
// sanitizers, and the checker (checker.hpp), find the rest: accesses out of bounds
// (AddressSanitizer), races between barriers (ThreadSanitizer), reads of shared memory that nothing
// wrote (the checker).
#pragma once

#include "include/vector_types.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

// What only the emulator does, where kernels are compiled for its counter.
#if defined(PRENORM_EMULATOR_COUNTED)
#define PRENORM_NOT_COUNTED __attribute__((noinline, no_sanitize("thread")))
#else
#define PRENORM_NOT_COUNTED
#endif

/// Where the running CUDA thread is, as on a device.
extern __constinit thread_local uint3 threadIdx, blockIdx;
extern __constinit thread_local dim3 blockDim, gridDim;

namespace prenorm::emulator {

/// Of shared memory for a block: as on sm_86 and sm_89, the smallest of our targets; sm_80 has
/// 163 KiB.
inline constexpr std::size_t most_shared_bytes = 99 << 10;

/// A kernel did something undefined. The message begins with kernel, block and thread.
struct KernelError : std::runtime_error {
  enum class Kind { other, out_of_bounds };
  explicit KernelError(const std::string& what, Kind of = Kind::other)
      : std::runtime_error(what), kind(of) {}
  Kind kind;
};

/// Where in the source an operation stands, for messages. (std::source_location is of C++20, and
/// programs are of C++17, as nvcc has it.)
class Place {
 public:
  constexpr Place() = default;
  static constexpr Place current(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
    Place here;
    here.file_ = file;
    here.line_ = line;
    return here;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }
  /// The same line of the same file.
  friend bool operator==(const Place& a, const Place& b) {
    return a.line_ == b.line_ &&
           (a.file_ == b.file_ || std::string_view(a.file_) == std::string_view(b.file_));
  }
  friend bool operator!=(const Place& a, const Place& b) { return !(a == b); }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
};

/// If set, messages end with where the source is: " (mine.cu:12)". It gets the place of the
/// operation that is wrong, or the address of the code. Programs and submissions set it, whose
/// authors know no more of a kernel than its name.
extern std::string (*describe_place)(const Place& place, const void* code);

struct Launch {
  const char* kernel = "";  // its name, for messages
  dim3 grid, block;
  std::size_t shared_bytes = 0;  // of dynamic shared memory
  unsigned cluster = 1;          // blocks along x that read each other's shared memory
  Place here = {};               // where the launch stands
  bool cooperative = false;      // all blocks run together, and wait for each other
};

/// Runs body once for each thread of each block, and returns when all are done.
///
/// Throws KernelError, std::invalid_argument for a launch that every device refuses, and what body
/// throws.
void run(const Launch& launch, const std::function<void()>& body);

/// If set, called with each launch before it runs: for tests of what is launched.
extern void (*observe_launch)(const Launch& launch);

/// If set, called with what a launch is about to throw: whoever launches may catch it.
extern void (*observe_failure)(const std::exception_ptr& failure);

/// The block's dynamic shared memory, of Launch::shared_bytes, aligned to 16 bytes.
std::byte* dynamic_shared_memory();

/// Waits for all threads of the block; counts their predicates.
struct Votes {
  int count;    // of threads whose predicate is true
  int threads;  // of the block
};
Votes barrier(bool predicate, Place here = {});

/// Waits for all threads of all blocks of the cluster that have not returned.
void cluster_barrier();

/// Waits for all threads of a cooperative launch; any other is an error, and so is a block that has
/// returned. cooperative(): whether it is one.
void grid_barrier(Place here = {});
bool cooperative();

/// Where block `rank` of the cluster has what is at `own` in this block's dynamic shared memory.
void* cluster_peer(void* own, unsigned rank);

/// Whether the emulated device has clusters; for tests of kernels on those that have none.
extern bool has_clusters;

/// Waits for the lanes of the mask; returns the lanes whose predicate is true. `word` is the
/// operation's name, for messages.
unsigned vote(const char* word, unsigned mask, bool predicate, Place here = {});

/// Waits for the lanes of the mask; returns the bits that lane `source` gave.
std::uint64_t shuffle(const char* word, unsigned mask, std::uint64_t bits, int source,
                      Place here = {});

/// Waits for all lanes of the warp. The last to arrive calls `combine` with the operands of the
/// lanes, in their order; it must be in code that no sanitizer watches (warp_matrix.cpp). Unlike a
/// shuffle this does not synchronize what lanes did to memory.
using Combine = void (*)(void* const* operands);
void collective(const char* word, void* operand, Combine combine, Place here = {});

/// A copy of 4, 8 or 16 bytes (`size`) to shared memory; those behind the first `bytes` become 0.
/// The copy is made when its thread waits: a thread begins copies, commits those since the last
/// commit as a group, and when it waits takes back, by next_copy until that is false, those of all
/// but the newest groups. A thread that returns with pending copies is an error.
struct AsyncCopy {
  using Bytes = unsigned __attribute__((vector_size(16), may_alias));  // which go in one access
  Bytes* to;
  const void* from;
  unsigned bytes, size = sizeof(Bytes);
};
void begin_copy(const AsyncCopy& copy);
void commit_copies();
bool next_copy(int groups_left, AsyncCopy* copy);

/// __threadfence: what the thread has written is seen by whoever has done an atomic operation
/// since. ThreadSanitizer does not understand fences, so both tell it.
void fence();
struct AtomicOperation {
  ~AtomicOperation();
};
/// Tells the counter that the running thread changes memory atomically. Called in its builds only.
void note_atomic(const void* at, std::size_t bytes);

/// The thread's place in its warp.
int lane();

/// The lanes of the warp that run together here: those that arrive at this place before any other
/// lane of the warp can go on without them. A device may give fewer.
unsigned converged_lanes(const char* word, Place here = {});

/// Throws a KernelError of the running thread.
[[noreturn]] void fail(const std::string& what, Place here = {});

/// For errors found where nothing may be thrown: the launch fails with this once the running thread
/// waits or returns. `code` is the address that the wrong access returns to.
void record_error(const std::string& what, const void* code = nullptr,
                  KernelError::Kind kind = KernelError::Kind::other);
/// After record_error, where the running thread cannot go on either. What lies on its stack is not
/// destroyed.
[[noreturn]] void leave_thread();

/// Whether a kernel runs on this thread of the machine.
bool running();
/// Whether code of both sides takes that of the device.
constexpr bool on_device() { return !__builtin_is_constant_evaluated() && running(); }

/// The running thread has read what others may write, in that place of the code, and changed
/// nothing. Where it does so again and again others have their turns, at last other blocks; where
/// none of them can change it, the launch fails. on_change(): it has changed such a thing, and
/// waits for nobody.
void on_read_again(const void* at, const void* code);
void on_change();

/// "kernel rmsnorm v2, block (0, 0, 0), thread (3, 0, 0)"; empty if no kernel runs. Safe to call
/// while the process dies.
std::string where();

}  // namespace prenorm::emulator
