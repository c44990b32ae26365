// A CUDA driver without a device: the functions that the harness calls, on host memory.
//
// As on a device, work that is enqueued is done when somebody waits for it, out-of-memory is an
// answer, and a fault stays: every later call gives the same error. INIT_RESULT is what cuInit
// says. With AT_ONCE, work is done when it is enqueued: for solutions whose kernels run on the host
// inside the call, so that events before and after it tell its time. WITHOUT_PTX, no kernel can be
// translated.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace {

using Pointer = unsigned long long;
using Clock = std::chrono::steady_clock;

constexpr int invalid_value = 1, out_of_memory = 2, illegal_address = 700;
constexpr std::size_t memory = std::size_t{256} << 20, l2 = std::size_t{1} << 20;

std::map<Pointer, std::size_t> allocations;
std::size_t allocated = 0;  // bytes
std::size_t overwritten = 0;
int resets = 0;  // of what persists in the cache
// Of the cache: how much must yet be written to memory, and what was written last.
std::size_t dirty = 0;
Pointer written = 0, written_end = 0;
std::deque<std::function<void()>> work;
std::set<void*> streams;
std::map<void*, Clock::time_point> events;
int fault = 0;
int handles = 0;
bool current = false;  // a context has been made so

/// A handle of the driver's: no pointer to anything.
void* new_handle() { return reinterpret_cast<void*>(static_cast<std::size_t>(++handles) * 16); }

int do_all() {
  while (!work.empty() && fault == 0) {
    work.front()();
    work.pop_front();
  }
  return fault;
}

bool on_device(Pointer begin, std::size_t bytes) {
  auto after = allocations.upper_bound(begin);
  if (after == allocations.begin()) return false;
  const auto [start, length] = *--after;
  return begin + bytes <= start + length;
}

void write(Pointer begin, std::size_t bytes) {
  dirty = std::min(l2, dirty + bytes);
  written = begin;
  written_end = begin + bytes;
}

/// What is read takes the place of as much that was written; not where it is this itself.
void read(Pointer begin, std::size_t bytes) {
  const bool is_written = begin < written_end && written < begin + bytes;
  if (!is_written) dirty -= std::min(dirty, bytes);
}

int enqueue(void* stream, std::function<void()> what) {
  if (fault != 0) return fault;
  if (!current || !streams.contains(stream)) return invalid_value;
  work.push_back(std::move(what));
#if defined(AT_ONCE)
  return do_all();
#else
  return 0;
#endif
}

void* host(Pointer pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace

#define DRIVER extern "C" __attribute__((visibility("default")))

DRIVER int cuGetErrorName(int result, const char** name) {
  switch (result) {
    case out_of_memory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
    case illegal_address: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
    case 803: *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; return 0;
    default: *name = nullptr; return invalid_value;
  }
}

DRIVER int cuGetErrorString(int result, const char** text) {
  switch (result) {
    case out_of_memory: *text = "out of memory"; return 0;
    case illegal_address: *text = "an illegal memory access was encountered"; return 0;
    case 803: *text = "system has unsupported display driver / cuda driver combination"; return 0;
    default: *text = nullptr; return invalid_value;
  }
}

DRIVER int cuInit(unsigned) { return INIT_RESULT; }
DRIVER int cuDriverGetVersion(int* version) {
  *version = 13020;
  return 0;
}
DRIVER int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
DRIVER int cuDeviceGet(int* device, int ordinal) {
  *device = 40 + ordinal;
  return ordinal == 0 ? 0 : invalid_value;
}
DRIVER int cuDeviceGetName(char* name, int length, int device) {
  std::strncpy(name, "Fake Device 1", static_cast<std::size_t>(length));
  return device == 40 ? 0 : invalid_value;
}
DRIVER int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 38: *value = static_cast<int>(l2); return 0;
    case 75: *value = 9; return 0;
    case 76: *value = 0; return 0;
    default: return invalid_value;
  }
}
DRIVER int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = memory;
  return 0;
}
DRIVER int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = new_handle();
  return 0;
}
DRIVER int cuCtxSetCurrent(void* context) {
  current = context != nullptr;
  return fault;
}
DRIVER int cuCtxSynchronize() { return do_all(); }
DRIVER int cuStreamSynchronize(void* stream) {
  return streams.contains(stream) ? do_all() : invalid_value;
}

