// A forked child crashes, and its parent sees that and goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "../silu.hpp"

void run(View<const float> x, View<float> y) {
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

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
