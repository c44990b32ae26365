// An NVIDIA device, through the driver's API only. The context is the device's primary one, which
// the CUDA runtime inside a solution uses too: pointers, streams and errors are shared with it.
#include "worker/device.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <optional>
#include <string>

namespace prenorm::harness {
namespace {

/// NVIDIA's driver, loaded on demand. The declarations are our own: the harness builds without the
/// CUDA toolkit and runs without a driver.
namespace cuda {

using Result = int;                     // CUresult
using DeviceNumber = int;               // CUdevice
using Pointer = unsigned long long;     // CUdeviceptr
using Context = struct ContextObject*;  // CUcontext
using Stream = struct StreamObject*;    // CUstream
using Event = struct EventObject*;      // CUevent
using Module = struct ModuleObject*;    // CUmodule
using Function = struct CodeObject*;    // CUfunction

constexpr Result success = 0, out_of_memory = 2, no_device = 100;
/// CUdevice_attribute.
constexpr int l2_cache_size = 38, capability_major = 75, capability_minor = 76;
/// CUstream_flags: no waiting for the legacy default stream.
constexpr unsigned non_blocking = 1;
/// CUlimit, CUstreamAttrID.
constexpr int persisting_l2_bytes = 6, access_policy_window = 1;

/// CUstreamAttrValue; all zeros: no window.
struct StreamAttribute {
  alignas(8) unsigned char bytes[64];
};

void* open_library() {
  const char* given = std::getenv("PRENORM_CUDA_DRIVER");
  const bool chosen = given != nullptr && *given != '\0';
  if (void* library = ::dlopen(chosen ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    return library;
  }
  const std::string reason = ::dlerror();
  const bool absent = reason.find("No such file") != std::string::npos;
  throw NoDevice(absent ? "no CUDA device" : "the CUDA driver cannot be loaded: " + reason);
}

/// Where a function of the library lies, as what it is declared as; null where there is none.
struct Symbol {
  void* address;

  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
};

Symbol newer(const char* name) {
  static void* const library = open_library();
  return {::dlsym(library, name)};
}

Symbol required(const char* name) {
  const Symbol symbol = newer(name);
  if (symbol.address != nullptr) return symbol;
  throw NoDevice("the CUDA driver is too old: it has no function " + std::string(name));
}

/// The driver's functions, under its own names without `cu`.
struct Driver {
  Result (*GetErrorName)(Result, const char**) = required("cuGetErrorName");
  Result (*GetErrorString)(Result, const char**) = required("cuGetErrorString");
  Result (*Init)(unsigned flags) = required("cuInit");
  Result (*DriverGetVersion)(int*) = required("cuDriverGetVersion");
  Result (*DeviceGetCount)(int*) = required("cuDeviceGetCount");
  Result (*DeviceGet)(DeviceNumber*, int ordinal) = required("cuDeviceGet");
  Result (*DeviceGetName)(char*, int length, DeviceNumber) = required("cuDeviceGetName");
  Result (*DeviceGetAttribute)(int*, int attribute,
                               DeviceNumber) = required("cuDeviceGetAttribute");
  Result (*DeviceTotalMem)(std::size_t*, DeviceNumber) = required("cuDeviceTotalMem_v2");
  Result (*DevicePrimaryCtxRetain)(Context*, DeviceNumber) = required("cuDevicePrimaryCtxRetain");
  Result (*CtxSetCurrent)(Context) = required("cuCtxSetCurrent");
  Result (*CtxSynchronize)() = required("cuCtxSynchronize");
  Result (*MemAlloc)(Pointer*, std::size_t bytes) = required("cuMemAlloc_v2");
  Result (*MemFree)(Pointer) = required("cuMemFree_v2");
  Result (*MemcpyHtoDAsync)(Pointer to, const void* from, std::size_t bytes,
                            Stream) = required("cuMemcpyHtoDAsync_v2");
  Result (*MemcpyDtoHAsync)(void* to, Pointer from, std::size_t bytes,
                            Stream) = required("cuMemcpyDtoHAsync_v2");
  Result (*MemcpyDtoDAsync)(Pointer to, Pointer from, std::size_t bytes,
                            Stream) = required("cuMemcpyDtoDAsync_v2");
  Result (*MemsetD8Async)(Pointer, unsigned char value, std::size_t bytes,
                          Stream) = required("cuMemsetD8Async");
  Result (*StreamCreate)(Stream*, unsigned flags) = required("cuStreamCreate");
  Result (*StreamSynchronize)(Stream) = required("cuStreamSynchronize");
  Result (*EventCreate)(Event*, unsigned flags) = required("cuEventCreate");
  Result (*EventRecord)(Event, Stream) = required("cuEventRecord");
  Result (*EventSynchronize)(Event) = required("cuEventSynchronize");
  Result (*EventElapsedTime)(float* milliseconds, Event start,
                             Event end) = required("cuEventElapsedTime");
  Result (*ModuleLoadData)(Module*, const void* image) = required("cuModuleLoadData");
  Result (*ModuleGetFunction)(Function*, Module,
                              const char* name) = required("cuModuleGetFunction");
  Result (*LaunchKernel)(Function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                         unsigned threads_x, unsigned threads_y, unsigned threads_z,
                         unsigned shared_bytes, Stream, void** parameters,
                         void** extra) = required("cuLaunchKernel");
  // Of CUDA 11; null where the driver is older.
  Result (*CtxSetLimit)(int limit, std::size_t value) = newer("cuCtxSetLimit");
  Result (*CtxResetPersistingL2Cache)() = newer("cuCtxResetPersistingL2Cache");
  Result (*StreamSetAttribute)(Stream, int attribute,
                               const StreamAttribute*) = newer("cuStreamSetAttribute");

  /// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string text(Result result) const {
    const char *name = nullptr, *meaning = nullptr;
    if (GetErrorName(result, &name) != success || name == nullptr) {
      return "CUDA error " + std::to_string(result);
    }
    if (GetErrorString(result, &meaning) != success || meaning == nullptr) return name;
    return std::string(meaning) + " (" + name + ")";
  }
};

/// Loads libcuda.so.1, or the library that $PRENORM_CUDA_DRIVER names. Once; never unloaded.
///
/// Throws NoDevice: "no CUDA device" if there is no such library, else what is wrong with it.
const Driver& driver() {
  static const Driver loaded{};
  return loaded;
}

/// Throws OutOfDeviceMemory or DeviceFailed unless the result is success.
void check(Result result) {
  if (result == success) return;
  if (result == out_of_memory) throw OutOfDeviceMemory("out of device memory");
  throw DeviceFailed("the device failed: " + driver().text(result));
}

/// Bytes on the device.
class Allocation {
 public:
  /// Throws as check does.
  explicit Allocation(std::size_t bytes) : size_(bytes) {
    check(driver().MemAlloc(&pointer_, bytes));
  }
  ~Allocation() { driver().MemFree(pointer_); }
  Allocation(Allocation&&) = delete;  // nor copied

