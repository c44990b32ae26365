// The functions that -fsanitize=thread has a kernel call before its loads and stores, for a build
// that is not linked with ThreadSanitizer. Included by calls.cpp alone, which defines in the
// namespace prenorm::emulator::calls, before this,
//
//     void on_read(const void* at, std::size_t bytes, const void* place);
//     void on_volatile_read(const void* at, std::size_t bytes, const void* place);
//     void on_write(const void* at, std::size_t bytes, const void* place);
//     void on_atomic_read(const void* at, std::size_t bytes, const void* place);
//     void on_atomic_result(const void* at, bool changed, const void* place);
//     void on_atomic_write(const void* at, std::size_t bytes, const void* place);
//     void on_aligned(const void* at, std::size_t bytes, const void* place);
//
// `place` is the place in the code that follows the call. on_aligned() comes first where the type
// promises that the address is a multiple of its size.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define PRENORM_ON(size, name, event)                                            \
  void __tsan_##name##size(void* at) {                                           \
    prenorm::emulator::calls::on_aligned(at, size, __builtin_return_address(0)); \
    prenorm::emulator::calls::event(at, size, __builtin_return_address(0));      \
  }                                                                              \
  void __tsan_unaligned_##name##size(void* at) {                                 \
    prenorm::emulator::calls::event(at, size, __builtin_return_address(0));      \
  }
#define PRENORM_ON_ACCESS(size)                     \
  PRENORM_ON(size, read, on_read)                   \
  PRENORM_ON(size, write, on_write)                 \
  PRENORM_ON(size, volatile_read, on_volatile_read) \
  PRENORM_ON(size, volatile_write, on_write)
PRENORM_ON_ACCESS(1)
PRENORM_ON_ACCESS(2)
PRENORM_ON_ACCESS(4)
PRENORM_ON_ACCESS(8)
PRENORM_ON_ACCESS(16)
#undef PRENORM_ON_ACCESS
#undef PRENORM_ON

// Atomic operations: reported, then done. One that is missing here is a link error.
#define PRENORM_READ_FIRST                                                        \
  prenorm::emulator::calls::on_atomic_read(                                       \
      const_cast<const void*>(static_cast<const volatile void*>(at)), sizeof *at, \
      __builtin_return_address(0))
#define PRENORM_WRITE_FIRST /* whatever was there */                              \
  prenorm::emulator::calls::on_atomic_write(                                      \
      const_cast<const void*>(static_cast<const volatile void*>(at)), sizeof *at, \
      __builtin_return_address(0))
#define PRENORM_RESULT(changed)                                                \
  prenorm::emulator::calls::on_atomic_result(                                  \
      const_cast<const void*>(static_cast<const volatile void*>(at)), changed, \
      __builtin_return_address(0))
#define PRENORM_FETCH(bits, name, expression)                                     \
  integer##bits __tsan_atomic##bits##_fetch_##name(volatile integer##bits* at,    \
                                                   integer##bits value, int) {    \
    PRENORM_READ_FIRST;                                                           \
    const integer##bits old = __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST); \
    PRENORM_RESULT(static_cast<integer##bits>(expression) != old);                \
    return old;                                                                   \
  }
#define PRENORM_COMPARE(bits, strength, weak)                                                  \
  int __tsan_atomic##bits##_compare_exchange_##strength(                                       \
      volatile integer##bits* at, integer##bits* expected, integer##bits value, int, int) {    \
    PRENORM_READ_FIRST;                                                                        \
    const bool done = __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_SEQ_CST, \
                                                  __ATOMIC_SEQ_CST);                           \
    PRENORM_RESULT(done);                                                                      \
    return done;                                                                               \
  }
#define PRENORM_ATOMIC(bits)                                                                    \
  using integer##bits = std::uint##bits##_t;                                                    \
  integer##bits __tsan_atomic##bits##_load(const volatile integer##bits* at, int) {             \
    PRENORM_READ_FIRST;                                                                         \
    PRENORM_RESULT(false);                                                                      \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                               \
  }                                                                                             \
  void __tsan_atomic##bits##_store(volatile integer##bits* at, integer##bits value, int) {      \
    prenorm::emulator::calls::on_atomic_write(const_cast<const integer##bits*>(at), sizeof *at, \
                                              __builtin_return_address(0));                     \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                              \
  }                                                                                             \
  integer##bits __tsan_atomic##bits##_exchange(volatile integer##bits* at, integer##bits value, \
                                               int) {                                           \
    PRENORM_WRITE_FIRST;                                                                        \
    const integer##bits old = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                 \
    PRENORM_RESULT(old != value);                                                               \
    return old;                                                                                 \
  }                                                                                             \
  PRENORM_FETCH(bits, add, old + value)                                                         \
  PRENORM_FETCH(bits, sub, old - value)                                                         \
  PRENORM_FETCH(bits, and, old& value)                                                          \
  PRENORM_FETCH(bits, or, old | value)                                                          \
  PRENORM_FETCH(bits, xor, old ^ value)                                                         \
  PRENORM_FETCH(bits, nand, ~(old & value))                                                     \
  PRENORM_COMPARE(bits, strong, false)                                                          \
  PRENORM_COMPARE(bits, weak, true)
PRENORM_ATOMIC(8)
PRENORM_ATOMIC(16)
PRENORM_ATOMIC(32)
PRENORM_ATOMIC(64)
#undef PRENORM_ATOMIC
#undef PRENORM_COMPARE
#undef PRENORM_FETCH
#undef PRENORM_RESULT
#undef PRENORM_READ_FIRST
#undef PRENORM_WRITE_FIRST
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

void __tsan_read_range(void* at, std::size_t bytes) {
  prenorm::emulator::calls::on_read(at, bytes, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t bytes) {
  prenorm::emulator::calls::on_write(at, bytes, __builtin_return_address(0));
}

}  // extern "C"
