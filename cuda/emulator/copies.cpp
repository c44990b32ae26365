// The C library's functions that copy and fill, as code that is linked with -Wl,--wrap calls them:
// no sanitizer's call stands before what they read and write.
#include "checker.hpp"
#include "counter.hpp"
#include "emulator.hpp"

#include <cstring>

namespace prenorm::emulator {
namespace {

/// `from` is nullptr where memory is filled.
void on_copy(const void* to, const void* from, std::size_t bytes, const void* place) {
  if (bytes == 0 || !running()) return;
  if (from != nullptr) {
    checker::on_read(from, bytes, place, false, true);
    counter::on_read(from, bytes, place);
  }
  checker::on_write(to, bytes, place, false);
  counter::on_write(to, bytes, place);
}

}  // namespace
}  // namespace prenorm::emulator

extern "C" {

void* prenorm_emulator_memcpy(void* to, const void* from, std::size_t bytes) {
  prenorm::emulator::on_copy(to, from, bytes, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* prenorm_emulator_memmove(void* to, const void* from, std::size_t bytes) {
  prenorm::emulator::on_copy(to, from, bytes, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* prenorm_emulator_memset(void* to, int value, std::size_t bytes) {
  prenorm::emulator::on_copy(to, nullptr, bytes, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

}  // extern "C"
