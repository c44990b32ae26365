// A device without a device: what functions of the CUDA runtime do that are in
// fake_cuda_runtime.cpp.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace prenorm::testing {

/// One stream, whose work is done when somebody waits or has asked how it does.
struct Device {
  int number = 0, capability = 9;  // its major number
  bool has_clusters = true;
  int compiled_for = 90;     // the virtual architecture of all kernels, times 10
  bool works_alone = false;  // at once, and is never seen to end
  bool fails = false;        // instead of doing work
  bool captures = false;
  std::function<void()> (*work_of)(void** arguments) = nullptr;  // of a kernel
  std::vector<std::function<void()>> work;
  std::set<void*> memory;    // that the runtime has given
  std::set<int> attributes;  // of the last launch
  int questions = 0;         // how the stream does

  void finish() {
    for (const auto& each : std::exchange(work, {})) each();
  }
};
extern Device device;

}  // namespace prenorm::testing
