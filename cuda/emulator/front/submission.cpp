// A solution that `prenorm verify` and `prenorm grade` run in the emulator: what a kernel does
// wrong fails the call in which it does so, and the message says where in the source. The worker
// calls these functions around each call; <prenorm/prenorm.h> says what they are.
#include "bounds.hpp"
#include "counter.hpp"
#include "emulator.hpp"
#include "source_line.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <prenorm/prenorm.h>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

/// Of PRENORM_SOLUTION, where a library has that.
extern "C" __attribute__((weak)) int prenorm_written_for();

namespace prenorm::emulator {
namespace {

/// Of the memory around the tensors of a call, which the harness leaves empty.
constexpr std::size_t around_tensors = 1 << 16;

std::atomic<std::int64_t> launches = 0;
std::mutex finding_mutex;
std::string finding;         // the first one of a call
bool out_of_bounds = false;  // is what it says
std::vector<const void*> tensors;

void on_launch(const Launch&) { ++launches; }

/// A submission may catch what a launch throws; it is remembered nevertheless.
void on_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const KernelError& error) {
    const std::lock_guard lock(finding_mutex);
    if (!finding.empty()) return;
    finding = error.what();
    out_of_bounds = error.kind == KernelError::Kind::out_of_bounds;
  } catch (...) {
  }
}

std::size_t bytes_of(const DLTensor& tensor) {
  std::size_t bytes = tensor.dtype.bits / 8 * tensor.dtype.lanes;
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    bytes *= static_cast<std::size_t>(tensor.shape[axis]);
  }
  return bytes;
}

/// What was written for the host, in a project that has kernels too, may read its tensors.
bounds::By who_may() {
  const bool on_device = prenorm_written_for != nullptr && prenorm_written_for() == kDLCUDA;
  return on_device ? bounds::By::kernels : bounds::By::kernels_and_host;
}

void allow(const DLTensor* tensor, const std::string& name) {
  if (tensor == nullptr) return;
  const void* data = static_cast<const std::byte*>(tensor->data) + tensor->byte_offset;
  bounds::allow(data, bytes_of(*tensor), around_tensors, name, who_may());
  tensors.push_back(data);
}

void end_call() {
  bounds::end_host();
  for (const void* data : std::exchange(tensors, {})) bounds::forbid(data);
}

void begin_call(const prenorm_call& call) {
  end_call();
  launches = 0;
  finding.clear();
  out_of_bounds = false;
  // The harness knows their names, and puts them in place of these.
  for (int i = 0; i < call.num_inputs; ++i) {
    allow(call.inputs[i], "input " + std::to_string(i + 1));
  }
  for (int i = 0; i < call.num_outputs; ++i) {
    allow(call.outputs[i], "output " + std::to_string(i + 1));
  }
  bounds::begin_host();
}

struct sigaction before[NSIG];

/// The host has accessed a device's memory: the call has failed, and may go on.
bool is_hosts_mistake(const siginfo_t& info, const void* code) {
  const std::string* name = bounds::stopped_at(info.si_addr);
  if (name == nullptr || info.si_code != SEGV_ACCERR) return false;
  const std::lock_guard lock(finding_mutex);
  if (finding.empty()) {
    finding = "host code accesses " + *name +
              ", which lies on the device: a kernel can, or copy it" + in_brackets(line_of(code));
  }
  bounds::end_host();
  return true;
}

/// A kernel has touched what is no memory: says where, then lets the worker say the rest.
void on_fault(int number, siginfo_t* info, void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const std::byte*>(registers[REG_RIP]) + 1;
  const std::string kernel = where();
  if (kernel.empty() && is_hosts_mistake(*info, code)) return;  // the access is repeated
  ::sigaction(number, &before[number], nullptr);
  if (!kernel.empty()) {
    std::fprintf(stderr, "%s: accesses no memory, at %p%s\n", kernel.c_str(), info->si_addr,
                 in_brackets(line_of(code)).c_str());
  }
  if (info->si_code <= 0) std::raise(number);
}  // the access is repeated

void catch_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS}) ::sigaction(number, &action, &before[number]);
}

// When the library is loaded.
const bool set =
    (describe_place = describe, observe_launch = on_launch, observe_failure = on_failure,
     counter::lines_of_places = lines_of, catch_faults(), true);

}  // namespace
}  // namespace prenorm::emulator

extern "C" PRENORM_API void prenorm_watch(const prenorm_call* call) {
  if (call == nullptr) return prenorm::emulator::end_call();
  prenorm::emulator::begin_call(*call);
}
extern "C" PRENORM_API const char* prenorm_finding() { return prenorm::emulator::finding.c_str(); }
extern "C" PRENORM_API int prenorm_found_out_of_bounds() {
  return prenorm::emulator::out_of_bounds;
}
extern "C" PRENORM_API std::int64_t prenorm_launches() { return prenorm::emulator::launches; }
