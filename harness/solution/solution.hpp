// Solutions: shared libraries, run in a worker process that never sees the expected outputs.
#pragma once

#include "base/process.hpp"
#include "fixture/fixture.hpp"
#include "fixture/verdict.hpp"
#include "worker/device.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prenorm::harness {

namespace protocol {
struct Loaded;  // worker/protocol.hpp
struct Note;
}  // namespace protocol

/// One call of one exported function.
struct Call {
  std::string function;                  // "rmsnorm" or "rmsnorm__no_eps": without prenorm_
  std::vector<const Tensor*> inputs;     // in signature order; nullptr: absent
  std::vector<Scalar> scalars;           // in signature order
  std::vector<TensorType> outputs;       // in signature order
  const Signature* signature = nullptr;  // names the tensors in messages; else "input 1"
  /// For a measurement: the caches hold no part of the tensors when the call starts, and a device
  /// is kept busy until the host makes the call, so that launches cost no time.
  bool timed = false;
  bool inputs_may_change = false;  // if not, that is INPUT_MUTATED; else the message says so
};

/// The outcome of a call. `status` is passed if the call returned 0 and broke no rule.
struct Outcome {
  Status status = Status::passed;
  std::string message;
  bool refused = false;    // the function returned an error and broke no rule
  bool unwritten = false;  // an element of an output was never written
  bool not_run = false;    // nothing was called: the time was over
  std::string printed;  // the end of what it wrote to standard output and error, escaped, in lines
  double seconds = 0;   // of the function alone; on a device between two events of its stream
  std::vector<Tensor> outputs;
  std::int64_t launches = -1;                // of kernels, by the emulator; -1: not counted
  std::optional<std::size_t> changed_input;  // which, if one was
};

/// The limits of submissions are of processor time, for other programs may keep the processors
/// busy. By the clock they are so many times as long: that ends what sleeps.
inline constexpr double usual_clock_factor = 10;

/// So few seconds are none: sums of times are rounded.
inline constexpr double no_time = 1e-6;

struct RunLimits {
  double seconds = 60;             // for one call
  std::size_t bytes = 8ull << 30;  // of the worker's address space, beyond what it starts with; 0:
                                   // none. Not for a device's solution: worker_main.cpp says why
  double loading = 0;              // seconds for loading; 0: as for one call
  /// More than 1: limits are of processor time, and so many times as long by the clock.
  double clock_factor = 1;
};

/// A worker that is to be started.
struct WorkerStart {
  Process::Command command;
  fs::path library;                                  // where the solution lies, for the worker
  std::shared_ptr<const void> belongings = nullptr;  // released when it has ended
};

/// The first load of a library decides which functions it has, its device and its mode. Every later
/// one, by whichever Solution, must say the same. Any number of threads may ask.
class Declaration {
 public:
  /// How this load differs from the first one; empty where it does not, or is the first.
  std::string difference(const protocol::Loaded& loaded);
  /// Whether there was a first one.
  bool is_known();

 private:
  struct Description {
    std::string mode;
    std::int32_t device = 0;
    std::set<std::string> functions;
    bool available = false;  // at least once
  };

  std::mutex one_;
  std::optional<Description> first_;
};

/// A library in its worker process. The worker starts on first use, and again after a crash; a
/// library that is another one then is a LOAD_ERROR. Libraries are loaded nowhere else (unless
/// in_process, for a debugger).
class Solution {
 public:
  struct Options {
    bool in_process = false;
    RunLimits limits;
    /// Called for each worker that is started. Nothing: the shipped worker, without a sandbox.
    std::function<WorkerStart()> worker = nullptr;
    bool tf32 = true;     // false: a library that computes in tf32 is a LOAD_ERROR
    bool python = false;  // the worker is Python's, which says "numpy" where it has no PyTorch
    /// Shared by the solutions of one library, which must say the same of itself at each load.
    /// Nothing: each Solution is by itself.
    std::shared_ptr<Declaration> declaration = nullptr;
    /// Receives the worker's notes on the solution, such as imports that have stand-ins.
    std::function<void(const protocol::Note&)> note = nullptr;
  };

