// A device without a device: what functions of the CUDA runtime do that are in
// fake_cuda_runtime.cpp.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace prenorm::testing {

/// One stream, whose work is done when somebody waits. The only kernel that does something is
/// check_range (cuda/device_error.cu).
struct Device {
  bool has_clusters = true;
  int compiled_for = 90;       // the virtual architecture of all kernels, times 10
  bool records_events = true;  // or fails to
  std::vector<std::function<void()>> work;
  std::set<void*> memory, events, recorded;  // that the runtime has given, and events in the stream
  int waits_for_stream = 0;

  void finish() {
    for (const auto& each : std::exchange(work, {})) each();
  }
};
extern Device device;

}  // namespace prenorm::testing
