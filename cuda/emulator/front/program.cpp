// A program that `prenorm emulate` runs: what a kernel does wrong ends it, and the message says
// where in the source.
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

// Before main().
const bool set = (describe_place = describe, std::set_terminate(end_program), true);

}  // namespace
}  // namespace prenorm::emulator
