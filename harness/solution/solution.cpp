#include "solution/solution.hpp"

#include "base/paths.hpp"
#include "base/text.hpp"
#include "solution/call.hpp"
#include "worker/library.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <prenorm/prenorm.h>
#include <random>
#include <utility>

namespace prenorm::harness {
namespace {

/// The extension of a file that stands for a library that was not built.
constexpr std::string_view absent_suffix = ".absent";

double seconds_to_load(const RunLimits& limits) {
  return limits.loading > 0 ? limits.loading : limits.seconds;
}

constexpr const char* time_is_over = "the time for all cases was over";

/// The worker for libraries.
WorkerStart shipped_worker(const fs::path& library) {
  WorkerStart worker;
  worker.command.program = home() / "libexec" / "prenorm" / "prenorm-worker";
  worker.command.keep_output = true;
  worker.library = library;
  return worker;
}

/// The outcome that the death of the worker's process means.
Outcome judge(const ProcessEnded& end) {
  const auto outcome = [](Status status, const std::string& message) {
    Outcome result;
    result.status = status;
    result.message = message;
    return result;
  };
  switch (end.how.signal) {
    case SIGKILL:  // only the kernel has a reason to send it: the worker asks to be killed first
      return outcome(Status::out_of_memory,
                     "killed by SIGKILL, as the kernel does where memory runs out");
    case SIGSYS:
      return outcome(Status::sandbox_violation,
                     "made a system call that the sandbox forbids (killed by SIGSYS)");
    case SIGXCPU:
      return outcome(Status::timeout,
                     "took more processor time than the limit allows (killed by SIGXCPU)");
    case SIGXFSZ:
      return outcome(Status::sandbox_violation,
                     "wrote more to a file than the limit allows (killed by SIGXFSZ)");
    default: break;
  }
  // What the C++ library and AddressSanitizer print where memory ran out.
  const std::string_view text = end.error;
  const auto says = [text](std::string_view part) { return text.find(part) != text.npos; };
  const bool is_memory = says("std::bad_alloc") || says("AddressSanitizer: out of memory") ||
                         says("AddressSanitizer: allocation-size-too-big") ||
                         says("AddressSanitizer: out-of-memory");
  const bool exited = end.how.exit_code >= 0;
  return outcome(is_memory ? Status::out_of_memory : Status::runtime_error,
                 (exited ? "ended its process: " : "") + printable(end.what()));
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 200 &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

/// The first of the functions that a name stands for which is not there: rope__halves+theta_fixed
/// is rope__halves and rope__theta_fixed. Empty if all are there.
std::string first_absent(const std::string& name, const std::set<std::string>& functions) {
  const std::size_t variants = std::min(name.find("__"), name.size());
  for (std::size_t first = variants, end; first <= name.size(); first = end + 1) {
    end = std::min(name.find('+', first), name.size());
    const bool whole = first == variants;  // its "__" is still there
    const std::string one =
        name.substr(0, variants) + (whole ? "" : "__") + name.substr(first, end - first);
    if (!functions.contains(one)) return one;
  }
  return "";
}

}  // namespace

std::string Declaration::difference(const protocol::Loaded& loaded) {
  const std::scoped_lock lock(one_);
  const bool available = loaded.unavailable.empty();
  const std::set<std::string> functions(loaded.functions.begin(), loaded.functions.end());
  if (!first_) first_ = Description{loaded.mode, loaded.device, functions, false};
  if (loaded.mode != first_->mode || loaded.device != first_->device) {
    return "says another mode or device than when it was loaded first";
  }
  if (functions != first_->functions) return "has other functions than when it was loaded first";
  if (first_->available && !available) {
    return "could be used when it was loaded first, and now: " + loaded.unavailable;
  }
  first_->available = available;
  return "";
}

bool Declaration::is_known() {
  const std::scoped_lock lock(one_);
  return first_.has_value();
}

/// A Solution's library: in a worker process, or in this one.
struct Solution::Worker {
  bool tried = false;
  bool is_late = false;            // the last load took too long
  bool is_anew = false;            // calls are answered by a copy of what was loaded
  Status status = Status::passed;  // load_error or skipped if it cannot be used
  std::string message;
  std::string mode, sources;
  bool on_device = false;
  std::optional<DeviceFacts> facts;
  std::set<std::string> functions;

