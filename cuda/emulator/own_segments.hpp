// Where this library's variables lie: static shared arrays of kernels are thread-local ones,
// __device__ variables are others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace prenorm::emulator {

struct Segment {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;

  bool holds(const void* at) const {
    return at >= begin && static_cast<const std::byte*>(at) < begin + bytes;
  }
};

/// Of this library.
struct OwnSegments {
  Segment thread_locals;  // of the thread that asks
  Segment variables;
};

inline int find_own_segments(dl_phdr_info* info, std::size_t, void* result) {
  const auto here = reinterpret_cast<std::uintptr_t>(&find_own_segments);
  bool ours = false;
  OwnSegments found;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
      found.thread_locals = {static_cast<const std::byte*>(info->dlpi_tls_data), part.p_memsz};
    }
    if (part.p_type != PT_LOAD) continue;
    if (here >= begin && here < begin + part.p_memsz) ours = true;
    if ((part.p_flags & PF_W) != 0) {
      found.variables = {reinterpret_cast<const std::byte*>(begin), part.p_memsz};
    }
  }
  if (ours) *static_cast<OwnSegments*>(result) = found;
  return ours ? 1 : 0;
}

inline OwnSegments own_segments() {
  OwnSegments found;
  ::dl_iterate_phdr(find_own_segments, &found);
  return found;
}

}  // namespace prenorm::emulator
