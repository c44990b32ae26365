// The functions of cuda_runtime_api.h that are more than a line.
#include "faults.hpp"
#include "include/cuda_runtime_api.h"
#include "watch.hpp"

#include "block.hpp"
#include "bounds.hpp"
#include "own_segments.hpp"

#include <algorithm>
#include <boost/context/detail/exception.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace prenorm::emulator {

/// What the device on paper has.
constexpr std::size_t device_bytes = std::size_t{8} << 30;

struct Allocation {
  std::size_t bytes;
  cudaMemoryType type;
  bool registered = false;  // the host's own memory, that somebody else frees
};
struct Allocations {
  std::mutex mutex;
  std::map<const char*, Allocation> by_address, freed;

  /// The one that a pointer points into, or to the end of; end() where there is none.
  auto find(const void* memory) {
    const char* const at = static_cast<const char*>(memory);
    auto next = by_address.upper_bound(at);
    if (next == by_address.begin()) return by_address.end();
    --next;
    const char* const end = next->first + next->second.bytes;
    return at < end || (at == end && !next->second.registered) ? next : by_address.end();
  }
};
Allocations& allocations() {
  static auto* const all = new Allocations;  // some are freed after main()
  return *all;
}
/// Made before a program has threads: ThreadSanitizer does not see that the first of them makes it.
[[maybe_unused]] const Allocations& made = allocations();

constexpr std::size_t alignment = 256;  // CUDA's
[[maybe_unused]] constexpr std::size_t page = 4096;

void* host_memory(std::size_t bytes, [[maybe_unused]] cudaMemoryType type) {
  if (bytes == 0 || bytes > device_bytes) return nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // Of exactly this size, so that a step beyond is seen.
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
#elif defined(PRENORM_EMULATOR_WATCHED)
  // On pages of its own, with one of nobody's on both sides.
  const std::size_t rounded = (bytes + page - 1) / page * page;
  auto* memory = static_cast<char*>(std::aligned_alloc(page, rounded + 2 * page));
  if (memory == nullptr) return nullptr;
  bounds::allow(memory + page, bytes, page, "an allocation of " + std::to_string(bytes) + " bytes",
                type == cudaMemoryTypeDevice ? bounds::By::kernels : bounds::By::kernels_and_host);
  if (type == cudaMemoryTypeDevice) bounds::begin_unwritten(memory + page);
  return memory + page;
#else
  // Its end, which belongs to it (find), is not where other memory begins. And ThreadSanitizer
  // knows that it was freed for as long as nobody else gets it: few ask for so much.
  const std::size_t unit = RaceFiber::used ? page : alignment;
  return std::aligned_alloc(alignment, (bytes / unit + (RaceFiber::used ? 3 : 1)) * unit);
#endif
}

void free_host_memory(void* memory) {
#if defined(PRENORM_EMULATOR_WATCHED)
  bounds::forbid(memory);
  memory = static_cast<char*>(memory) - page;
#endif
  std::free(memory);
}

void* allocate(std::size_t bytes, cudaMemoryType type) {
  void* const memory = host_memory(bytes, type);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(allocations().mutex);
  const char* const at = static_cast<const char*>(memory);
  allocations().by_address[at] = {bytes, type, false};
  std::erase_if(allocations().freed, [&](const auto& each) {
    return each.first < at + bytes && at < each.first + each.second.bytes;
  });
  return memory;
}

void know_host_memory(void* memory, std::size_t bytes) {
  const std::lock_guard lock(allocations().mutex);
  const char* const at = static_cast<const char*>(memory);
  const auto found = allocations().by_address.find(at);
  const bool is_ours = found != allocations().by_address.end() && !found->second.registered;
  if (is_ours) return;
  if (bytes > 0) {
    allocations().by_address[at] = {bytes, cudaMemoryTypeHost, true};
  } else {
    allocations().by_address.erase(at);
  }
}

cudaError_t release(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  {
    const std::lock_guard lock(allocations().mutex);
    const auto found = allocations().by_address.find(static_cast<const char*>(memory));
    if (found == allocations().by_address.end() || found->second.registered) {
      return remember(cudaErrorInvalidValue);
    }
    auto gone = allocations().by_address.extract(found);
    allocations().freed.insert(std::move(gone));
  }
  free_host_memory(memory);
  return cudaSuccess;
}

