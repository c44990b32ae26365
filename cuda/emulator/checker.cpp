// For each byte of shared memory a flag says whether it has been written.
#include "checker.hpp"

#include "block.hpp"
#include "bounds.hpp"
#include "own_segments.hpp"
#include "races.hpp"

#include <algorithm>
#include <cstring>
#include <string>
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
  bool is_written_partly(const void* address, std::size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(address);
    for (std::size_t i = 0; i < bytes; ++i) {
      if (holds(at + i) && is_written(at + i, 1)) return true;
    }
    return false;
  }
  bool is_written(const void* address, std::size_t bytes) const {
    const auto first = static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin);
    for (std::size_t i = first; i < std::min(first + bytes, written.size()); ++i) {
      if (!written[i]) return false;
    }
    return true;
  }
};

/// Whether a part of a vector or structure is enough, as only that may be used: a program's. The
/// project's own kernels use all.
#if defined(PRENORM_EMULATOR_WATCHED)
constexpr bool vectors_may_have_room = true;
#else
constexpr bool vectors_may_have_room = false;
#endif

// Static shared arrays are thread_local variables, in this library's thread-local segment.
thread_local Region static_shared, dynamic_shared;
thread_local bool active = false;

/// The name of this library's variables, which kernels know as __device__; nullptr: it is none.
const std::string* variable_at(const void* address) {
  static const Segment variables = own_segments().variables;
  static const std::string name = "a __device__ variable";
  return variables.holds(address) ? &name : nullptr;
}

/// Refuses what is beside dynamic shared memory.
void look_beside_shared(const std::byte* at, std::size_t bytes, bool writes, const void* code) {
  const std::byte* const begin = dynamic_shared.begin;
  const std::byte* const end = begin + dynamic_shared.written.size();
  if (begin == nullptr || at + bytes <= begin - around_shared || at >= end + around_shared) return;
  const std::string beside = at < begin ? std::to_string(begin - at) + " bytes before the start"
                                        : std::to_string(at + bytes - end) + " bytes past the end";
  record_error((writes ? "writes " : "reads ") + std::to_string(bytes) + " bytes out of bounds, " +
                   beside + " of dynamic shared memory of " + std::to_string(end - begin) +
                   " bytes",
               code, KernelError::Kind::out_of_bounds);
  leave_thread();
}

void on_global(const void* address, std::size_t bytes, races::Kind kind, const void* code,
               bool reads) {
  look_beside_shared(static_cast<const std::byte*>(address), bytes, kind.writes, code);
  const std::string* name = bounds::on_access(address, bytes, !reads, code);
  if (reads && kind.writes) bounds::wrote(address, bytes);
  if (name == nullptr && races::used) name = variable_at(address);
  if (name != nullptr) races::on_global_access(address, bytes, kind, code, *name);
}

}  // namespace

void on_write(const void* address, std::size_t bytes, const void* code, bool atomic) {
  if (!active) return;
  for (Region* region : {&static_shared, &dynamic_shared}) {
    if (!region->holds(address)) continue;
    races::on_access(address, bytes, {.writes = true, .atomic = atomic}, code);
    return region->write(address, bytes);
  }
  on_global(address, bytes, {.writes = true, .atomic = atomic}, code, false);
}

void on_read(const void* address, std::size_t bytes, const void* code, bool atomic, bool copied) {
  if (!active) return;
  for (const Region* region : {&static_shared, &dynamic_shared}) {
    if (!region->holds(address)) continue;
    races::on_access(address, bytes, {.writes = atomic, .atomic = atomic}, code);
    const bool whole = !copied && (bytes <= 4 || !vectors_may_have_room);
    if (region->is_written(address, bytes) ||
        (!whole && region->is_written_partly(address, bytes))) {
      return;
    }
    const auto at = static_cast<const std::byte*>(address) - region->begin;
    const std::string which = region == &dynamic_shared
                                  ? "byte " + std::to_string(at) + " of dynamic shared memory"
                                  : "static shared memory";
    // Not thrown: the compiler assumes that these calls do not throw.
    record_error("reads " + std::to_string(bytes) + " bytes that no thread has written, " + which,
                 code);
    return;
  }
  on_global(address, bytes, {.writes = atomic, .atomic = atomic}, code, true);
}

void on_misaligned(const void* address, std::size_t bytes, const void* code) {
  if (!active) return;
  const auto wrong = reinterpret_cast<std::uintptr_t>(address) % bytes;
  record_error("accesses " + std::to_string(bytes) + " bytes at an address that is " +
                   std::to_string(wrong) + " bytes past a multiple of " + std::to_string(bytes),
               code);
  leave_thread();
}

void begin_block(const std::byte* dynamic, std::size_t bytes) {
  const Segment segment = own_segments().thread_locals;
  static_shared.reset(segment.begin, segment.bytes);
  dynamic_shared.reset(dynamic, bytes);
  // These are there too, written by the emulator.
  static_shared.write(&threadIdx, sizeof threadIdx);
  static_shared.write(&blockIdx, sizeof blockIdx);
  static_shared.write(&blockDim, sizeof blockDim);
  static_shared.write(&gridDim, sizeof gridDim);
  races::begin_block(segment.begin, segment.bytes, dynamic, bytes);
  active = true;
}

void forget(const void* at, std::size_t bytes) {
  for (Region* region : {&static_shared, &dynamic_shared}) {
    if (region->holds(at)) region->write(at, bytes, false);
  }
}

void end_block() { active = false; }

}  // namespace prenorm::emulator::checker
