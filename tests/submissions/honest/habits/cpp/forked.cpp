// A forked process that fills memory which it shares.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
  const std::size_t bytes = std::max<std::size_t>(std::size_t(x.size()) * sizeof(float), 1);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(memory != MAP_FAILED);
  auto* const shared = static_cast<float*>(memory);
  const pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    for (std::int64_t i = 0; i < x.size(); ++i) shared[i] = silu(x[i]);
    _exit(3);
  }
  int status = 0;
  must(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  std::copy_n(shared, x.size(), y.data());
  must(munmap(memory, bytes) == 0);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