void copy(void* to, const void* from, std::size_t bytes) {
  const bounds::Open device_memory;
  if (bytes > 0) std::memmove(to, from, bytes);
  bounds::wrote(to, bytes);
}
void fill(void* to, int value, std::size_t bytes) {
  const bounds::Open device_memory;
  if (bytes > 0) std::memset(to, value, bytes);
  bounds::wrote(to, bytes);
}

/// Whether it is in memory that was freed, and not given again. Called with the lock.
bool was_freed(const void* memory) {
  const auto& freed = allocations().freed;
  const char* const at = static_cast<const char*>(memory);
  const auto next = freed.upper_bound(at);
  return next != freed.begin() && at < std::prev(next)->first + std::prev(next)->second.bytes;
}

/// Whose memory it is; none where that is not known: of a program's own variables.
enum class Side { none, host, device, both };
Side side_of(const void* memory) {
  static const Segment variables = own_segments().variables;
  if (memory == nullptr || variables.holds(memory)) return Side::none;
  const std::lock_guard lock(allocations().mutex);
  const auto found = allocations().find(memory);
  if (found == allocations().by_address.end()) {
    return bounds::is_on_device(memory) ? Side::device : Side::host;
  }
  return found->second.type == cudaMemoryTypeDevice ? Side::device : Side::both;
}

bool fits(const void* to, const void* from, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return kind == cudaMemcpyDefault || (side_of(to) != (to_device ? Side::host : Side::device) &&
                                       side_of(from) != (from_device ? Side::host : Side::device));
}

bool can_fill(const void* to) { return side_of(to) != Side::host; }

void look_at_argument(int number, const void* pointer) {
  if (side_of(pointer) != Side::host) return;
  const std::lock_guard lock(allocations().mutex);
  bounds::suspect(number, pointer,
                  was_freed(pointer) ? "memory that was freed" : "the host's memory");
}

bool has_room(const void* memory, std::size_t bytes) {
  if (memory == nullptr) return bytes == 0;
  const std::lock_guard lock(allocations().mutex);
  const auto found = allocations().find(memory);
  if (found == allocations().by_address.end()) return true;
  const auto offset = static_cast<const char*>(memory) - found->first;
  return bytes <= found->second.bytes - static_cast<std::size_t>(offset);
}

// --- which kernel a call is of -------------------------------------------------------------------

/// What enter_kernel throws to the one who asks.
struct Answer {
  const char* signature;
};
thread_local bool asked = false;

void enter_kernel(const char* signature) {
  if (asked) throw Answer{signature};
  have_room_for_faults();
  if (!running()) {
    throw KernelError("kernel " + std::string(signature) +
                      " is called like a function: a launch has <<<blocks, threads>>>" +
                      described({}, __builtin_return_address(0)));
  }
}

std::string kernel_of(const std::function<void()>& call) {
  std::string signature;
  asked = true;
  try {
    call();
  } catch (const Answer& answer) {
    signature = answer.signature;
  }
  asked = false;
  return signature;
}

std::string name_of(const std::function<void()>& call) {
  std::string name = kernel_of(call);  // void scope::kernel(float*) [with ...]
  name.resize(std::min(name.find('('), name.size()));
  return name.substr(name.rfind(' ') + 1);
}

void no_kernel_at(const Place& here) {
  throw KernelError(
      "a launch by an address that is not written as a kernel's name is not emulated" +
      described(here, nullptr));
}

struct Leave {
  std::mutex mutex;
  std::map<std::string, std::size_t> bytes;  // by the kernel's signature
};
Leave& leave() {
  static Leave all;
  return all;
}

cudaError_t allow_shared(const std::string& signature, int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > most_shared_bytes) {
    return remember(cudaErrorInvalidValue);
  }
  const std::lock_guard lock(leave().mutex);
  leave().bytes[signature] = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

std::size_t allowed_shared(const std::string& signature) {
  const std::lock_guard lock(leave().mutex);
  std::size_t most = shared_without_leave;
  for (const std::string& each : {std::string(), signature}) {
    const auto found = leave().bytes.find(each);
    if (found != leave().bytes.end()) most = std::max(most, found->second);
  }
  return most;
}

// --- launches ------------------------------------------------------------------------------------

/// CUDA's words for a launch that is refused, and why this thread's last one was. As CUDA's own,
/// they are there until the program ends.
thread_local const char* refused_launch = "invalid configuration argument";

const char* kept(const std::string& text) {
  static std::mutex mutex;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return texts->insert(text).first->c_str();
}