  Pointer get() const { return pointer_; }
  std::size_t size() const { return size_; }

 private:
  Pointer pointer_ = 0;
  std::size_t size_;
};

/// Reads [from, from + bytes), 16 bytes per thread at a time. PTX, so that the harness needs no
/// CUDA compiler; volatile, so that loads stay though nobody uses what they load.
constexpr const char* read_all_ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry read_all(.param .u64 from, .param .u64 bytes) {
  .reg .pred %done;
  .reg .b32 %block, %size, %thread, %threads, %a, %b, %c, %d;
  .reg .b64 %at, %end, %step;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %thread, %block, %size, %thread;
  mov.u32 %threads, %nctaid.x;
  mul.lo.u32 %threads, %threads, %size;
  ld.param.u64 %at, [from];
  ld.param.u64 %end, [bytes];
  add.u64 %end, %at, %end;
  mul.wide.u32 %step, %thread, 16;
  add.u64 %at, %at, %step;
  mul.wide.u32 %step, %threads, 16;
next:
  setp.ge.u64 %done, %at, %end;
  @%done ret;
  ld.volatile.global.v4.u32 {%a, %b, %c, %d}, [%at];
  add.u64 %at, %at, %step;
  bra next;
}
)";

/// Null where the driver has no compiler for PTX: then the cache is written over, and no more.
Function find_read_all() {
  Module module = nullptr;
  Function function = nullptr;
  if (driver().ModuleLoadData(&module, read_all_ptx) != success) return nullptr;
  if (driver().ModuleGetFunction(&function, module, "read_all") != success) return nullptr;
  return function;
}

/// Lines that a solution lets persist in the cache would survive the flush. Not every device has
/// such lines, so failures mean nothing.
void reset_persisting_lines(Stream stream) {
  constexpr StreamAttribute no_window{};
  const Driver& functions = driver();
  if (functions.StreamSetAttribute != nullptr) {
    functions.StreamSetAttribute(stream, access_policy_window, &no_window);
  }
  if (functions.CtxSetLimit != nullptr) functions.CtxSetLimit(persisting_l2_bytes, 0);
  if (functions.CtxResetPersistingL2Cache != nullptr) functions.CtxResetPersistingL2Cache();
}

/// The level 2 cache of a device, before a timed call: none of the call's data is in it, and no
/// line of it has to be written to memory during the call.
class Cache {
 public:
  /// `bytes` of level 2 cache. Nothing is allocated before the first flush.
  explicit Cache(std::size_t bytes) : bytes_(bytes) {}