  double spent = 0;                                      // seconds, by all loads and calls
  double end = std::numeric_limits<double>::infinity();  // of `spent`: nothing starts any more
  std::unique_ptr<WorkerConnection> connection;  // none before the first load and after a crash
  bool is_starting = false;                      // it was started, and nothing asked of it yet
  fs::path place;                                // where the solution lies, for the worker
  std::unique_ptr<Library> library;              // where in_process
  std::uint64_t calls = 0;
  std::mt19937_64 random{(std::uint64_t{std::random_device{}()} << 32) | std::random_device{}()};

  bool running() const { return library || (connection && connection->alive()); }
  bool is_over() const { return end - spent < no_time; }

  /// The worker's answer within that many seconds, or before all time is over.
  std::pair<protocol::Kind, std::string> answer(const std::string& request, double seconds,
                                                const RunLimits& limits, int descriptor = -1) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point asked = Clock::now();
    const double before = connection->processor_seconds();
    const auto count = [&] {
      const std::chrono::duration<double> waited = Clock::now() - asked;
      const double used = connection->processor_seconds() - before;
      spent += limits.clock_factor > 1 ? std::max(used, waited.count() / limits.clock_factor)
                                       : waited.count();
    };
    try {
      auto answered =
          connection->ask(request, descriptor, std::min(seconds, end - spent), limits.clock_factor);
      count();
      return answered;
    } catch (...) {
      count();
      throw;
    }
  }

  /// Loads the library, or loads it again. A failure is final, unless there was no time left. What
  /// has loaded before gets a second try where it takes too long: the machine may be busy.
  bool start(const fs::path& path, const Options& options) {
    if (!try_to_start(path, options) &&
        !(is_late && options.declaration->is_known() && try_to_start(path, options))) {
      return false;
    }
    if (is_anew) ask<protocol::Begun>(protocol::Kind::begin_anew, options);
    if (running()) return true;
    if (is_over()) return no_time_left("did not load");
    fail("did not answer after it was loaded");
    return false;
  }

  bool try_to_start(const fs::path& path, const Options& options) {
    tried = true;
    is_late = false;
    status = Status::passed;
    message.clear();
    if (is_over()) return no_time_left("not loaded");
    if (path.extension() == absent_suffix) {
      explain_absence(path);
      return false;
    }
    try {
      accept(options.in_process ? load_here(path) : load_in_process(path, options), options);
    } catch (const Faulted& faulted) {
      const bool bus = faulted.fault.signal == SIGBUS;
      fail(std::string("killed by ") + (bus ? "SIGBUS" : "SIGSEGV") + " while loading");
    } catch (const ProcessEnded& end) {
      const bool exited = end.how.exit_code >= 0;
      fail((exited ? "ended its process while loading: " : "while loading: ") +
           std::string(end.what()));
      if (end.how.signal == SIGSYS) status = Status::sandbox_violation;
    } catch (const ProcessTimeout&) {
      if (is_over()) return no_time_left("did not load");
      is_late = true;
      fail("did not load within " + seconds_text(seconds_to_load(options.limits)));
    } catch (const std::exception& error) {  // CannotLoad, Malformed, no such worker
      fail(error.what());
    }
    return status == Status::passed;
  }

  /// The file says why this build has no such library, and which sources and functions it would
  /// have had.
  void explain_absence(const fs::path& path) {
    std::ifstream file(path);
    std::getline(file, message);
    std::getline(file, sources);
    message = message.empty() ? "not built" : printable(message);
    sources = printable(sources);
    for (std::string function; std::getline(file, function);) functions.insert(printable(function));
    on_device = true;  // solutions for the host are always built
    status = Status::skipped;
  }

  bool no_time_left(const std::string& what) {
    fail(what + ": " + time_is_over);
    status = Status::timeout;
    tried = false;
    return false;
  }

  void fail(const std::string& why) {
    connection.reset();
    status = Status::load_error;
    message = printable(why);
  }

  protocol::Loaded load_here(const fs::path& path) {
    if (!library) {
      library = std::make_unique<Library>(path);
      library->open_device();
    }
    return library->description();
  }

  void connect(const fs::path& path, const Options& options) {
    connection.reset();  // before another has its place
    const WorkerStart worker = options.worker ? options.worker() : shipped_worker(path);
    connection = std::make_unique<WorkerConnection>(worker.command, worker.belongings);
    place = worker.library;
  }

