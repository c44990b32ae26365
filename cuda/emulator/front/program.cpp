// A program that `prenorm emulate` runs: what a kernel does wrong ends it, and the message says
// where in the source.
#include "bounds.hpp"
#include "faults.hpp"
#include "include/cuda_runtime_api.h"
#include "source_line.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

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

[[maybe_unused]] bool on_fault(const std::string& what, bool) {
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: %s\n", what.c_str());
  std::_Exit(1);
}

[[maybe_unused]] void say(const std::string& what) {
  std::fprintf(stderr, "prenorm: %s\n", what.c_str());
}

/// What the program has not heard of its launches, when it ends.
void say_what_was_refused() {
  if (unheard == nullptr) return;
  std::fflush(stdout);
  std::fprintf(stderr, "prenorm: a launch was refused, and never asked for its error: %s\n",
               unheard);
}

/// Sanitizers have handlers of their own.
void prepare() {
#if !defined(PRENORM_EMULATOR_SANITIZED)
  catch_faults(on_fault);
  catch_ends(say);
#endif
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