  /// Enqueues the flush: what may persist is reset, four times the cache's size is written, and as
  /// much of other memory, which is clean, is read. The context must be current.
  ///
  /// Throws OutOfDeviceMemory or DeviceFailed.
  void flush(Stream stream) {
    reset_persisting_lines(stream);
    if (!clean_) allocate(stream);
    // While the device does this, the host is already at the call: launches cost no time.
    check(driver().MemsetD8Async(written_->get(), 0, written_->size(), stream));
    if (read_all_ == nullptr) return;
    // What was written would itself be written to memory when the call's data takes its place.
    Pointer from = clean_->get();
    std::size_t bytes = clean_->size();
    void* parameters[] = {&from, &bytes};
    constexpr unsigned blocks = 1024, threads = 256;
    check(driver().LaunchKernel(read_all_, blocks, 1, 1, threads, 1, 1, 0, stream, parameters,
                                nullptr));
  }

 private:
  void allocate(Stream stream) {
    const std::size_t bytes = 4 * std::max<std::size_t>(bytes_, 1 << 20);
    written_.emplace(bytes);
    clean_.emplace(bytes);
    check(driver().MemsetD8Async(clean_->get(), 0, bytes, stream));
    read_all_ = find_read_all();
  }

  std::size_t bytes_;
  std::optional<Allocation> written_, clean_;
  Function read_all_ = nullptr;  // null: the driver cannot translate it
};

}  // namespace cuda

using namespace cuda;

/// Throws the error for a result while the device is being opened.
void check_opening(Result result) {
  if (result == success) return;
  if (result == no_device) throw NoDevice("no CUDA device");
  throw NoDevice("the CUDA driver fails: " + driver().text(result));
}

class MirroredPages : public Device::Buffers {
 public:
  /// Each region has its own allocation, so that a memory checker knows its bounds.
  MirroredPages(const std::vector<Region>& regions, const GuardedMemory& memory, Stream stream)
      : stream_(stream) {
    for (const Region& region : regions) {
      mirrors_.push_back({region, memory.base() + region.address_offset,
                          std::make_unique<Allocation>(region.length)});
      const Mirror& mirror = mirrors_.back();
      check(driver().MemcpyHtoDAsync(mirror.pages->get(), mirror.host, region.length, stream));
    }
    check(driver().StreamSynchronize(stream));
  }

  std::byte* data(const Region& region) const override {
    const auto found = std::ranges::find(mirrors_, region.address_offset, [](const Mirror& mirror) {
      return mirror.region.address_offset;
    });
    return reinterpret_cast<std::byte*>(found->pages->get() + region.data_offset);
  }

  void copy_back() override {
    for (const Mirror& mirror : mirrors_) {
      check(driver().MemcpyDtoHAsync(mirror.host, mirror.pages->get(), mirror.region.length,
                                     stream_));
    }
    check(driver().StreamSynchronize(stream_));
  }

