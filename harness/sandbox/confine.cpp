// prenorm-confine: the last step before a submission runs. It drops the rights of its own process
// that can be dropped from inside, and then executes the program.
//
//     prenorm-confine [OPTION...] -- PROGRAM [ARGUMENT...]
//
//     --cpu SECONDS  --file-size BYTES  --tasks COUNT  --descriptors COUNT      limits
//     --alone         there are no namespaces: the program may signal no other process, make no
//                     process group, and use no files except those named here:
//     --read PATH     may be read and executed, with everything below it
//     --write PATH    may be written too
//     --device PATH   a file that may be read and written
//     --with-device   allow what a device's driver needs: files in memory
//
// Exit code 126 if a step fails: the program does not run.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string& what, int reason) {
  std::fprintf(stderr, "prenorm-confine: %s: %s\n", what.c_str(), std::strerror(reason));
  std::_Exit(126);
}

void check(bool good, const std::string& what) {
  if (!good) fail(what, errno);
}

struct Options {
  rlim_t cpu = 0, file_size = 0, tasks = 0, descriptors = 0;
  bool alone = false, with_device = false;
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
    if (word == "--alone" || word == "--with-device") {
      (word == "--alone" ? options.alone : options.with_device) = true;
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

// System calls. Those that no computation needs end the process (SIGSYS: a
// violation); those that a library may try for a good reason fail with an error.
class Filter {
 public:
  Filter() : filter_(::seccomp_init(SCMP_ACT_ALLOW)) {
    if (filter_ == nullptr) fail("seccomp", ENOMEM);
  }

  void kill(std::initializer_list<int> calls) {
    for (const int call : calls) add(SCMP_ACT_KILL_PROCESS, call, {});
  }
  void refuse(int error, std::initializer_list<int> calls) {
    for (const int call : calls) add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, {});
  }
  void refuse_where(int error, int call, scmp_arg_cmp condition) {
    add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, {condition});
  }

  void load() {
    const int result = ::seccomp_load(filter_);
    if (result != 0) fail("seccomp", -result);
    ::seccomp_release(filter_);
  }

 private:
  void add(std::uint32_t action, int call, std::vector<scmp_arg_cmp> conditions) {
    const int result = ::seccomp_rule_add_array(
        filter_, action, call, static_cast<unsigned>(conditions.size()), conditions.data());
    if (result != 0 && result != -EDOM) fail("seccomp", -result);  // EDOM: not on this machine
  }

  scmp_filter_ctx filter_;
};

/// New namespaces would grant all capabilities inside them.
constexpr std::array<scmp_datum_t, 8> namespaces{CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                                 CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                                 CLONE_NEWNET, CLONE_NEWTIME};

/// Landlock does not ask who changes rights, owners, times and extended attributes, and whoever
/// owns a file may: here the submission has the grader's own user. These calls do nothing, and say
/// that they did, for a compiler's tools ask for them and need them not.
void keep_rights(Filter& filter) {
  constexpr int success = 0;
  filter.refuse(success, {SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown),
                          SCMP_SYS(lchown), SCMP_SYS(fchown), SCMP_SYS(fchownat), SCMP_SYS(utime),
                          SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(utimensat),
                          SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr),
                          SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr)});
  // Younger than the library of filters: by their numbers, the same on every machine. As on a
  // kernel that has them not.
  constexpr int fchmodat2 = 452, setxattrat = 463, removexattrat = 466, file_setattr = 469;
  filter.refuse(ENOSYS, {fchmodat2, setxattrat, removexattrat, file_setattr});
}

