// The ranges that kernels may access, sorted by address. The last one that was found is tried
// first: threads go through one tensor for a while.
#include "bounds.hpp"

#include "block.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace prenorm::emulator::bounds {
namespace {

using Address = std::uintptr_t;
constexpr Address null_page = 1 << 16;

struct Range {
  Address begin, end;
  Address reach;  // bytes before and behind that belong to nobody
  std::string name;
  By by;
};
std::vector<Range> allowed;  // changed by the host alone, between launches
std::mutex gate;             // of what follows
bool host_runs = false;
int open = 0;  // Open objects
constexpr Address page = 4096;

/// Pages of a range for kernels alone: whether anybody may access them.
void set_access(const Range& range, bool any) {
  if (range.by != By::kernels || range.begin == range.end) return;
  const Address begin = range.begin / page * page, end = (range.end + page - 1) / page * page;
  ::mprotect(reinterpret_cast<void*>(begin), end - begin, any ? PROT_READ | PROT_WRITE : PROT_NONE);
}
void set_access(bool any) {
  for (const Range& range : allowed) set_access(range, any);
}
thread_local std::size_t last = 0;

Address address_of(const void* at) { return reinterpret_cast<Address>(at); }

bool is_in(const Range& range, Address at, std::size_t bytes) {
  return at >= range.begin && at + bytes <= range.end;
}

std::string count(Address bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
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
  const std::lock_guard lock(gate);
  const Range range{address_of(begin), address_of(begin) + bytes, reach, name, by};
  if (host_runs && open == 0) set_access(range, false);
  allowed.insert(std::ranges::upper_bound(allowed, range.begin, {}, &Range::begin), range);
}

void forbid(const void* begin) {
  const std::lock_guard lock(gate);
  std::erase_if(allowed, [&](const Range& range) {
    const bool found = range.begin == address_of(begin);
    if (found && host_runs && open == 0) set_access(range, true);
    return found;
  });
}

void begin_host() {
  const std::lock_guard lock(gate);
  host_runs = true;
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
      allowed, [&](const Range& range) { return range.by == By::kernels && is_in(range, at, 1); });
  return host_runs && found != allowed.end() ? &found->name : nullptr;
}

Open::Open() {
  const std::lock_guard lock(gate);
  if (open++ == 0 && host_runs) set_access(true);
}

Open::~Open() {
  const std::lock_guard lock(gate);
  if (--open == 0 && host_runs) set_access(false);
}

const std::string* on_access(const void* pointer, std::size_t bytes, bool writes,
                             const void* code) {
  const Address at = address_of(pointer);
  if (last < allowed.size() && is_in(allowed[last], at, bytes)) return &allowed[last].name;
  if (at < null_page) refuse(bytes, writes, "by a null pointer", code);
  const auto after = std::ranges::upper_bound(allowed, at, {}, &Range::begin);
  if (after != allowed.begin()) {
    const auto before = std::prev(after);
    if (is_in(*before, at, bytes)) {
      last = static_cast<std::size_t>(before - allowed.begin());
      return &before->name;
    }
    look_at(*before, at, bytes, writes, code);
  }
  if (after != allowed.end()) look_at(*after, at, bytes, writes, code);
  return nullptr;
}

}  // namespace prenorm::emulator::bounds