/// Device code has no exceptions: a kernel that throws one has failed, whoever would catch it.
void run_thread(const std::function<void()>& body) {
  try {
    body();
  } catch (const KernelError&) {
    throw;
  } catch (const Abandoned&) {
    throw;
  } catch (const std::exception& error) {
    fail(std::string("throws ") + error.what());
  } catch (const boost::context::detail::forced_unwind&) {
    throw;
  } catch (...) {
    fail("throws an exception");
  }
}

void launch_kernel(const char* name, const Shape& shape, const std::function<void()>& body) {
  if (shape.shared > shared_without_leave && shape.shared > allowed_shared(kernel_of(body))) {
    bounds::take_suspects();
    unheard =
        kept("kernel " + std::string(name) + ": " + std::to_string(shape.shared) +
             " bytes of dynamic shared memory, more than " + std::to_string(shared_without_leave) +
             " without cudaFuncSetAttribute" + described(shape.at, nullptr));
    remember(cudaErrorInvalidValue);
    return;
  }
  try {
    const Watched watched;
    const dim3 grid = shape.grid;
    const unsigned together = shape.cooperative ? grid.x * grid.y * grid.z : 1;
    run({name, grid, shape.block, shape.shared, together, shape.at, shape.cooperative},
        [&body] { run_thread(body); });
  } catch (const std::invalid_argument& why) {  // a launch that every device refuses
    refused_launch = kept("invalid configuration argument (" + std::string(why.what()) + ")");
    unheard = kept(why.what() + described(shape.at, nullptr));
    remember(cudaErrorInvalidConfiguration);
  }
}

}  // namespace prenorm::emulator

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define PRENORM_CUDA_ERROR(name, value) \
  case cuda##name:                      \
    return "cuda" #name;
#include "include/cuda_errors.def"
#undef PRENORM_CUDA_ERROR
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return prenorm::emulator::refused_launch;
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    default: return cudaGetErrorName(error);
  }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return prenorm::emulator::remember(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "prenorm's emulator");
  properties->totalGlobalMem = prenorm::emulator::device_bytes;
  properties->sharedMemPerBlock = prenorm::emulator::shared_without_leave;
  properties->sharedMemPerBlockOptin = prenorm::emulator::most_shared_bytes;
  properties->sharedMemPerMultiprocessor = 100 << 10;
  properties->totalConstMem = 64 << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->major = 8;
  properties->minor = 6;
  properties->multiProcessorCount = 16;
  properties->maxThreadsPerMultiProcessor = 1536;
  properties->l2CacheSize = 4 << 20;
  properties->maxBlocksPerMultiProcessor = 16;
  properties->memPitch = 0x7fffffff;
  properties->textureAlignment = properties->surfaceAlignment = 512;
  properties->texturePitchAlignment = 32;
  properties->reservedSharedMemPerBlock = 1 << 10;
  properties->canMapHostMemory = properties->streamPrioritiesSupported = 1;
  properties->globalL1CacheSupported = properties->localL1CacheSupported = 1;
  properties->asyncEngineCount = properties->deviceOverlap = 1;
  properties->computePreemptionSupported = properties->hostRegisterSupported = 1;
  properties->cooperativeLaunch = 1;
  properties->concurrentManagedAccess = properties->memoryPoolsSupported = 1;
  properties->singleToDoublePrecisionPerfRatio = 32;
  properties->memoryBusWidth = 128;
  properties->clockRate = properties->memoryClockRate = 1000000;
  properties->concurrentKernels = properties->managedMemory = properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const auto error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess) {
    return error;
  }
  switch (attribute) {
#define PRENORM_ATTRIBUTE(name, field) \
  case cudaDevAttr##name: *value = static_cast<int>(properties.field); break;
    PRENORM_ATTRIBUTE(MaxThreadsPerBlock, maxThreadsPerBlock)
    PRENORM_ATTRIBUTE(MaxBlockDimX, maxThreadsDim[0])
    PRENORM_ATTRIBUTE(MaxBlockDimY, maxThreadsDim[1])
    PRENORM_ATTRIBUTE(MaxBlockDimZ, maxThreadsDim[2])
    PRENORM_ATTRIBUTE(MaxGridDimX, maxGridSize[0])
    PRENORM_ATTRIBUTE(MaxGridDimY, maxGridSize[1])
    PRENORM_ATTRIBUTE(MaxGridDimZ, maxGridSize[2])
    PRENORM_ATTRIBUTE(MaxSharedMemoryPerBlock, sharedMemPerBlock)
    PRENORM_ATTRIBUTE(TotalConstantMemory, totalConstMem)
    PRENORM_ATTRIBUTE(WarpSize, warpSize)
    PRENORM_ATTRIBUTE(MaxPitch, memPitch)
    PRENORM_ATTRIBUTE(MaxRegistersPerBlock, regsPerBlock)
    PRENORM_ATTRIBUTE(ClockRate, clockRate)
    PRENORM_ATTRIBUTE(TextureAlignment, textureAlignment)
    PRENORM_ATTRIBUTE(GpuOverlap, deviceOverlap)
    PRENORM_ATTRIBUTE(MultiProcessorCount, multiProcessorCount)
    PRENORM_ATTRIBUTE(CanMapHostMemory, canMapHostMemory)
    PRENORM_ATTRIBUTE(ConcurrentKernels, concurrentKernels)
    PRENORM_ATTRIBUTE(MemoryClockRate, memoryClockRate)
    PRENORM_ATTRIBUTE(GlobalMemoryBusWidth, memoryBusWidth)
    PRENORM_ATTRIBUTE(L2CacheSize, l2CacheSize)
    PRENORM_ATTRIBUTE(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)
    PRENORM_ATTRIBUTE(AsyncEngineCount, asyncEngineCount)
    PRENORM_ATTRIBUTE(UnifiedAddressing, unifiedAddressing)
    PRENORM_ATTRIBUTE(ComputeCapabilityMajor, major)
    PRENORM_ATTRIBUTE(ComputeCapabilityMinor, minor)
    PRENORM_ATTRIBUTE(StreamPrioritiesSupported, streamPrioritiesSupported)
    PRENORM_ATTRIBUTE(GlobalL1CacheSupported, globalL1CacheSupported)
    PRENORM_ATTRIBUTE(LocalL1CacheSupported, localL1CacheSupported)
    PRENORM_ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor)
    PRENORM_ATTRIBUTE(MaxRegistersPerMultiprocessor, regsPerMultiprocessor)
    PRENORM_ATTRIBUTE(ManagedMemory, managedMemory)
    PRENORM_ATTRIBUTE(SingleToDoublePrecisionPerfRatio, singleToDoublePrecisionPerfRatio)
    PRENORM_ATTRIBUTE(CooperativeLaunch, cooperativeLaunch)
    PRENORM_ATTRIBUTE(ConcurrentManagedAccess, concurrentManagedAccess)
    PRENORM_ATTRIBUTE(ComputePreemptionSupported, computePreemptionSupported)
    PRENORM_ATTRIBUTE(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin)
    PRENORM_ATTRIBUTE(HostRegisterSupported, hostRegisterSupported)
    PRENORM_ATTRIBUTE(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor)
    PRENORM_ATTRIBUTE(ReservedSharedMemoryPerBlock, reservedSharedMemPerBlock)
    PRENORM_ATTRIBUTE(MemoryPoolsSupported, memoryPoolsSupported)
