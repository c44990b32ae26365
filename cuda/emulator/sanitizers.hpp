// What AddressSanitizer and ThreadSanitizer must be told about fibers; nothing in other builds.
//
// To ThreadSanitizer every CUDA thread is a separate thread. A switch of fibers synchronizes
// nothing; only barriers and warp operations do, which release and acquire. So it finds the races
// that a device could have, although the threads take turns here.
#pragma once

#include <cstddef>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(PRENORM_EMULATOR_TSAN)
// The emulator is compiled without instrumentation; these are in ThreadSanitizer's library.
extern "C" {
void* __tsan_create_fiber(unsigned flags);
void* __tsan_get_current_fiber();
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace prenorm::emulator {

/// A CUDA thread as ThreadSanitizer sees it.
class RaceFiber {
 public:
#if defined(PRENORM_EMULATOR_TSAN)
  void name(const char* text) {
    if (fiber_ == nullptr) fiber_ = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber_, text);
  }
  void remember_this() { fiber_ = __tsan_get_current_fiber(); }
  void enter() const { __tsan_switch_to_fiber(fiber_, 1); }  // 1: no synchronization
  static void release(void* at) { __tsan_release(at); }
  static void acquire(void* at) { __tsan_acquire(at); }
  static constexpr bool used = true;

 private:
  void* fiber_ = nullptr;  // kept for the next block: there can only be a few thousand
#else
  void name(const char*) {}
  void remember_this() {}
  void enter() const {}
  static void release(void*) {}
  static void acquire(void*) {}
  static constexpr bool used = false;
#endif
};

/// Has every sanitizer in the process call a function before it ends the process. AddressSanitizer
/// and UndefinedBehaviorSanitizer together are two libraries, each with its own callback.
inline void say_at_death(void (*say)()) {
#if defined(PRENORM_EMULATOR_SANITIZED)
  std::vector<std::string> libraries;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* names) {
        static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
        return 0;
      },
      &libraries);
  for (const std::string& name : libraries) {
    if (name.find("san.so") == name.npos) continue;
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    using Register = void (*)(void (*)());
    const auto set = reinterpret_cast<Register>(::dlsym(library, "__sanitizer_set_death_callback"));
    if (set != nullptr) set(say);
    ::dlclose(library);
  }
#else
  static_cast<void>(say);
#endif
}

/// A stack, for AddressSanitizer.
struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

#if defined(__SANITIZE_ADDRESS__)
inline void leave_stack(void** kept, const Stack& next) {
  __sanitizer_start_switch_fiber(kept, next.bottom, next.bytes);
}
inline void arrive_on_stack(void* kept, Stack* previous) {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(kept, &bottom, &bytes);
  if (previous != nullptr) *previous = {bottom, bytes};
}
/// For a stack that another fiber had: what that one's frames forbade to touch.
inline void forget_frames(const Stack& stack) {
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
}
#else
inline void leave_stack(void**, const Stack&) {}
inline void arrive_on_stack(void*, Stack*) {}
inline void forget_frames(const Stack&) {}
#endif

}  // namespace prenorm::emulator
