// The functions that -fsanitize=thread calls before loads and stores, redefined: for each byte of
// shared memory a flag says whether it has been written.
#include "checker.hpp"

#include "emulator.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <link.h>
#include <vector>

namespace prenorm::emulator::checker {
namespace {

/// A range of shared memory, and which of its bytes have been written.
struct Region {
  const std::byte* begin = nullptr;
  std::vector<bool> written;

  void reset(const std::byte* at, std::size_t bytes) {
    begin = at;
    written.assign(bytes, false);
  }
  bool holds(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= begin && at < begin + written.size();
  }
  void write(const void* address, std::size_t bytes, bool now = true) {
    const auto first = static_cast<const std::byte*>(address) - begin;
    const auto end = std::min(static_cast<std::size_t>(first) + bytes, written.size());
    std::fill(written.begin() + first, written.begin() + static_cast<std::ptrdiff_t>(end), now);
  }
  bool is_written(const void* address, std::size_t bytes) const {
    const auto first = static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin);
    for (std::size_t i = first; i < std::min(first + bytes, written.size()); ++i) {
      if (!written[i]) return false;
    }
    return true;
  }
};

// Static shared arrays are thread_local variables, in this library's thread-local segment.
thread_local Region static_shared, dynamic_shared;
thread_local bool active = false;

/// This library's thread-local segment, of the thread that asks.
struct Segment {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

int find_segment(dl_phdr_info* info, std::size_t, void* result) {
  const auto here = reinterpret_cast<std::uintptr_t>(&find_segment);
  bool ours = false;
  std::size_t bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && here >= begin && here < begin + part.p_memsz) ours = true;
    if (part.p_type == PT_TLS) bytes = part.p_memsz;
  }
  if (!ours) return 0;
  if (info->dlpi_tls_data != nullptr) {
    *static_cast<Segment*>(result) = {static_cast<const std::byte*>(info->dlpi_tls_data), bytes};
  }
  return 1;
}

void on_write(const void* address, std::size_t bytes) {
  if (!active) return;
  for (Region* region : {&static_shared, &dynamic_shared}) {
    if (region->holds(address)) region->write(address, bytes);
  }
}

void on_read(const void* address, std::size_t bytes, const void* code) {
  if (!active) return;
  for (const Region* region : {&static_shared, &dynamic_shared}) {
    if (!region->holds(address) || region->is_written(address, bytes)) continue;
    const auto at = static_cast<const std::byte*>(address) - region->begin;
    const std::string which = region == &dynamic_shared
                                  ? "byte " + std::to_string(at) + " of dynamic shared memory"
                                  : "static shared memory";
    // Not thrown: the compiler assumes that these calls do not throw.
    record_error("reads " + std::to_string(bytes) + " bytes that no thread has written, " + which,
                 code);
  }
}

}  // namespace

void begin_block(const std::byte* dynamic, std::size_t bytes) {
  Segment segment;
  ::dl_iterate_phdr(find_segment, &segment);
  static_shared.reset(segment.begin, segment.bytes);
  dynamic_shared.reset(dynamic, bytes);
  // These are there too, written by the emulator.
  static_shared.write(&threadIdx, sizeof threadIdx);
  static_shared.write(&blockIdx, sizeof blockIdx);
  static_shared.write(&blockDim, sizeof blockDim);
  static_shared.write(&gridDim, sizeof gridDim);
  active = true;
}

void forget(const void* at, std::size_t bytes) {
  for (Region* region : {&static_shared, &dynamic_shared}) {
    if (region->holds(at)) region->write(at, bytes, false);
  }
}

void end_block() { active = false; }

}  // namespace prenorm::emulator::checker

using prenorm::emulator::checker::on_read;
using prenorm::emulator::checker::on_write;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define PRENORM_ON_ACCESS(bytes)                                                                   \
  void __tsan_read##bytes(void* at) { on_read(at, bytes, __builtin_return_address(0)); }           \
  void __tsan_write##bytes(void* at) { on_write(at, bytes); }                                      \
  void __tsan_unaligned_read##bytes(void* at) { on_read(at, bytes, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##bytes(void* at) { on_write(at, bytes); }                            \
  void __tsan_volatile_read##bytes(void* at) { on_read(at, bytes, __builtin_return_address(0)); }  \
  void __tsan_volatile_write##bytes(void* at) { on_write(at, bytes); }                             \
  void __tsan_unaligned_volatile_read##bytes(void* at) {                                           \
    on_read(at, bytes, __builtin_return_address(0));                                               \
  }                                                                                                \
  void __tsan_unaligned_volatile_write##bytes(void* at) { on_write(at, bytes); }
PRENORM_ON_ACCESS(1)
PRENORM_ON_ACCESS(2)
PRENORM_ON_ACCESS(4)
PRENORM_ON_ACCESS(8)
PRENORM_ON_ACCESS(16)
#undef PRENORM_ON_ACCESS

// Atomic operations: checked, then done. One that is missing here is a link error.
#define PRENORM_ATOMIC(bits)                                                                     \
  using integer##bits = std::uint##bits##_t;                                                     \
  integer##bits __tsan_atomic##bits##_load(const volatile integer##bits* at, int) {              \
    on_read(const_cast<const integer##bits*>(at), sizeof *at, __builtin_return_address(0));      \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile integer##bits* at, integer##bits value, int) {       \
    on_write(const_cast<const integer##bits*>(at), sizeof *at);                                  \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                               \
  }                                                                                              \
  integer##bits __tsan_atomic##bits##_exchange(volatile integer##bits* at, integer##bits value,  \
                                               int) {                                            \
    on_read(const_cast<const integer##bits*>(at), sizeof *at, __builtin_return_address(0));      \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                              \
  integer##bits __tsan_atomic##bits##_fetch_add(volatile integer##bits* at, integer##bits value, \
                                                int) {                                           \
    on_read(const_cast<const integer##bits*>(at), sizeof *at, __builtin_return_address(0));      \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(                                             \
      volatile integer##bits* at, integer##bits* expected, integer##bits value, int, int) {      \
    on_read(const_cast<const integer##bits*>(at), sizeof *at, __builtin_return_address(0));      \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,             \
                                       __ATOMIC_SEQ_CST);                                        \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_weak(                                               \
      volatile integer##bits* at, integer##bits* expected, integer##bits value, int, int) {      \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, 0, 0);             \
  }
PRENORM_ATOMIC(8)
PRENORM_ATOMIC(32)
PRENORM_ATOMIC(64)
#undef PRENORM_ATOMIC
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

void __tsan_read_range(void* at, std::size_t bytes) {
  on_read(at, bytes, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t bytes) { on_write(at, bytes); }

}  // extern "C"
