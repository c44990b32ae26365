// Shared memory and a semaphore by names, which are removed.
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
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

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
