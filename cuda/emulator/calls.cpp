// The functions that -fsanitize=thread calls before loads and stores, redefined: for the checker,
// for the counter, or for both.
#include "checker.hpp"
#include "counter.hpp"
#include "emulator.hpp"

#include <cstdint>

namespace prenorm::emulator::calls {
namespace {

void on_aligned(const void* at, std::size_t bytes, const void* place) {
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0) checker::on_misaligned(at, bytes, place);
}
void on_read(const void* at, std::size_t bytes, const void* place) {
  checker::on_read(at, bytes, place, false);
  counter::on_read(at, bytes, place);
}
// Who reads what others write may wait for them.
void on_volatile_read(const void* at, std::size_t bytes, const void* place) {
  on_read(at, bytes, place);
  on_read_again(at, place);
}
void on_write(const void* at, std::size_t bytes, const void* place) {
  checker::on_write(at, bytes, place, false);
  counter::on_write(at, bytes, place);
}
// Counted as a whole, by counter::on_atomic(): a loop of compare and exchange takes as many turns
// as it happens to.
void on_atomic_read(const void* at, std::size_t bytes, const void* place) {
  checker::on_read(at, bytes, place, true);
}
void on_atomic_result(const void* at, bool changed, const void* place) {
  changed ? on_change() : on_read_again(at, place);
}
void on_atomic_write(const void* at, std::size_t bytes, const void* place) {
  checker::on_write(at, bytes, place, true);
}

}  // namespace
}  // namespace prenorm::emulator::calls

#include "sanitizer_calls.hpp"
