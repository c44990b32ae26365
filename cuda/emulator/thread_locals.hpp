// Where this library's thread-local variables lie, which are the static shared arrays of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace prenorm::emulator {

/// This library's thread-local segment, of the thread that asks.
struct ThreadLocals {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

inline int find_thread_locals(dl_phdr_info* info, std::size_t, void* result) {
  const auto here = reinterpret_cast<std::uintptr_t>(&find_thread_locals);
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
    *static_cast<ThreadLocals*>(result) = {static_cast<const std::byte*>(info->dlpi_tls_data),
                                           bytes};
  }
  return 1;
}

inline ThreadLocals thread_locals() {
  ThreadLocals found;
  ::dl_iterate_phdr(find_thread_locals, &found);
  return found;
}

}  // namespace prenorm::emulator