 private:
  struct Mirror {
    Region region;
    std::byte* host;
    std::unique_ptr<Allocation> pages;
  };
  std::vector<Mirror> mirrors_;
  Stream stream_;
};

int attribute(DeviceNumber device, int which) {
  int value = 0;
  check_opening(driver().DeviceGetAttribute(&value, which, device));
  return value;
}

/// "580.65.06, CUDA 13.0".
std::string driver_version() {
  int version = 0;
  check_opening(driver().DriverGetVersion(&version));
  std::string text =
      "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  std::string release;
  std::ifstream("/sys/module/nvidia/version") >> release;
  return release.empty() ? text : release + ", " + text;
}

class Cuda : public Device {
 public:
  Cuda() {
    check_opening(driver().Init(0));
    int count = 0;
    check_opening(driver().DeviceGetCount(&count));
    if (count == 0) throw NoDevice("no CUDA device");
    check_opening(driver().DeviceGet(&device_, 0));  // CUDA_VISIBLE_DEVICES says which that is
    check_opening(driver().DevicePrimaryCtxRetain(&context_, device_));
    check_opening(driver().CtxSetCurrent(context_));
    // Work that a solution puts elsewhere than on the call's stream is waited for, and is right if
    // it is right; but it is not ordered with the events, so its time means nothing.
    check_opening(driver().StreamCreate(&stream_, non_blocking));
    check_opening(driver().EventCreate(&start_, 0));
    check_opening(driver().EventCreate(&end_, 0));
    facts_ = ask_facts();
    cache_.emplace(facts_.l2);
  }

  DLDevice place() const override { return {kDLCUDA, 0}; }
  void* stream() const override { return stream_; }
  std::optional<DeviceFacts> facts() const override { return facts_; }

  std::unique_ptr<Buffers> copy(const std::vector<Region>& regions,
                                const GuardedMemory& memory) override {
    check(driver().CtxSetCurrent(context_));  // the last call may have chosen another
    return std::make_unique<MirroredPages>(regions, memory, stream_);
  }

  double time(const std::function<void()>& call, bool cold) override {
    if (cold) cache_->flush(stream_);
    check(driver().EventRecord(start_, stream_));
    call();
    check(driver().CtxSetCurrent(context_));
    check(driver().EventRecord(end_, stream_));
    check(driver().CtxSynchronize());  // all streams: no work continues into the next call
    return elapsed();
  }

  double copy_bandwidth() override {
    check(driver().CtxSetCurrent(context_));
    const std::size_t bytes =
        std::min<std::size_t>(std::size_t{1} << 30, facts_.memory / 8 / 4096 * 4096);
    const Allocation from(bytes), to(bytes);
    check(driver().MemsetD8Async(from.get(), 1, bytes, stream_));
    std::vector<double> seconds;
    for (int i = -3; i < 20; ++i) {  // the first ones warm up
      check(driver().EventRecord(start_, stream_));
      check(driver().MemcpyDtoDAsync(to.get(), from.get(), bytes, stream_));
      check(driver().EventRecord(end_, stream_));
      check(driver().EventSynchronize(end_));
      if (i >= 0) seconds.push_back(elapsed());
    }
    return 2 * static_cast<double>(bytes) / median(seconds);
  }

 private:
  double elapsed() const {
    float milliseconds = 0;
    check(driver().EventElapsedTime(&milliseconds, start_, end_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

  DeviceFacts ask_facts() const {
    DeviceFacts facts;
    std::array<char, 256> name{};
    check_opening(driver().DeviceGetName(name.data(), static_cast<int>(name.size() - 1), device_));
    facts.name = name.data();
    facts.compute_capability = std::to_string(attribute(device_, capability_major)) + "." +
                               std::to_string(attribute(device_, capability_minor));
    facts.driver = driver_version();
    std::size_t memory = 0;
    check_opening(driver().DeviceTotalMem(&memory, device_));
    facts.memory = memory;
    facts.l2 = static_cast<std::uint64_t>(std::max(0, attribute(device_, l2_cache_size)));
    return facts;
  }

  DeviceNumber device_ = 0;
  // As long as the process: its end takes them along, and a solution's threads may still use them.
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  Event start_ = nullptr, end_ = nullptr;
  DeviceFacts facts_;
  std::optional<Cache> cache_;
};

}  // namespace

std::unique_ptr<Device> open_cuda() { return std::make_unique<Cuda>(); }

}  // namespace prenorm::harness