/// Without a namespace of processes: no signal to others, no change of theirs, and no way out of
/// the process group by which all of it is ended.
void keep_to_itself(Filter& filter) {
  const auto self = static_cast<scmp_datum_t>(::getpid());
  for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill)}) {
    filter.refuse_where(EPERM, call, SCMP_A0(SCMP_CMP_NE, self));
  }
  filter.refuse_where(EPERM, SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0));
  filter.refuse_where(EPERM, SCMP_SYS(sched_setaffinity), SCMP_A0(SCMP_CMP_NE, 0));
  // A descriptor sends signals to its owner, whoever that is made.
  for (const scmp_datum_t owner : {8 /* F_SETOWN */, 15 /* F_SETOWN_EX */, 10 /* F_SETSIG */}) {
    filter.refuse_where(EPERM, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, owner));
  }
  for (const scmp_datum_t owner : {0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */}) {
    filter.refuse_where(EPERM, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, owner));
  }
  // Landlock's first versions let a file be emptied that may only be read.
  filter.refuse(EPERM, {SCMP_SYS(truncate)});
  filter.refuse(ENOSYS, {SCMP_SYS(openat2)});
  constexpr scmp_datum_t mode_and_emptied = O_ACCMODE | O_TRUNC, emptied = O_RDONLY | O_TRUNC;
  filter.refuse_where(EPERM, SCMP_SYS(open),
                      SCMP_A1(SCMP_CMP_MASKED_EQ, mode_and_emptied, emptied));
  filter.refuse_where(EPERM, SCMP_SYS(openat),
                      SCMP_A2(SCMP_CMP_MASKED_EQ, mode_and_emptied, emptied));
  filter.refuse(EPERM, {SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo),
                        SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_send_signal), SCMP_SYS(setsid),
                        SCMP_SYS(setpgid), SCMP_SYS(setpriority), SCMP_SYS(ioprio_set),
                        SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam),
                        SCMP_SYS(sched_setattr), SCMP_SYS(process_madvise),
                        SCMP_SYS(process_mrelease), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages)});
}

void filter_calls(const Options& options) {
  Filter filter;
  filter.kill({SCMP_SYS(ptrace),
               SCMP_SYS(process_vm_readv),
               SCMP_SYS(process_vm_writev),
               SCMP_SYS(pidfd_getfd),
               SCMP_SYS(kcmp),
               SCMP_SYS(mount),
               SCMP_SYS(umount2),
               SCMP_SYS(pivot_root),
               SCMP_SYS(chroot),
               SCMP_SYS(move_mount),
               SCMP_SYS(open_tree),
               SCMP_SYS(fsopen),
               SCMP_SYS(fsconfig),
               SCMP_SYS(fsmount),
               SCMP_SYS(fspick),
               SCMP_SYS(mount_setattr),
               SCMP_SYS(setns),
               SCMP_SYS(unshare),
               SCMP_SYS(bpf),
               SCMP_SYS(userfaultfd),
               SCMP_SYS(kexec_load),
               SCMP_SYS(kexec_file_load),
               SCMP_SYS(init_module),
               SCMP_SYS(finit_module),
               SCMP_SYS(delete_module),
               SCMP_SYS(reboot),
               SCMP_SYS(swapon),
               SCMP_SYS(swapoff),
               SCMP_SYS(acct),
               SCMP_SYS(quotactl),
               SCMP_SYS(settimeofday),
               SCMP_SYS(clock_settime),
               SCMP_SYS(iopl),
               SCMP_SYS(ioperm),
               SCMP_SYS(keyctl),
               SCMP_SYS(add_key),
               SCMP_SYS(request_key),
               SCMP_SYS(open_by_handle_at),
               SCMP_SYS(sethostname),
               SCMP_SYS(setdomainname),
               SCMP_SYS(modify_ldt),
               SCMP_SYS(vhangup)});
  filter.refuse(EACCES, {SCMP_SYS(socket)});
  filter.refuse(EPERM, {SCMP_SYS(perf_event_open), SCMP_SYS(name_to_handle_at), SCMP_SYS(syslog),
                        SCMP_SYS(shmget), SCMP_SYS(msgget), SCMP_SYS(semget), SCMP_SYS(mq_open),
                        SCMP_SYS(fanotify_init), SCMP_SYS(personality)});
  // As on a kernel that has them not: there is another way, and who asks knows it.
  filter.refuse(ENOSYS, {SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
                         SCMP_SYS(io_uring_register), SCMP_SYS(memfd_secret), SCMP_SYS(clone3)});
  // Memory that no limit counts; a device's driver may need it.
  if (!options.with_device) filter.refuse(ENOSYS, {SCMP_SYS(memfd_create)});
  for (const scmp_datum_t flag : namespaces) {
    filter.refuse_where(EPERM, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  }
  filter.refuse_where(EPERM, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI));
  if (options.alone) {
    keep_to_itself(filter);
    keep_rights(filter);
  }
  filter.load();
}

}  // namespace

int main(int count, char** words) {
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
  if (options.alone) landlock::restrict_files(options);
  filter_calls(options);
  ::execv(options.program[0], options.program);
  fail(options.program[0], errno);
}