DRIVER int cuMemAlloc_v2(Pointer* pointer, std::size_t bytes) {
  if (fault != 0) return fault;
  if (!current || bytes == 0) return invalid_value;
  if (allocated + bytes > memory) return out_of_memory;
  void* fresh = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  *pointer = reinterpret_cast<Pointer>(fresh);
  allocations[*pointer] = bytes;
  allocated += bytes;
  return 0;
}
DRIVER int cuMemFree_v2(Pointer pointer) {
  if (fault != 0) return fault;
  const auto found = allocations.find(pointer);
  if (found == allocations.end()) return invalid_value;
  do_all();
  allocated -= found->second;
  allocations.erase(found);
  std::free(host(pointer));
  return 0;
}

DRIVER int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, void* stream) {
  if (!on_device(to, bytes)) return invalid_value;
  return enqueue(stream, [=] {
    std::memcpy(host(to), from, bytes);
    write(to, bytes);
  });
}
DRIVER int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, void* stream) {
  if (!on_device(from, bytes)) return invalid_value;
  return enqueue(stream, [=] { std::memcpy(to, host(from), bytes); });
}
DRIVER int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes, void* stream) {
  if (!on_device(to, bytes) || !on_device(from, bytes)) return invalid_value;
  return enqueue(stream, [=] { std::memcpy(host(to), host(from), bytes); });
}
DRIVER int cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, void* stream) {
  if (!on_device(to, bytes)) return invalid_value;
  return enqueue(stream, [=] {
    std::memset(host(to), value, bytes);
    overwritten += bytes;
    write(to, bytes);
  });
}

DRIVER int cuStreamCreate(void** stream, unsigned flags) {
  *stream = new_handle();
  streams.insert(*stream);
  return flags == 1 ? 0 : invalid_value;
}
DRIVER int cuStreamSetAttribute(void* stream, int attribute, const unsigned char* value) {
  const bool is_reset =
      attribute == 1 && std::all_of(value, value + 64, [](auto c) { return c == 0; });
  resets += is_reset ? 1 : 0;
  return streams.contains(stream) ? 0 : invalid_value;
}
DRIVER int cuCtxSetLimit(int limit, std::size_t value) {
  resets += limit == 6 && value == 0 ? 1 : 0;
  return 0;
}
DRIVER int cuCtxResetPersistingL2Cache() {
  ++resets;
  return 0;
}
DRIVER int cuEventCreate(void** event, unsigned) {
  *event = new_handle();
  return 0;
}
DRIVER int cuEventRecord(void* event, void* stream) {
  return enqueue(stream, [=] { events[event] = Clock::now(); });
}
DRIVER int cuEventSynchronize(void*) { return do_all(); }
DRIVER int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  if (fault != 0) return fault;
  if (!events.contains(start) || !events.contains(end)) return invalid_value;
  *milliseconds = std::chrono::duration<float, std::milli>(events[end] - events[start]).count();
  return 0;
}

// The one kernel that the harness has.
DRIVER int cuModuleLoadData(void** module, const void* image) {
#if defined(WITHOUT_PTX)
  constexpr const char* known = "nothing";
#else
  constexpr const char* known = ".entry read_all(";
#endif
  *module = new_handle();
  const bool is_known = std::strstr(static_cast<const char*>(image), known) != nullptr;
  return current && is_known ? 0 : invalid_value;
}
DRIVER int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = new_handle();
  return std::strcmp(name, "read_all") == 0 ? 0 : invalid_value;
}
DRIVER int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void** parameters, void**) {
  const Pointer from = *static_cast<Pointer*>(parameters[0]);
  const std::size_t bytes = *static_cast<std::size_t*>(parameters[1]);
  if (!on_device(from, bytes)) return invalid_value;
  return enqueue(stream, [=] { read(from, bytes); });
}

// For the tests and their solution.
DRIVER int fake_cuda_launch(void* stream, void (*kernel)(void*), void* argument) {
  return enqueue(stream, [=] { kernel(argument); });
}
DRIVER void fake_cuda_fault() { fault = illegal_address; }
DRIVER bool fake_cuda_owns(const void* pointer) {
  return on_device(reinterpret_cast<Pointer>(pointer), 0);
}
DRIVER int fake_cuda_allocations() { return static_cast<int>(allocations.size()); }
DRIVER double fake_cuda_overwritten() { return static_cast<double>(overwritten); }
DRIVER int fake_cuda_resets() { return resets; }
DRIVER double fake_cuda_dirty() { return static_cast<double>(dirty); }
