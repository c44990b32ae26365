// prenorm-confine: the last step before a submission runs. It drops the rights of its own process
// that can be dropped from inside, and then executes the program.
//
//     prenorm-confine [OPTION...] -- PROGRAM [ARGUMENT...]
//
//     --cpu SECONDS  --file-size BYTES  --tasks COUNT  --descriptors COUNT      limits
//     --alone         there are no namespaces: the program may signal no other process, and make no
//                     process group
//     --first         this is the first process of a namespace, and stays it
//     --read PATH     may be read and executed, with everything below it; where the kernel has
//                     Landlock, no files are used except those named here
//     --write PATH    may be written too
//     --device PATH   a file that may be read and written
//     --with-device   allow what a device's driver needs: files in memory
//
//     --list          prints the table of system calls, and nothing else
//
// Exit code 126 if a step fails: the program does not run.
#include "sandbox/system_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace sandbox = prenorm::sandbox;

[[noreturn]] void fail(const std::string& what, int reason) {
  std::fprintf(stderr, "prenorm-confine: %s: %s\n", what.c_str(), std::strerror(reason));
  std::_Exit(126);
}

void check(bool good, const std::string& what) {
  if (!good) fail(what, errno);
}

struct Options {
  rlim_t cpu = 0, file_size = 0, tasks = 0, descriptors = 0;
  bool alone = false, first = false, with_device = false;
  std::vector<const char*> read, write, device;
  char** program = nullptr;
};

Options parse(std::span<char*> words) {
  Options options;
  const auto bad = [](const char* word) {
    fail(std::string("invalid option or missing value: ") + word, EINVAL);
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      if (i + 1 < words.size()) options.program = &words[i + 1];
      break;
    }
    bool* const flag = word == "--alone"         ? &options.alone
                       : word == "--first"       ? &options.first
                       : word == "--with-device" ? &options.with_device
                                                 : nullptr;
    if (flag != nullptr) {
      *flag = true;
      continue;
    }
    if (i + 1 == words.size()) bad(words[i]);
    const char* value = words[++i];
    if (word == "--cpu")
      options.cpu = std::strtoull(value, nullptr, 10);
    else if (word == "--file-size")
      options.file_size = std::strtoull(value, nullptr, 10);
    else if (word == "--tasks")
      options.tasks = std::strtoull(value, nullptr, 10);
    else if (word == "--descriptors")
      options.descriptors = std::strtoull(value, nullptr, 10);
    else if (word == "--read")
      options.read.push_back(value);
    else if (word == "--write")
      options.write.push_back(value);
    else if (word == "--device")
      options.device.push_back(value);
    else
      bad(words[i - 1]);
  }
  if (options.program == nullptr) fail("no program", EINVAL);
  return options;
}

/// `grace` is how much more the hard limit allows: time to handle the signal.
void limit(decltype(RLIMIT_CPU) which, rlim_t most, const char* what, rlim_t grace = 0) {
  if (most == 0) return;
  rlimit now{};
  check(::getrlimit(which, &now) == 0, what);
  now.rlim_max = std::min(now.rlim_max, most + grace);
  now.rlim_cur = std::min(now.rlim_max, most);
  check(::setrlimit(which, &now) == 0, what);
}

/// Root's capabilities too: exec restores none that the bounding set lacks.
void drop_privileges() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    // A process that may not drop capabilities has none.
    if (::prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM) check(false, "capabilities");
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  check(::syscall(SYS_capset, &header, none) == 0, "capabilities");
  check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
}

// Landlock by system call numbers: the system's header may be older than its kernel.
namespace landlock {

struct Attributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
} __attribute__((packed));

constexpr std::uint64_t execute = 1u << 0, write_file = 1u << 1, read_file = 1u << 2,
                        read_dir = 1u << 3, truncate = 1u << 14, ioctl_device = 1u << 15;
constexpr std::uint64_t may_read = execute | read_file | read_dir;
/// All rights of the first version: everything up to creating symbolic links.
constexpr std::uint64_t first_version = (1u << 13) - 1;
constexpr std::uint64_t refer = 1u << 13;
constexpr std::uint64_t of_a_file = execute | write_file | read_file | truncate | ioctl_device;

