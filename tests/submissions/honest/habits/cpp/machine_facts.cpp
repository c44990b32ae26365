// What there is to know of the machine: files of /proc, sysconf, the user, names and times.
#include <pwd.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "../silu.hpp"

bool has(const char* path, const std::string& word) {
  std::ifstream file(path);
  for (std::string each; file >> each;) {
    if (each.find(word) != std::string::npos) return true;
  }
  return false;
}

void run(View<const float> x, View<float> y) {
  FILE* info = std::fopen("/proc/cpuinfo", "r");
  must(info && std::fgetc(info) != EOF && std::fclose(info) == 0);
  must(has("/proc/meminfo", "MemAvailable") && has("/proc/self/status", "VmRSS"));
  must(has("/proc/self/maps", "libc"));
  must(sysconf(_SC_NPROCESSORS_ONLN) >= 1 && sysconf(_SC_PAGESIZE) > 0);
  must(std::thread::hardware_concurrency() >= 1 && sched_getcpu() >= 0);
  const passwd* user = getpwuid(getuid());
  must(user && *user->pw_dir);
  utsname system;
  char host[256];
  must(uname(&system) == 0 && gethostname(host, sizeof host) == 0);
  rusage used;
  must(getrusage(RUSAGE_SELF, &used) == 0 && std::getenv("PATH") && isatty(1) == 0);
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  must(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(2));
  std::mt19937_64 generator(std::random_device{}());
  must(generator() != generator());
  silu(x, y, 0, x.size());
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
