// Memory: much of it, mapped, shared by a name.
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../silu.hpp"

int depth(int count) {
  volatile char kept[64] = {};
  return count == 0 ? kept[0] : 1 + depth(count - 1);
}

// A large array on the stack, a deep recursion, and 100 MB that are written and freed.
void large_memory(View<const float> x, View<float> y) {
  volatile char large[4 << 20];
  large[0] = 1;
  large[sizeof large - 1] = 1;
  must(large[0] == 1 && depth(10'000) == 10'000);
  const std::vector<float> table(25'000'000, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = silu(x[i]) * table[std::size_t(i)];
}

// Memory by mmap: for scratch, grown, with huge pages where there are some; and aligned blocks.
void mapped_memory(View<const float> x, View<float> y) {
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

// Shared memory and a semaphore by names, which are removed.
void named_memory(View<const float> x, View<float> y) {
  const std::string name = "/prenorm-habit" + std::to_string(getpid());
  const std::size_t bytes = std::max<std::size_t>(std::size_t(x.size()) * sizeof(float), 1);
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  must(file >= 0 && ftruncate(file, off_t(bytes)) == 0);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  must(memory != MAP_FAILED && close(file) == 0 && shm_unlink(name.c_str()) == 0);
  sem_t* semaphore = sem_open(name.c_str(), O_CREAT, 0600, 1);
  must(semaphore != SEM_FAILED && sem_wait(semaphore) == 0 && sem_post(semaphore) == 0);
  must(sem_close(semaphore) == 0 && sem_unlink(name.c_str()) == 0);
  auto* const shared = static_cast<float*>(memory);
  for (std::int64_t i = 0; i < x.size(); ++i) shared[i] = silu(x[i]);
  std::copy_n(shared, x.size(), y.data());
  must(munmap(memory, bytes) == 0);
}

void run(View<const float> x, View<float> y) {
  chosen({{"large_memory", large_memory},
          {"mapped_memory", mapped_memory},
          {"named_memory", named_memory}})(x, y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