  /// Why it cannot be started is reported by load().
  void start_early(const fs::path& path, const Options& options) {
    if (tried || is_starting || options.in_process || is_over() ||
        path.extension() == absent_suffix) {
      return;
    }
    try {
      connect(path, options);
      is_starting = true;
    } catch (const std::exception&) {
      connection.reset();
    }
  }

  protocol::Loaded load_in_process(const fs::path& path, const Options& options) {
    const RunLimits& limits = options.limits;
    const bool under_way = std::exchange(is_starting, false) && connection && connection->alive();
    if (!under_way) connect(path, options);
    const protocol::Load request{limits.bytes, fs::absolute(place).string()};
    const auto [kind, payload] = answer(encode(request), seconds_to_load(limits), limits);
    if (kind == protocol::Kind::load_failed) {
      const auto failed = protocol::decode<protocol::LoadFailed>(payload);
      if (options.note) std::ranges::for_each(failed.notes, options.note);
      throw CannotLoad(failed.reason);
    }
    if (kind != protocol::Kind::loaded)
      throw protocol::Malformed("the worker answered out of turn");
    return protocol::decode<protocol::Loaded>(payload);
  }

  void accept(const protocol::Loaded& loaded, const Options& options) {
    if (loaded.abi != PRENORM_ABI) {
      return fail("ABI " + std::to_string(loaded.abi) + ", wanted " + std::to_string(PRENORM_ABI));
    }
    const bool numpy = options.python && loaded.mode == "numpy";
    if (!loaded.mode.empty() && loaded.mode != "tf32" && !numpy) {
      return fail("prenorm_mode says \"" + loaded.mode + "\", wanted \"tf32\" or no such function");
    }
    if (loaded.mode == "tf32" && !options.tf32) {
      return fail("says that it computes in tf32, which is for solutions on a device");
    }
    const std::string other = options.declaration->difference(loaded);
    if (!other.empty()) return fail(other);
    mode = loaded.mode;
    sources = printable(loaded.sources);
    on_device = loaded.device != kDLCPU;
    facts = loaded.facts;
    if (options.note) std::ranges::for_each(loaded.notes, options.note);
    functions.clear();
    std::ranges::copy_if(loaded.functions, std::inserter(functions, functions.end()), is_name);
    if (!loaded.unavailable.empty()) {
      connection.reset();
      status = Status::skipped;
      message = printable(loaded.unavailable);
    }
  }

  Outcome call(const Call& call, const Options& options) {
    const GuardedCall guarded(call, ++calls, random);
    if (options.in_process) {
      const GuardedMemory memory(guarded.message().layout(), guarded.arena().descriptor());
      return guarded.judge(library->call(guarded.message(), memory));
    }
    Outcome outcome;
    std::string printed;
    bool error_is_told = false;
    try {
      connection->take_printed();  // not of this call
      const auto asked = std::chrono::steady_clock::now();
      const auto [kind, payload] = answer(encode(guarded.message()), options.limits.seconds,
                                          options.limits, guarded.arena().descriptor());
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - asked;
      if (kind != protocol::Kind::returned) {
        throw protocol::Malformed("the worker answered out of turn");
      }
      const protocol::Returned returned = protocol::decode<protocol::Returned>(payload);
      printed = connection->take_printed();
      if (returned.how == protocol::Returned::How::device_failed) {
        connection.reset();  // this process cannot use the device again
      }
      if (returned.number != guarded.message().number) {
        throw protocol::Malformed("the worker answered another call");
      }
      if (options.note) std::ranges::for_each(returned.notes, options.note);
      outcome = guarded.judge(returned);
      outcome.printed = std::move(printed);
      // Whatever the worker's clock says, the call cannot have taken longer than the wait for it.
      outcome.seconds = std::min(outcome.seconds, waited.count());
      return outcome;
    } catch (const Faulted& faulted) {
      outcome = guarded.judge(faulted.fault);
    } catch (const ProcessEnded& end) {
      outcome = judge(end);
      error_is_told = true;
    } catch (const ProcessOverLimit& over) {
      outcome.status = over.memory ? Status::out_of_memory : Status::sandbox_violation;
      outcome.message = over.what();
    } catch (const ProcessTimeout&) {
      outcome.status = Status::timeout;
      outcome.message = is_over() ? std::string("no answer before ") + time_is_over
                                  : "no answer within " + seconds_text(options.limits.seconds);
    } catch (const std::bad_alloc&) {
      connection.reset();
      throw;
    } catch (const std::exception& error) {  // Malformed; a socket that fails
      outcome.status = Status::runtime_error;
      outcome.message = printable(error.what());
    }
    outcome.printed = connection->take_printed(error_is_told);
    connection.reset();  // the next call gets a new one
    return outcome;
  }

