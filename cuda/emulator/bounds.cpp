// The ranges that kernels may access, sorted by address. The last one that was found is tried
// first: threads go through one tensor for a while.
#include "bounds.hpp"

#include "block.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace prenorm::emulator::bounds {
namespace {

using Address = std::uintptr_t;
constexpr Address null_page = 1 << 16;

struct Range {
  Address begin, end;
  Address reach;  // bytes before and behind that belong to nobody
  std::string name;
};
std::vector<Range> allowed;  // changed by the host alone, between launches
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

void allow(const void* begin, std::size_t bytes, std::size_t reach, const std::string& name) {
  forbid(begin);
  const Range range{address_of(begin), address_of(begin) + bytes, reach, name};
  allowed.insert(std::ranges::upper_bound(allowed, range.begin, {}, &Range::begin), range);
}

void forbid(const void* begin) {
  std::erase_if(allowed, [&](const Range& range) { return range.begin == address_of(begin); });
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
