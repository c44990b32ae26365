// An NVIDIA device, through the driver's API only. The context is the device's primary one, which
// the CUDA runtime inside a solution uses too: pointers, streams and errors are shared with it.
#include "worker/cuda_cache.hpp"
#include "worker/cuda_driver.hpp"
#include "worker/device.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>

namespace prenorm::harness {
namespace {

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
