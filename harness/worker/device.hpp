// The memory of a solution's tensors, and how calls are timed there. Used only in a worker (or
// with --in-process): a failing driver takes down only a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dlpack/dlpack.h>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace prenorm::harness {

/// The location of one buffer: offsets and lengths in bytes; whole pages.
struct Region {
  std::uint64_t file_offset = 0;     // of its pages in the shared memory
  std::uint64_t address_offset = 0;  // of its pages in the worker's stretch of addresses
  std::uint64_t length = 0;          // of its pages
  std::uint64_t data_offset = 0;     // of the data within them
  std::uint64_t bytes = 0;           // of data
};

/// The locations of all buffers of a call.
struct Layout {
  std::vector<Region> regions;   // in the order of the sizes that were asked for
  std::uint64_t file_bytes = 0;  // of the shared memory
  std::uint64_t span = 0;        // of the stretch of addresses, guards included
};

/// The memory of one call as a worker maps it: every buffer's pages, guards all around
/// (solution/call.hpp has the judge's side).
class GuardedMemory {
 public:
  /// Throws std::bad_alloc if there is no room.
  GuardedMemory(const Layout& layout, int descriptor);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&&) = delete;  // nor copied

  std::byte* base() const { return base_; }
  std::byte* data(const Region& region) const {
    return base_ + region.address_offset + region.data_offset;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t span_ = 0;
};

/// What a device reports about itself.
struct DeviceFacts {
  std::string name;                // "NVIDIA H200"
  std::string compute_capability;  // "9.0"
  std::string driver;              // "580.65.06, CUDA 13.0"; the first part only where it is known
  std::uint64_t memory = 0;        // bytes
  std::uint64_t l2 = 0;            // bytes of the level 2 cache
};

/// There is no such device, or its driver fails.
struct NoDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device's memory is full.
struct OutOfDeviceMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device reports a fault. Such errors are sticky: this process cannot use the device again.
struct DeviceFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Device {
 public:
  /// A call's buffers on the device, each a copy of a region's whole pages, canaries included.
  class Buffers {
   public:
    virtual ~Buffers() = default;
    /// Of the region's data.
    virtual std::byte* data(const Region& region) const = 0;
    /// Copies all pages back to the host, where they are checked.
    virtual void copy_back() = 0;
  };

  virtual ~Device() = default;
  virtual DLDevice place() const = 0;
  /// For prenorm_call.
  virtual void* stream() const = 0;
  virtual std::optional<DeviceFacts> facts() const = 0;

  /// Throws OutOfDeviceMemory, DeviceFailed.
  virtual std::unique_ptr<Buffers> copy(const std::vector<Region>& regions,
                                        const GuardedMemory& memory) = 0;
  /// Runs `call`, waits until the device has done all of it, and returns the seconds it took.
  /// `cold`: caches hold nothing of the call's data.
  ///
  /// Throws OutOfDeviceMemory, DeviceFailed.
  virtual double time(const std::function<void()>& call, bool cold) = 0;

  /// Bytes read and written per second by a large copy: the median of several.
  virtual double copy_bandwidth() = 0;
};

/// Opens the first visible device of a DLDeviceType for this process.
/// Throws NoDevice with a readable reason.
std::unique_ptr<Device> open_device(std::int32_t type);

/// The median. `values` is not empty.
double median(std::vector<double> values);

/// The first visible CUDA device. Throws NoDevice.
std::unique_ptr<Device> open_cuda();

}  // namespace prenorm::harness
