// A solution's library, loaded into this process: the worker's, or the program's own for a
// debugger.
#pragma once

#include "worker_protocol.hpp"

#include <filesystem>
#include <stdexcept>

namespace prenorm::harness {

/// A library that is none, that lacks what every solution exports, or has another ABI.
struct CannotLoad : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Never unloaded: what it has started (threads, handlers) may outlive any use of it.
class Library {
 public:
  /// Loads, and asks what every solution must say. Throws CannotLoad.
  explicit Library(const std::filesystem::path& path);

  const protocol::Loaded& description() const { return description_; }

  /// Calls the function with the buffers in `memory`; exceptions become part of the answer.
  protocol::Returned call(const protocol::CallMessage& message, const GuardedMemory& memory) const;

 private:
  void* handle_ = nullptr;
  protocol::Loaded description_;
};

}  // namespace prenorm::harness
