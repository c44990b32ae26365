// prenorm-confine: the last step before a submission runs. It drops the rights of its own process
// that can be dropped from inside, and then executes the program in a child. It stays above that
// as its supervisor.
//
//     prenorm-confine [OPTION...] -- PROGRAM [ARGUMENT...]
//
//     --cpu SECONDS  --file-size BYTES  --tasks COUNT  --descriptors COUNT      limits
//     --count-tasks COUNT  the same limit, counted by the supervisor
//     --shared BYTES  the most memory that processes may share without a file
//     --sockets COUNT  the most sockets, counted by the supervisor
//     --alone         there are no namespaces: the program may signal no process outside, and make
//                     no process group
//     --read PATH     may be read and executed, with everything below it; where the kernel has
//                     Landlock, no files are used except those named here
//     --write PATH    may be written too
//     --device PATH   a file that may be read and written
//     --empty BYTES:PATH  an empty folder in memory, of that size, is mounted there
//     --keep PATH     a file or folder inside such a folder, which is mounted there again
//     --copy BYTES:PATH   a copy of the folder is mounted there, in memory of that size
//     --with-device   allow what a device's driver needs: files in memory
//
//     --list          prints the table of system calls, and nothing else
//
// Exit code 126 if a step fails: the program does not run.
#include "sandbox/confine.hpp"
#include "sandbox/system_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/capability.h>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

namespace sandbox = prenorm::sandbox;
using sandbox::check;

[[noreturn]] void fail(const std::string& what, int reason) {
  std::fprintf(stderr, "prenorm-confine: %s: %s\n", what.c_str(), std::strerror(reason));
  std::_Exit(126);
}

struct Options {
  rlim_t cpu = 0, file_size = 0, tasks = 0, counted_tasks = 0, descriptors = 0, shared = 0,
         sockets = 0;
  bool alone = false, with_device = false;
  sandbox::landlock::Files files;
  sandbox::Folders folders;
  char** program = nullptr;
};

/// "BYTES:PATH".
sandbox::SizedFolder sized_folder(const char* value) {
  const char* colon = std::strchr(value, ':');
  if (colon == nullptr) fail(std::string("no size: ") + value, EINVAL);
  return {colon + 1, std::string(value, colon)};
}

Options parse(std::span<char*> words) {
  Options options;
  const std::map<std::string_view, bool*> flags{{"--alone", &options.alone},
                                                {"--with-device", &options.with_device}};
  const std::map<std::string_view, rlim_t*> numbers{{"--cpu", &options.cpu},
                                                    {"--file-size", &options.file_size},
                                                    {"--tasks", &options.tasks},
                                                    {"--count-tasks", &options.counted_tasks},
                                                    {"--descriptors", &options.descriptors},
                                                    {"--shared", &options.shared},
                                                    {"--sockets", &options.sockets}};
  const std::map<std::string_view, std::vector<const char*>*> paths{
      {"--read", &options.files.read},
      {"--write", &options.files.write},
      {"--device", &options.files.device},
      {"--keep", &options.folders.kept}};
  const std::map<std::string_view, std::vector<sandbox::SizedFolder>*> sized{
      {"--empty", &options.folders.empty}, {"--copy", &options.folders.copied}};
  const auto bad = [](const char* word) {
    fail(std::string("invalid option or missing value: ") + word, EINVAL);
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      if (i + 1 < words.size()) options.program = &words[i + 1];
      break;
    }
    if (const auto flag = flags.find(word); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (i + 1 == words.size()) bad(words[i]);
    const char* value = words[++i];
    if (const auto number = numbers.find(word); number != numbers.end()) {
      *number->second = std::strtoull(value, nullptr, 10);
    } else if (const auto list = paths.find(word); list != paths.end()) {
      list->second->push_back(value);
    } else if (const auto folders = sized.find(word); folders != sized.end()) {
      folders->second->push_back(sized_folder(value));
    } else {
      bad(words[i - 1]);
    }
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

void restrict_files(const Options& options) {
  if (sandbox::landlock::version() > 0) {
    sandbox::landlock::restrict_files(options.files);
  } else if (options.alone) {  // namespaces hold without it
    fail("the kernel has no Landlock", ENOSYS);
  }
}

int load_filter(const Options& options) {
  return sandbox::load_filter(sandbox::rules({.alone = options.alone,
                                              .counted = options.counted_tasks > 0,
                                              .scoped = sandbox::landlock::keeps_inside(),
                                              .with_device = options.with_device,
                                              .self = ::getpid()}));
}

/// Everything that holds for the program from here on; returns in the process that becomes it.
void confine(const Options& options) {
  sandbox::mount_folders(options.folders);
  const char* folder = std::getenv("TMPDIR");
  if (folder != nullptr && ::chdir(folder) != 0) check(::chdir("/") == 0, "/");
  limit(RLIMIT_CPU, options.cpu, "processor time", 5);
  limit(RLIMIT_FSIZE, options.file_size, "size of files");
  limit(RLIMIT_NPROC, options.tasks, "number of processes");
  drop_privileges();
  sandbox::hide_memory();
  if (options.alone) {
    sandbox::landlock::restrict_neighbours(options.files.write);
  } else {
    restrict_files(options);
  }
  const sandbox::Supervised supervised({.alone = options.alone,
                                        .tasks = options.counted_tasks,
                                        .shared = options.shared,
                                        .sockets = options.sockets});
  if (options.alone) restrict_files(options);  // but the supervisor connects to others' names
  supervised.serve(load_filter(options));
  // Passing a descriptor on fails where others of this user have that many on their way.
  limit(RLIMIT_NOFILE, options.descriptors, "number of descriptors");
}

}  // namespace

int main(int count, char** words) try {
  if (count == 2 && std::string_view(words[1]) == "--list") {
    std::fputs(sandbox::listed().c_str(), stdout);
    return 0;
  }
  const Options options = parse({words, static_cast<std::size_t>(count)});
  // Where memory runs out, the kernel ends this process before the one that judges it.
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
  confine(options);
  ::execv(options.program[0], options.program);
  fail(options.program[0], errno);
} catch (const std::exception& error) {
  std::fprintf(stderr, "prenorm-confine: %s\n", error.what());
  return 126;
}
