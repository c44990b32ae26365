#include "worker/device.hpp"

#include "base/parallel.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Bytes of the largest cache that a processor uses, as the kernel reports it. (The C library's
/// sysconf() has returned 384 MiB on a machine with 32 MiB per processor.)
std::size_t last_level_cache() {
  std::size_t largest = 0;
  for (int index = 0;; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");  // "32768K"
    std::size_t kibibytes = 0;
    if (!(file >> kibibytes)) break;
    largest = std::max(largest, kibibytes << 10);
  }
  return largest > 0 ? largest : std::size_t{32} << 20;
}

/// Enough bytes to evict everything from the caches: four times the cache, except for
/// the largest ones, of hundreds of megabytes: that would take seconds.
std::size_t beyond_caches() {
  const std::size_t cache = last_level_cache();
  return std::min(4 * cache, cache + (std::size_t{512} << 20));
}

/// Memory that has not been touched yet.
std::unique_ptr<std::byte[]> untouched(std::size_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[bytes]);
}

/// Calls work(offset, bytes) for a part of the whole on each processor.
void in_parts(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t parts = processors(), part = bytes / parts + 1;
  std::vector<std::jthread> threads;
  for (std::size_t begin = 0; begin < bytes; begin += part) {
    threads.emplace_back(work, begin, std::min(part, bytes - begin));
  }
}

void* map(void* at, std::size_t bytes, int protection, int flags, int descriptor,
          std::uint64_t offset) {
  void* memory = ::mmap(at, bytes, protection, flags, descriptor, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

/// The host itself: the solution works on the shared pages.
class Cpu : public Device {
 public:
  DLDevice place() const override { return {kDLCPU, 0}; }
  void* stream() const override { return nullptr; }
  std::optional<DeviceFacts> facts() const override { return std::nullopt; }

  std::unique_ptr<Buffers> copy(const std::vector<Region>&, const GuardedMemory& memory) override {
    return std::make_unique<Shared>(memory);
  }

  double time(const std::function<void()>& call, bool cold) override {
    if (cold) empty_caches();
    const auto start = Clock::now();
    call();
    return seconds_since(start);
  }

  double copy_bandwidth() override {
    const std::size_t bytes = std::max(std::size_t{256} << 20, beyond_caches());
    const auto from = untouched(bytes), to = untouched(bytes);
    in_parts(bytes, [&](std::size_t begin, std::size_t count) {
      std::memset(from.get() + begin, 1, count);
      std::memset(to.get() + begin, 0, count);
    });
    std::vector<double> seconds;
    const auto begin_of_all = Clock::now();
    // 20 copies; fewer, but five, where they are slow.
    while (seconds.size() < 20 && (seconds.size() < 5 || seconds_since(begin_of_all) < 5)) {
      const auto start = Clock::now();
      in_parts(bytes, [&](std::size_t begin, std::size_t count) {
        std::memcpy(to.get() + begin, from.get() + begin, count);
      });
      seconds.push_back(seconds_since(start));
    }
    return 2 * static_cast<double>(bytes) / median(seconds);
  }

 private:
  class Shared : public Buffers {
   public:
    explicit Shared(const GuardedMemory& memory) : memory_(memory) {}
    std::byte* data(const Region& region) const override { return memory_.data(region); }
    void copy_back() override {}

   private:
    const GuardedMemory& memory_;
  };

  void empty_caches() {
    const std::size_t bytes = beyond_caches();
    try {
      if (!scratch_) scratch_ = untouched(bytes);
    } catch (const std::bad_alloc&) {
      throw OutOfDeviceMemory("no memory to empty the caches with");
    }
    // A different value each time, because unchanged memory need not be written back.
    std::memset(scratch_.get(), ++turn_, bytes);
    asm volatile("" : : "r"(scratch_.get()) : "memory");
  }

  std::unique_ptr<std::byte[]> scratch_;
  unsigned char turn_ = 0;
};

}  // namespace

GuardedMemory::GuardedMemory(const Layout& layout, int descriptor) : span_(layout.span) {
  base_ = static_cast<std::byte*>(
      map(nullptr, span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  try {
    for (const Region& region : layout.regions) {
      // Populated, so that the measured time includes no page faults.
      map(base_ + region.address_offset, region.length, PROT_READ | PROT_WRITE,
          MAP_SHARED | MAP_FIXED | MAP_POPULATE, descriptor, region.file_offset);
    }
  } catch (...) {
    ::munmap(base_, span_);
    throw;
  }
}

GuardedMemory::~GuardedMemory() { ::munmap(base_, span_); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::unique_ptr<Device> open_device(std::int32_t type) {
  switch (type) {
    case kDLCPU: return std::make_unique<Cpu>();
    case kDLCUDA: return open_cuda();
    case kDLROCM:
    case kDLROCMHost: throw NoDevice("no ROCm device");
    case kDLMetal: throw NoDevice("no Metal device");
    case kDLVulkan: throw NoDevice("no Vulkan device");
    case kDLOpenCL: throw NoDevice("no OpenCL device");
    default: throw NoDevice("no device of DLPack's type " + std::to_string(type));
  }
}

}  // namespace prenorm::harness
