// The ranges that kernels may access, sorted by address. The last one that was found is tried
// first: threads go through one tensor for a while.
#include "bounds.hpp"

#include "block.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

// Where a program's variables for kernels begin; the linker knows. They end where this object's do,
// which is linked after the program's, and both ends are those of pages.
extern "C" {
extern __attribute__((visibility("hidden"))) char __start_prenorm_device;
extern __attribute__((visibility("hidden"))) char __start_prenorm_device_zero;
}

namespace prenorm::emulator::bounds {
namespace {

__attribute__((section("prenorm_device"), aligned(4096))) char end_of_variables = 1;
// With no room in the file; the assembler takes what follows # as a comment.
__attribute__((section("prenorm_device_zero,\"aw\",@nobits#"), aligned(4096))) char end_of_zeros;

using Address = std::uintptr_t;
constexpr Address null_page = 1 << 16;

struct Range {
  Address begin, end;
  Address reach;  // bytes before and behind that belong to nobody
  std::string name;
  By by;
  std::vector<char> written;  // by bytes; empty where that is not looked at
};
/// Not changed while a kernel runs. Some are freed after main().
std::vector<Range>& ranges() {
  static auto* const all = new std::vector<Range>;
  return *all;
}
std::shared_mutex changes;  // of it
thread_local int held = 0;  // how often this thread keeps it as it is
thread_local Suspects of_next_launch;
thread_local const Suspects* suspects = nullptr;
std::mutex gate;  // of what follows
bool host_runs = false;
int open = 0;      // Open objects
int openings = 0;  // since the host began
/// From then on the host may access everything: to forbid it again would cost more than it tells.
constexpr int most_openings = 1000;
constexpr Address page = 4096;

/// Pages of a range for kernels alone: whether anybody may access them.
void set_access(const Range& range, bool any) {
  if (range.by != By::kernels || range.begin == range.end) return;
  const Address begin = range.begin / page * page, end = (range.end + page - 1) / page * page;
  ::mprotect(reinterpret_cast<void*>(begin), end - begin, any ? PROT_READ | PROT_WRITE : PROT_NONE);
}
void set_access(bool any) {
  for (const Range& range : ranges()) set_access(range, any);
}
thread_local std::size_t last = 0;

Address address_of(const void* at) { return reinterpret_cast<Address>(at); }

bool is_in(const Range& range, Address at, std::size_t bytes) {
  return at >= range.begin && at + bytes <= range.end;
}

std::string count(Address bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

/// The range that the address lies in, or nullptr.
Range* range_of(Address at) {
  const auto after = std::ranges::upper_bound(ranges(), at, {}, &Range::begin);
  if (after == ranges().begin()) return nullptr;
  Range& range = *std::prev(after);
  return at < range.end ? &range : nullptr;
}

void mark_written(Range& range, Address at, std::size_t bytes) {
  if (range.written.empty()) return;
  const std::size_t begin = at - range.begin, end = std::min(begin + bytes, range.written.size());
  // Blocks that run at the same time may both set it.
  for (std::size_t i = begin; i < end; ++i) {
    __atomic_store_n(&range.written[i], char{1}, __ATOMIC_RELAXED);
  }
}

/// Whether something has written at least one of the bytes: the rest may be room in a structure.
bool is_written(const Range& range, Address at, std::size_t bytes) {
  if (range.written.empty()) return true;
  const std::size_t begin = at - range.begin, end = std::min(begin + bytes, range.written.size());
  for (std::size_t i = begin; i < end; ++i) {
    if (__atomic_load_n(&range.written[i], __ATOMIC_RELAXED) != 0) return true;
  }
  return false;
}

[[noreturn]] void refuse(std::size_t bytes, bool writes, const std::string& where,
                         const void* code) {
  record_error((writes ? "writes " : "reads ") + count(bytes) + " out of bounds, " + where, code,
               KernelError::Kind::out_of_bounds);
  leave_thread();
}

/// Refuses what is near that range and not in it.
void look_at(const Range& range, Address at, std::size_t bytes, bool writes, const void* code) {
  if (at + bytes > range.end && at < range.end + range.reach) {
    refuse(bytes, writes, count(at + bytes - range.end) + " past the end of " + range.name, code);
  }
  if (at < range.begin && at + range.reach >= range.begin) {
    refuse(bytes, writes, count(range.begin - at) + " before the start of " + range.name, code);
  }
}

}  // namespace

void allow(const void* begin, std::size_t bytes, std::size_t reach, const std::string& name,
           By by) {
  forbid(begin);
  const std::unique_lock change(changes);
  const std::lock_guard lock(gate);
  const Range range{address_of(begin), address_of(begin) + bytes, reach, name, by, {}};
  if (host_runs && open == 0) set_access(range, false);
  ranges().insert(std::ranges::upper_bound(ranges(), range.begin, {}, &Range::begin), range);
}

void allow_device_variables() {
  const auto all = [](char& begin, const char& end) {
    const auto bytes = static_cast<std::size_t>(&end - &begin);
    if (bytes > 0) allow(&begin, bytes, 0, "a __device__ variable", By::kernels);
  };
  all(__start_prenorm_device, end_of_variables);
  all(__start_prenorm_device_zero, end_of_zeros);
}

void forbid(const void* begin) {
  const std::unique_lock change(changes);
  const std::lock_guard lock(gate);
  std::erase_if(ranges(), [&](const Range& range) {
    const bool found = range.begin == address_of(begin);
    if (found && host_runs && open == 0) set_access(range, true);
    return found;
  });
}

void begin_host() {
  const std::lock_guard lock(gate);
  host_runs = true;
  openings = 0;
  if (open == 0) set_access(false);
}

void end_host() {
  const std::lock_guard lock(gate);
  if (host_runs && open == 0) set_access(true);
  host_runs = false;
}

const std::string* stopped_at(const void* pointer) {
  const std::lock_guard lock(gate);
  const Address at = address_of(pointer);
  const auto found = std::ranges::find_if(
      ranges(), [&](const Range& range) { return range.by == By::kernels && is_in(range, at, 1); });
  return host_runs && found != ranges().end() ? &found->name : nullptr;
}

Open::Open() {
  if (held++ == 0) changes.lock_shared();
  const std::lock_guard lock(gate);
  if (open++ > 0 || !host_runs) return;
  set_access(true);
  if (++openings == most_openings) host_runs = false;
}

Open::~Open() {
  const std::lock_guard lock(gate);
  if (--open == 0 && host_runs) set_access(false);
  if (--held == 0) changes.unlock_shared();
}

void begin_unwritten(const void* begin) {
  const std::unique_lock change(changes);
  const auto found = std::ranges::find(ranges(), address_of(begin), &Range::begin);
  if (found != ranges().end()) found->written.assign(found->end - found->begin, 0);
}

void wrote(const void* pointer, std::size_t bytes) {
  Range* const range = range_of(address_of(pointer));
  if (range != nullptr) mark_written(*range, address_of(pointer), bytes);
}

bool is_on_device(const void* pointer) {
  const std::shared_lock reading(changes);
  const Range* const range = range_of(address_of(pointer));
  return range != nullptr && range->by == By::kernels;
}

void suspect(int number, const void* at, const char* what) {
  of_next_launch.push_back({at, number, what});
}
Suspects take_suspects() { return std::exchange(of_next_launch, {}); }
void use_suspects(const Suspects* those) { suspects = those; }

namespace {

/// An access within a range.
const std::string* within(Range& range, Address at, std::size_t bytes, bool writes,
                          const void* code) {
  if (writes) {
    mark_written(range, at, bytes);
  } else if (!is_written(range, at, bytes)) {
    record_error("reads " + count(bytes) + " that nothing has written, " + count(at - range.begin) +
                     " into " + range.name,
                 code);
    leave_thread();
  }
  return &range.name;
}

/// Refuses what an argument that points to no device memory leads to.
void look_at_suspects(Address at, std::size_t bytes, bool writes, const void* code) {
  constexpr Address far = 1 << 20;  // from there nobody knows whose it is
  for (const Suspect& each : *suspects) {
    if (at < address_of(each.begin) || at >= address_of(each.begin) + far) continue;
    record_error((writes ? "writes " : "reads ") + count(bytes) + " of " + each.what +
                     ", by way of argument " + std::to_string(each.argument),
                 code, KernelError::Kind::out_of_bounds);
    leave_thread();
  }
}

}  // namespace

const std::string* on_access(const void* pointer, std::size_t bytes, bool writes,
                             const void* code) {
  const Address at = address_of(pointer);
  if (last < ranges().size() && is_in(ranges()[last], at, bytes)) {
    return within(ranges()[last], at, bytes, writes, code);
  }
  if (at < null_page) refuse(bytes, writes, "by a null pointer", code);
  const auto after = std::ranges::upper_bound(ranges(), at, {}, &Range::begin);
  if (after != ranges().begin()) {
    const auto before = std::prev(after);
    if (is_in(*before, at, bytes)) {
      last = static_cast<std::size_t>(before - ranges().begin());
      return within(*before, at, bytes, writes, code);
    }
    look_at(*before, at, bytes, writes, code);
  }
  if (after != ranges().end()) look_at(*after, at, bytes, writes, code);
  if (suspects != nullptr) look_at_suspects(at, bytes, writes, code);
  return nullptr;
}

}  // namespace prenorm::emulator::bounds
