// What a program does besides: prints, looks at its machine, keeps state, throws.
#include <dlfcn.h>
#include <pwd.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../silu.hpp"

bool has(const char* path, const std::string& word) {
  std::ifstream file(path);
  for (std::string each; file >> each;) {
    if (each.find(word) != std::string::npos) return true;
  }
  return false;
}

// What there is to know of the machine: files of /proc, sysconf, the user, names and times.
void machine_facts(View<const float> x, View<float> y) {
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

// A function of another library, found while it runs.
void loaded_library(View<const float> x, View<float> y) {
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  must(library != nullptr);
  const auto exponential = reinterpret_cast<double (*)(double)>(dlsym(library, "exp"));
  must(exponential != nullptr);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = float(x[i] / (1 + exponential(-double(x[i]))));
  must(dlclose(library) == 0);
}

// Much is printed, by both libraries and to both streams.
void printed(View<const float> x, View<float> y) {
  for (int i = 0; i < 1000; ++i) {
    std::printf("row %d of %lld\n", i, static_cast<long long>(x.size()));
    std::cerr << "warning " << i << std::endl;
  }
  std::cout << std::setprecision(3) << 1.5 << std::endl;
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "loss: " << 0.25;
  must(std::regex_search(text.str(), std::regex("loss: [0-9.]+$")));
  silu(x, y, 0, x.size());
}

int descend(int depth) {
  const std::vector<int> kept(10);
  if (depth == 0) throw std::out_of_range("the bottom");
  return descend(depth - 1) + int(kept.size());
}

template <class Error, class Work>
bool throws(Work work) {
  try {
    work();
  } catch (const Error&) {
    return true;
  }
  return false;
}

// Exceptions that are thrown and caught within the call, through many frames.
void exceptions(View<const float> x, View<float> y) {
  must(throws<std::out_of_range>([] { descend(1000); }));
  must(throws<std::invalid_argument>([] { std::stoi("no number"); }));
  must(throws<std::bad_alloc>([] { std::vector<double>(std::size_t(1) << 50); }));
  std::feclearexcept(FE_ALL_EXCEPT);
  silu(x, y, 0, x.size());
  must(std::fetestexcept(FE_DIVBYZERO) == 0);
}

const std::map<std::string, float (*)(float)> activations = {{"silu", &silu}};

const auto squares = [] {
  std::array<int, 1 << 16> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = int(i % 100 * (i % 100));
  return table;
}();

// Tables that are computed when the library is loaded, scratch memory per thread, and work at the
// end.
void kept_state(View<const float> x, View<float> y) {
  static std::once_flag once;
  static int calls = 0;
  std::call_once(once, [] { std::atexit([] { calls = -1; }); });
  must(++calls > 0 && squares[12] == 144);
  thread_local std::vector<float> scratch;
  scratch.resize(std::size_t(x.size()));
  const auto activation = activations.at("silu");
  for (std::int64_t i = 0; i < x.size(); ++i) scratch[std::size_t(i)] = activation(x[i]);
  std::copy(scratch.begin(), scratch.end(), y.data());
}

// Sums in long double, another rounding for a moment, and small numbers that are flushed to zero.
void long_double(View<const float> x, View<float> y) {
  must(std::fesetround(FE_UPWARD) == 0);
  volatile double third = 1;
  third = third / 3;
  must(std::fesetround(FE_TONEAREST) == 0 && third * 3 >= 1);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const long double wide = x[i];
    y[i] = float(wide / (1 + std::exp(-wide)));
  }
}

void run(View<const float> x, View<float> y) {
  chosen({{"machine_facts", machine_facts},
          {"loaded_library", loaded_library},
          {"printed", printed},
          {"exceptions", exceptions},
          {"kept_state", kept_state},
          {"long_double", long_double}})(x, y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