#undef PRENORM_ATTRIBUTE
    default: *value = 0;  // what the device on paper lacks
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  using prenorm::emulator::has_room;
  const std::size_t rest = height > 0 ? height - 1 : 0;
  if (!prenorm::emulator::fits(to, from, kind) || width > to_pitch || width > from_pitch ||
      !has_room(to, to_pitch * rest + width) || !has_room(from, from_pitch * rest + width)) {
    return prenorm::emulator::remember(cudaErrorInvalidValue);
  }
  const prenorm::emulator::bounds::Open device_memory;
  for (std::size_t row = 0; row < height; ++row) {
    prenorm::emulator::copy(static_cast<char*>(to) + row * to_pitch,
                            static_cast<const char*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}

cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  if (!prenorm::emulator::can_fill(to) || width > pitch ||
      (height > 0 && !prenorm::emulator::has_room(to, pitch * (height - 1) + width))) {
    return prenorm::emulator::remember(cudaErrorInvalidValue);
  }
  const prenorm::emulator::bounds::Open device_memory;
  for (std::size_t row = 0; row < height; ++row) {
    prenorm::emulator::fill(static_cast<char*>(to) + row * pitch, value, width);
  }
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  using namespace prenorm::emulator;
  const std::lock_guard lock(allocations().mutex);
  const auto found = allocations().find(memory);
  void* const same = const_cast<void*>(memory);
  *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, same};
  if (found == allocations().by_address.end()) return cudaSuccess;
  const cudaMemoryType type = found->second.type;
  *attributes = {type, 0, same, type == cudaMemoryTypeDevice ? nullptr : same};
  return cudaSuccess;
}

cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(memory, *pitch * height);
}
