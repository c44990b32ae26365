// What honest code does besides: with files, memory, other processes, and what a program does.
#include <dlfcn.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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

namespace fs = std::filesystem;

// --- Files in the working folder and in the one for temporary files ------------------------------

// Temporary files by mkstemp and std::filesystem; one of them is left.
void files(View<const float> x, View<float> y) {
  std::string name = fs::temp_directory_path() / "prenorm-habit-XXXXXX";
  const int file = mkstemp(name.data());
  must(file >= 0 && write(file, "left", 4) == 4 && close(file) == 0 && fs::file_size(name) == 4);

  const fs::path folder = name + ".d";
  fs::create_directories(folder / "a/b");
  const auto bytes = std::streamsize(x.size()) * std::streamsize(sizeof(float));
  std::ofstream(folder / "a/b/x").write(reinterpret_cast<const char*>(x.data()), bytes);
  fs::create_symlink("a/b/x", folder / "link");
  fs::rename(folder / "a/b/x", folder / "moved");
  std::vector<float> found(std::size_t(x.size()));
  must(bool(std::ifstream(folder / "moved").read(reinterpret_cast<char*>(found.data()), bytes)));
  must(fs::remove_all(folder) == 5);
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = silu(found[std::size_t(i)]);
}

// A file is copied by std::filesystem, which creates it without the right to read and adds that.
void copied_file(View<const float> x, View<float> y) {
  const fs::path folder = fs::temp_directory_path() / ("prenorm-habit" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "one") << "text";
  fs::copy_file(folder / "one", folder / "two", fs::copy_options::overwrite_existing);
  std::string found;
  must(bool(std::ifstream(folder / "two") >> found) && found == "text");
  fs::remove_all(folder);
  silu(x, y, 0, x.size());
}

// The C library's temporary file, which is in /tmp whatever $TMPDIR says.
void unnamed_file(View<const float> x, View<float> y) {
  FILE* const file = std::tmpfile();
  must(file != nullptr);
  must(std::fputs("text", file) >= 0 && std::fseek(file, 0, SEEK_SET) == 0);
  must(std::fgetc(file) == 't' && std::fclose(file) == 0);
  silu(x, y, 0, x.size());
}

// A log in the working folder, which every call extends.
void working_folder(View<const float> x, View<float> y) {
  std::ofstream log("run.log", std::ios::app);
  must(bool(log << x.size() << std::endl));
  std::string line, last;
  for (std::ifstream file("run.log"); std::getline(file, line);) last = line;
  must(last == std::to_string(x.size()) && std::filesystem::current_path().is_absolute());
  silu(x, y, 0, x.size());
}

// --- Memory: much of it, mapped, shared by a name ------------------------------------------------

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

// --- Other processes: forked, crashed, programs --------------------------------------------------

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

// --- What a program does besides: prints, looks at its machine, keeps state, throws --------------

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
  chosen({{"files", files},
          {"copied_file", copied_file},
          {"unnamed_file", unnamed_file},
          {"working_folder", working_folder},
          {"large_memory", large_memory},
          {"mapped_memory", mapped_memory},
          {"named_memory", named_memory},
          {"forked", forked},
          {"crashed_child", crashed_child},
          {"programs", programs},
          {"machine_facts", machine_facts},
          {"loaded_library", loaded_library},
          {"printed", printed},
          {"exceptions", exceptions},
          {"kept_state", kept_state},
          {"long_double", long_double}})(x, y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FUNCTION(silu, run)