  /// `label` is the name as it was typed: "reference", "mistakes/no_eps", "./mine.so". The variant
  /// may be several at once, where the library can combine them: "mistakes/no_eps+no_gain".
  Solution(std::string label, fs::path library, std::string variant, const Options& options);
  ~Solution();
  Solution(Solution&&) noexcept;
  Solution& operator=(Solution&&) noexcept;

  const std::string& label() const { return label_; }
  const std::string& variant() const { return variant_; }
  const fs::path& library() const { return library_; }

  /// Starts the worker if there has been none yet, without waiting for it: load() then finds it
  /// under way. For workers that take long to start.
  void start();
  /// Starts the worker and loads the library if that has not been done. False: it cannot be used
  /// here; status() and message() then say LOAD_ERROR, or SKIPPED with the reason (no device).
  bool load();
  Status status() const;
  const std::string& message() const;
  /// "tf32"; "numpy", of Python that gets NumPy's arrays; or empty.
  const std::string& mode() const;
  /// Whether a worker is there that can be asked at once.
  bool running() const;
  /// What calls have left in a Python worker's process is gone for those to come; a device's stays.
  void begin_anew();
  /// The result of prenorm_sources: a digest of the compiled sources; or empty.
  const std::string& sources() const;
  /// The solution takes device tensors (or would, if it had been built). Known after load(), even
  /// if that returned false because there is no device.
  bool on_device() const;
  /// Its device, after load(); nothing for the CPU or without a device.
  const std::optional<DeviceFacts>& device_facts() const;
  /// Bytes read and written in a second by a large copy where the solution's tensors lie: the
  /// device's memory, or the host's by all threads; the median of 20, or fewer. Measured at each
  /// call of this. Nothing where the solution cannot be used, or there is no room.
  std::optional<double> copy_bandwidth();
  /// What the library has counted since this was last called: prenorm_counts. Empty where it counts
  /// nothing, or where there is no answer.
  std::string take_counts();
  /// Every exported function without prenorm_: "rmsnorm", "rmsnorm__no_eps". Also known for a
  /// solution that was not built.
  const std::set<std::string>& functions();
  /// The function for a problem: with the variant where this solution has one; empty if absent.
  /// Of several variants at once each must be there.
  std::string function_for(const std::string& problem);
  /// The first of these that is absent, without prenorm_: "rmsnorm__no_epps"; empty if none is.
  std::string absent_for(const std::string& problem);

  /// The seconds that a call may take; another limit for the calls to come.
  double call_limit() const { return options_.limits.seconds; }
  void limit_calls(double seconds) { options_.limits.seconds = seconds; }
  /// Seconds that its loads and calls have taken so far, as their limits count them.
  double spent() const;
  /// Seconds for all loads and calls to come together: what has not ended by then is a TIMEOUT, and
  /// nothing starts any more. Who could not load for lack of time may again.
  void limit_rest(double seconds);

  /// Copies the inputs into fresh guarded buffers, poisons the outputs, calls, checks that inputs
  /// are unchanged, the canaries intact and every output element written.
  Outcome call(const Call& call);

 private:
  struct Worker;
  std::string label_;
  fs::path library_;
  std::string variant_;
  Options options_;
  std::unique_ptr<Worker> worker_;
};

/// Finds what `--solution NAME|PATH` means: a shipped name ("reference", "mistakes/no_eps") in the
/// solutions' folder, or the path of a library, with /variant behind it. Throws
/// std::invalid_argument with a message that lists the shipped names.
Solution find_solution(const std::string& name, const Solution::Options& options);

/// The same for a name that the user gave: throws UsageError, with the most similar shipped name.
Solution solution_of_user(const std::string& name, const Solution::Options& options);

/// The names of the solutions in the shipped folder, sorted. Among them are those that this build
/// left out: NAME.absent, whose first line is the reason, whose second is prenorm_sources' text,
/// and whose others are the functions() that it would have. Such a solution is SKIPPED with the
/// reason, and takes no worker.
std::vector<std::string> shipped_solutions();
bool is_shipped(const std::string& name);

}  // namespace prenorm::harness
