// A program that `prenorm emulate` runs: what a kernel does wrong ends it, and the message says
// where in the source.
#include "block.hpp"
#include "bounds.hpp"
#include "faults.hpp"
#include "include/cuda_runtime_api.h"
#include "source_line.hpp"
#include "watch.hpp"

#include <atomic>
#include <bit>
#include <boost/context/detail/exception.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <pthread.h>
#include <system_error>
#include <typeinfo>

namespace prenorm::emulator {
namespace {

[[noreturn]] void end_program() {
  std::fflush(stdout);
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const KernelError& error) {
    std::fprintf(stderr, "prenorm: %s\n", error.what());
    std::_Exit(1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "terminated by an exception: %s\n", error.what());
  } catch (...) {
  }
  std::abort();
}

/// In place of the C library's: what fails in a kernel is told as other errors of kernels are.
[[noreturn]] void assertion_failed(const char* text, const char* file, unsigned line,
                                   const char* function) {
  std::fflush(stdout);
  const std::string kernel = where();
  if (!kernel.empty()) {
    std::fprintf(stderr, "prenorm: %s: assert(%s) fails (%s:%u)\n", kernel.c_str(), text, file,
                 line);
    std::_Exit(1);
  }
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
  std::abort();
}

bool on_fault(const std::string& what, bool) {
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: %s\n", what.c_str());
  std::_Exit(1);
}

void say(const std::string& what) { std::fprintf(stderr, "prenorm: %s\n", what.c_str()); }

/// What the program has not heard of its launches, when it ends.
void say_what_was_refused() {
  if (unheard == nullptr) return;
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: a launch was refused, and never asked for its error: %s\n",
               unheard);
}

/// The function of that name which would be called, were it not for the one below.
template <class Function>
Function* next_function(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// What a kernel throws, other than the emulator itself, ends the program where it is thrown:
/// device code has no exceptions.
void look_at_thrown(void* object, const std::type_info& type) {
  if (!running()) return;
  for (const std::type_info* own :
       {&typeid(KernelError), &typeid(Abandoned), &typeid(std::system_error),
        &typeid(boost::context::detail::forced_unwind)}) {
    if (type == *own) return;
  }
  const bool is_standard = typeid(std::exception).__do_catch(&type, &object, 1);
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: %s: throws %s%s\n", where().c_str(),
               is_standard ? static_cast<const std::exception*>(object)->what() : "an exception",
               in_brackets(line_of_callers()).c_str());
  std::_Exit(1);
}

/// How a thread of the program begins.
struct Begin {
  void* (*function)(void*);
  void* argument;
};
void* begin_thread(void* at) {
  const Begin begin = *std::unique_ptr<Begin>(static_cast<Begin*>(at));
  have_room_for_faults();
  return begin.function(begin.argument);
}

void prepare() {
  catch_faults(on_fault);
  catch_ends(say);
  watch_launches(say);
  bounds::allow_device_variables();
  bounds::begin_host();
}

// Before main().
const bool set = (describe_place = describe, std::set_terminate(end_program),
                  std::atexit(say_what_was_refused), prepare(), true);

}  // namespace
}  // namespace prenorm::emulator

extern "C" void __assert_fail(const char* text, const char* file, unsigned line,
                              const char* function) noexcept {
  prenorm::emulator::assertion_failed(text, file, line, function);
}

// For libraries too. What is thrown has a std::type_info, of which the compiler knows only that it
// is a pointer.
#pragma GCC visibility push(default)
extern "C" void __cxa_throw(void* object, void* type, void (*destroy)(void*)) {
  prenorm::emulator::look_at_thrown(object, *static_cast<const std::type_info*>(type));
  static auto* const next = prenorm::emulator::next_function("__cxa_throw", __cxa_throw);
  next(object, type, destroy);
  std::abort();
}

/// What -fsanitize=float-cast-overflow passes: where a conversion stands, and its types. The
/// program goes on with what this machine makes of the number; that is said once.
struct Conversion {
  struct Type {
    std::uint16_t kind, bits;
    char name[1];  // as long as it is, in quotation marks
  };
  const char* file;
  std::uint32_t line, column;
  const Type *from, *to;
};
extern "C" void __ubsan_handle_float_cast_overflow(const Conversion* of, std::uintptr_t value) {
  static std::atomic<bool> said = false;
  if (!prenorm::emulator::running() || of->from->bits > 64 || said.exchange(true)) return;
  const double number = of->from->bits == 32
                            ? double{std::bit_cast<float>(static_cast<std::uint32_t>(value))}
                            : std::bit_cast<double>(value);
  std::fprintf(
      stderr,
      "prenorm: %s: converts %g to %s, which a device saturates and this does not (%s:%u)\n",
      prenorm::emulator::where().c_str(), number, of->to->name, of->file, of->line);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using namespace prenorm::emulator;
  static auto* const next = next_function("pthread_create", pthread_create);
  auto begin = std::make_unique<Begin>(Begin{function, argument});
  const int error = next(thread, attributes, begin_thread, begin.get());
  if (error == 0) static_cast<void>(begin.release());
  return error;
}

#if defined(PRENORM_EMULATOR_SANITIZED)
// Faults are explained above; and the thread that watches must not make ThreadSanitizer wait for
// it at the end.
#define PRENORM_OPTIONS \
  "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:handle_sigill=0"
extern "C" const char* __asan_default_options() { return PRENORM_OPTIONS ":use_sigaltstack=0"; }
extern "C" const char* __tsan_default_options() { return PRENORM_OPTIONS ":atexit_sleep_ms=0"; }
#endif
#pragma GCC visibility pop
