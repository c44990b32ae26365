// Other processes: forked, crashed, programs.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../silu.hpp"

// A forked process that fills memory which it shares.
void forked(View<const float> x, View<float> y) {
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

// A forked child crashes, and its parent sees that and goes on.
void crashed_child(View<const float> x, View<float> y) {
  const pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    *static_cast<volatile int*>(nullptr) = 1;
    _exit(0);
  }
  int status = 0;
  must(waitpid(child, &status, 0) == child);
  must(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  silu(x, y, 0, x.size());
}

// Programs are run: one whose output is read, and one by a shell.
void programs(View<const float> x, View<float> y) {
  FILE* pipe = popen("nproc", "r");
  must(pipe != nullptr);
  std::array<char, 64> line{};
  must(std::fgets(line.data(), int(line.size()), pipe) && std::stoi(line.data()) >= 1);
  must(pclose(pipe) == 0 && std::system("exit 0") == 0);
  silu(x, y, 0, x.size());
}

void run(View<const float> x, View<float> y) {
  chosen({{"forked", forked}, {"crashed_child", crashed_child}, {"programs", programs}})(x, y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