std::uint64_t handled_files(long version) {
  return first_version | (version >= 2 ? refer : 0) | (version >= 3 ? truncate : 0) |
         (version >= 5 ? ioctl_device : 0);
}

void allow(int rules, const char* path, std::uint64_t rights) {
  const int file = ::open(path, O_PATH | O_CLOEXEC);
  if (file < 0 && errno == EACCES) return;  // then the program cannot open it either
  check(file >= 0, path);
  struct stat info {};
  check(::fstat(file, &info) == 0, path);
  PathRule rule;
  rule.allowed = S_ISDIR(info.st_mode) ? rights : rights & of_a_file;
  rule.parent = file;
  check(::syscall(SYS_landlock_add_rule, rules, 1, &rule, 0) == 0,
        std::string("Landlock: ") + path);
  ::close(file);
}

void restrict_files(const Options& options) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  if (version <= 0 && !options.alone) return;  // namespaces hold without it
  check(version > 0, "the kernel has no Landlock");
  Attributes attributes;
  attributes.files = handled_files(version);
  if (version >= 4) attributes.network = 3;  // bind and connect
  if (version >= 6) attributes.scoped = 3;   // abstract sockets and signals
  const std::size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const int rules = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  check(rules >= 0, "Landlock");
  for (const char* path : options.read) allow(rules, path, may_read);
  for (const char* path : options.write) allow(rules, path, attributes.files & ~ioctl_device);
  for (const char* path : options.device) {
    allow(rules, path, attributes.files & (read_file | write_file | ioctl_device));
  }
  check(::syscall(SYS_landlock_restrict_self, rules, 0) == 0, "Landlock");
  ::close(rules);
}

}  // namespace landlock

void filter_calls(const Options& options) {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
  if (filter == nullptr) fail("seccomp", ENOMEM);
  ::seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);  // found by halving, not one by one
  const sandbox::Setting setting{options.alone, options.with_device, ::getpid()};
  for (const sandbox::Rule& rule : sandbox::rules(setting)) {
    for (const sandbox::SystemCall& call : rule.calls) {
      const int result =
          ::seccomp_rule_add_array(filter, rule.action, call.number,
                                   static_cast<unsigned>(call.where.size()), call.where.data());
      // EDOM: not on this machine.
      if (result != 0 && result != -EDOM) fail(std::string("seccomp: ") + call.name, -result);
    }
  }
  const int result = ::seccomp_load(filter);
  if (result != 0) fail("seccomp", -result);
  ::seccomp_release(filter);
}

/// Goes on in a child, while this process, as confined as the child, stays the first of its
/// namespace: it reaps what loses its parent, and ends as the child does, as a shell would say it.
void stay_first() {
  // Its memory belongs to nobody inside; the program that the child executes has its own again.
  check(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "not dumpable");
  const pid_t child = ::fork();
  check(child >= 0, "fork");
  if (child == 0) return;
  ::close_range(0, ~0u, 0);
  while (true) {
    int status = 0;
    const pid_t ended = ::wait(&status);
    if (ended < 0 && errno != EINTR) ::_exit(126);
    if (ended != child) continue;
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--list") {
    std::fputs(sandbox::listed().c_str(), stdout);
    return 0;
  }
  const Options options = parse({words, static_cast<std::size_t>(count)});
  // Where memory runs out, this goes first, and not whoever judges it.
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
  const char* folder = std::getenv("TMPDIR");
  if (folder != nullptr && ::chdir(folder) != 0) check(::chdir("/") == 0, "/");
  limit(RLIMIT_CPU, options.cpu, "processor time", 5);
  limit(RLIMIT_FSIZE, options.file_size, "size of files");
  limit(RLIMIT_NPROC, options.tasks, "number of processes");
  limit(RLIMIT_NOFILE, options.descriptors, "number of descriptors");
  drop_privileges();
  landlock::restrict_files(options);
  filter_calls(options);
  if (options.first) stay_first();
  ::execv(options.program[0], options.program);
  fail(options.program[0], errno);
}
