// A solution's library, loaded into this process: the worker, or the program itself for a
// debugger.
#pragma once

#include "base/paths.hpp"
#include "worker/device.hpp"
#include "worker/protocol.hpp"

#include <memory>
#include <stdexcept>
#include <string>

namespace prenorm::harness {

/// The file is not a library, lacks a function that every solution exports, or has another ABI.
struct CannotLoad : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Never unloaded: threads and handlers that it has started may outlive any use of it.
class Library {
 public:
  /// Loads the library and calls the functions that describe it. Throws CannotLoad.
  explicit Library(const fs::path& path);

  /// Opens the device that the library asked for; where there is none, the description says why.
  /// Throws CannotLoad where there is one, but not the toolkit's library that this one needs.
  /// A step of its own: it may take more memory than a library's loading is allowed.
  void open_device();

  const protocol::Loaded& description() const { return description_; }

  /// Calls the function with the buffers in `memory`, on the device; exceptions become part of the
  /// answer. Only after open_device() has found one.
  protocol::Returned call(const protocol::CallMessage& message, const GuardedMemory& memory) const;

  /// What prenorm_counts says; empty where the library has no such function.
  protocol::Counts take_counts() const;

  /// The copy bandwidth of the device.
  protocol::CopyBandwidth copy_bandwidth() const;

 private:
  void* handle_ = nullptr;
  std::string missing_;  // the loader's message if there is no handle
  protocol::Loaded description_;
  std::unique_ptr<Device> device_;
};

}  // namespace prenorm::harness