  /// The worker's answer to a request without a payload; a default one where it answers otherwise.
  template <class Answer>
  Answer ask(protocol::Kind request, const Options& options) {
    try {
      const auto [kind, payload] =
          answer(protocol::encode(request), seconds_to_load(options.limits), options.limits);
      if (kind == Answer::kind) return protocol::decode<Answer>(payload);
    } catch (const Faulted&) {
    } catch (const std::exception&) {
    }
    connection.reset();  // the next call gets a new one
    return {};
  }

  protocol::Counts take_counts(const Options& options) {
    if (options.in_process) return library->take_counts();
    return ask<protocol::Counts>(protocol::Kind::take_counts, options);
  }

  /// Where there is no worker, or it does not answer, the next call gets a new one.
  void begin_anew(const Options& options) {
    is_anew = true;
    if (running()) ask<protocol::Begun>(protocol::Kind::begin_anew, options);
  }

  protocol::CopyBandwidth copy_bandwidth(const Options& options) {
    if (options.in_process) return library->copy_bandwidth();
    return ask<protocol::CopyBandwidth>(protocol::Kind::measure_copy, options);
  }
};

Solution::Solution(std::string label, fs::path library, std::string variant, const Options& options)
    : label_(std::move(label)),
      library_(std::move(library)),
      variant_(std::move(variant)),
      options_(options),
      worker_(std::make_unique<Worker>()) {
  if (!options_.declaration) options_.declaration = std::make_shared<Declaration>();
}
Solution::~Solution() = default;
Solution::Solution(Solution&&) noexcept = default;
Solution& Solution::operator=(Solution&&) noexcept = default;

void Solution::start() { worker_->start_early(library_, options_); }

double Solution::spent() const { return worker_->spent; }
void Solution::limit_rest(double seconds) { worker_->end = worker_->spent + seconds; }

bool Solution::load() {
  if (!worker_->tried) worker_->start(library_, options_);
  return worker_->status == Status::passed;
}

Status Solution::status() const { return worker_->status; }
const std::string& Solution::message() const { return worker_->message; }
const std::string& Solution::mode() const { return worker_->mode; }

const std::string& Solution::sources() const { return worker_->sources; }
bool Solution::on_device() const { return worker_->on_device; }
const std::optional<DeviceFacts>& Solution::device_facts() const { return worker_->facts; }

std::optional<double> Solution::copy_bandwidth() {
  if (!load() || (!worker_->running() && !worker_->start(library_, options_))) return std::nullopt;
  const double measured = worker_->copy_bandwidth(options_).bytes_per_second;
  if (std::isfinite(measured) && measured > 0) return measured;
  return std::nullopt;
}

std::string Solution::take_counts() {
  if (!load() || !worker_->running()) return "";
  return worker_->take_counts(options_).text;
}

bool Solution::running() const { return worker_->running(); }

void Solution::begin_anew() {
  if (load()) worker_->begin_anew(options_);
}

const std::set<std::string>& Solution::functions() {
  load();
  return worker_->functions;
}

std::string Solution::function_for(const std::string& problem) {
  if (!absent_for(problem).empty()) return "";
  return variant_.empty() ? problem : problem + "__" + variant_;
}

std::string Solution::absent_for(const std::string& problem) {
  return first_absent(variant_.empty() ? problem : problem + "__" + variant_, functions());
}

Outcome Solution::call(const Call& call) {
  Outcome outcome;
  if (!load() || (!worker_->running() && !worker_->start(library_, options_))) {
    outcome.status = status();
    outcome.message = message();
  } else if (worker_->is_over()) {
    outcome.status = Status::timeout;
    outcome.not_run = true;
    outcome.message = std::string("not run: ") + time_is_over;
  } else if (const std::string absent = first_absent(call.function, functions()); !absent.empty()) {
    outcome.status = Status::not_implemented;
    outcome.message = "no function prenorm_" + absent;
  } else {
    try {
      return worker_->call(call, options_);
    } catch (const std::bad_alloc&) {
      outcome.status = Status::out_of_memory;
      outcome.message = "no memory for the tensors of the call";
    }
  }
  return outcome;
}

}  // namespace prenorm::harness
