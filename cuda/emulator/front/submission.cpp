// A solution that `prenorm verify` and `prenorm grade` run in the emulator: what a kernel does
// wrong fails the call in which it does so, and the message says where in the source. The worker
// calls these functions around each call; <prenorm/prenorm.h> says what they are.
#include "bounds.hpp"
#include "counter.hpp"
#include "emulator.hpp"
#include "faults.hpp"
#include "include/cuda_runtime_api.h"
#include "source_line.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <prenorm/prenorm.h>
#include <string>
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
  if (unheard != nullptr) {
    const std::lock_guard lock(finding_mutex);
    if (finding.empty())
      finding = "a launch was refused, and never asked for its error: " + std::string(unheard);
  }
  unheard = nullptr;
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

/// A call in which the host touches what lies on the device has failed, and may go on. What a
/// kernel has done stands before what the worker says.
bool on_fault(const std::string& what, bool of_host) {
  if (!of_host) {
    std::fprintf(stderr, "%s\n", what.c_str());
    return false;
  }
  const std::lock_guard lock(finding_mutex);
  if (finding.empty()) finding = what;
  return true;
}

// When the library is loaded.
const bool set = (bounds::allow_device_variables(), describe_place = describe,
                  observe_launch = on_launch, observe_failure = on_failure,
                  counter::lines_of_places = lines_of, catch_faults(on_fault), true);

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
