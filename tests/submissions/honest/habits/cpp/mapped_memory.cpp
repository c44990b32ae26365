// Memory by mmap: for scratch, grown, with huge pages where there are some; and aligned blocks.
#include <sys/mman.h>

#include <cstdlib>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  const std::size_t bytes = 8 << 20;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(memory != MAP_FAILED);
  madvise(memory, bytes, MADV_HUGEPAGE);  // not every kernel has them
  memory = mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE);
  must(memory != MAP_FAILED && reinterpret_cast<std::size_t>(memory) % 4096 == 0);
  auto* const scratch = static_cast<float*>(memory);
  for (std::int64_t i = 0; i < x.size(); ++i) scratch[i] = silu(x[i]);
  must(mprotect(memory, bytes, PROT_READ) == 0 &&
       madvise(scratch + bytes / 4, bytes, MADV_DONTNEED) == 0);
  void* const aligned = std::aligned_alloc(64, 1 << 20);
  must(aligned && reinterpret_cast<std::size_t>(aligned) % 64 == 0);
  std::free(aligned);
  std::copy_n(scratch, x.size(), y.data());
  must(munmap(memory, 2 * bytes) == 0);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
