#include "sandbox/system_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

namespace prenorm::sandbox {
namespace {

/// The low 32 bits of an argument, which is all that the kernel looks at in an int.
scmp_arg_cmp is(unsigned argument, std::uint32_t value) {
  return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, 0xffffffff, value);
}

Rule files() {
  return Rule{"files and folders", allowed}
      .add("read readv pread64 preadv write writev pwrite64 pwritev creat close")
      // RWF_NOWAIT tells which pages are in memory: what somebody has read before.
      .add("preadv2", 5, {{"no flags", 0}})
      .add("pwritev2", 5, {{"no flags", 0}})
      .add("close_range", "no table of descriptors for one thread",
           {SCMP_A2(SCMP_CMP_MASKED_EQ, CLOSE_RANGE_UNSHARE, 0)})
      .add(
          "lseek _llseek stat fstat lstat newfstatat statx statfs fstatfs access faccessat "
          "faccessat2 getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat "
          "rename renameat renameat2 link linkat symlink symlinkat readlink readlinkat umask "
          "ftruncate fsync fdatasync readahead copy_file_range dup dup2 dup3 pipe pipe2 "
          "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr");
}

/// Reserving takes room on the disk at once, and beyond a file's end more than a file may have.
/// Programs that cannot reserve write instead.
Rule reserving(const Setting& setting) {
  if (setting.alone) return Rule{"reserving room", fails(EOPNOTSUPP)}.add("fallocate");
  return Rule{"reserving room", allowed}.add("fallocate", "mode 0", {is(1, 0)});
}

/// A lock on a file that all can read would be seen by neighbours and by those outside. Whom files
/// of the submission's own are shared with is the submission itself. To ask (F_GETLK) is
/// allowed, see descriptors(): SQLite does.
Rule locks() {
  return Rule{"locks on files", fails(0)}.add("flock").add(
      "fcntl", 1,
      {{"F_SETLK", F_SETLK}, {"F_SETLKW", F_SETLKW}, {"F_OFD_SETLK", 37}, {"F_OFD_SETLKW", 38}});
}

/// Pages that one process puts out of memory have to be read again by others.
Rule caches() { return Rule{"what files' pages are needed for", fails(0)}.add("fadvise64"); }

/// They take memory of the kernel that no limit of a file system counts.
Rule attributes() {
  return Rule{"extended attributes", fails(EOPNOTSUPP)}.add(
      "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr");
}

/// Landlock's first versions let a file be emptied that may only be read.
Rule opening(const Setting& setting) {
  Rule rule{"opening files", allowed};
  if (!setting.alone) return rule.add("open openat truncate");
  constexpr scmp_datum_t mask = O_ACCMODE | O_TRUNC;
  for (const scmp_datum_t mode :
       {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC}) {
    const char* only = "not to empty what is only read";
    rule.add("open", only, {SCMP_A1(SCMP_CMP_MASKED_EQ, mask, mode)});
    rule.add("openat", only, {SCMP_A2(SCMP_CMP_MASKED_EQ, mask, mode)});
  }
  return rule;
}

/// No leases, no signals from descriptors, no notifications of a folder, no larger pipes.
Rule descriptors(const Setting& setting) {
  Rule rule{"descriptors", allowed};
  rule.add("fcntl", 1,
           {{"F_DUPFD", F_DUPFD},
            {"F_DUPFD_CLOEXEC", F_DUPFD_CLOEXEC},
            {"F_GETFD", F_GETFD},
            {"F_SETFD", F_SETFD},
            {"F_GETFL", F_GETFL},
            {"F_SETFL", F_SETFL},
            {"F_GETLK", F_GETLK},
            {"F_OFD_GETLK", 36},
            {"F_GETPIPE_SZ", 1032}});
  if (setting.with_device) {
    return rule.add("ioctl").add("fcntl", 1, {{"F_ADD_SEALS", 1033}, {"F_GET_SEALS", 1034}});
  }
  return rule.add("ioctl", 1,
                  {{"TCGETS", TCGETS},
                   {"TIOCGWINSZ", TIOCGWINSZ},
                   {"FIONREAD", FIONREAD},
                   {"FIONBIO", FIONBIO},
                   {"FIOCLEX", FIOCLEX},
                   {"FIONCLEX", FIONCLEX}});
}

Rule memory(const Setting& setting) {
  constexpr std::uint32_t cold = 20, page_out = 21;  // MADV_COLD, MADV_PAGEOUT
  Rule rule{"memory", allowed};
  rule.add(
      "munmap mremap mprotect brk msync mlock mlock2 munlock membarrier get_mempolicy "
      "set_mempolicy mbind");
  constexpr scmp_datum_t kind = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB;
  for (const scmp_datum_t flags : {0, MAP_SHARED, MAP_ANONYMOUS}) {
    rule.add("mmap", "of files, or of one process", {SCMP_A3(SCMP_CMP_MASKED_EQ, kind, flags)});
  }
  // They put out shared pages of files, too: see caches().
  const char* kept = "not MADV_COLD, MADV_PAGEOUT";
  rule.add("madvise", kept, {SCMP_A2_32(SCMP_CMP_LT, cold)});
  rule.add("madvise", kept, {SCMP_A2_32(SCMP_CMP_GT, page_out)});
  // Memory that no limit counts; a device's driver needs it.
  if (setting.with_device) rule.add("memfd_create");
  return rule;
}

/// The machine has set them aside for somebody, and no limit counts them.
Rule huge_pages() {
  return Rule{"huge pages that are set aside", fails(ENOMEM)}.add(
      "mmap", "MAP_HUGETLB", {SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB)});
}

/// It stays when no process has its pages any more, and nobody can see how much there is.
Rule shared_memory(const Setting& setting) {
  constexpr scmp_datum_t flags = MAP_SHARED | MAP_ANONYMOUS;
  return Rule{"memory shared without a file", setting.with_device ? allowed : asks}.add(
      "mmap", "of several processes", {SCMP_A3(SCMP_CMP_MASKED_EQ, flags | MAP_HUGETLB, flags)});
}

/// RLIMIT_NPROC counts all processes of a user, and root's not at all: the supervisor counts.
Rule new_tasks(const Setting& setting) {
  constexpr scmp_datum_t kept = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME |
                                CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED;
  Rule rule{"new processes and threads", setting.counted ? asks : allowed};
  rule.add("fork vfork");
  // The grader counts what a process has open: its threads have one table of descriptors.
  constexpr scmp_datum_t of_thread = CLONE_THREAD | CLONE_FILES;
  for (const scmp_datum_t flags : {scmp_datum_t{0}, scmp_datum_t{CLONE_FILES}, of_thread}) {
    rule.add("clone", "no new namespace, no sibling, no tracing; threads share descriptors",
             {SCMP_A0(SCMP_CMP_MASKED_EQ, kept | of_thread, flags)});
  }
  return rule;
}

Rule processes(const Setting& setting) {
  const char* without_core = "of itself, not to set RLIMIT_CORE";
  Rule rule{"processes and threads", allowed};
  // Without a capability, setuid() and the like change nothing: make calls them.
  rule.add(
          "execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgrp getpgid "
          "getsid set_tid_address set_robust_list get_robust_list rseq arch_prctl getuid geteuid "
          "getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid "
          "setresgid capget uname sysinfo getcpu getrusage times getrlimit")
      .add("setrlimit", "not RLIMIT_CORE", {SCMP_A0_32(SCMP_CMP_NE, RLIMIT_CORE)})
      .add("prlimit64", without_core, {is(0, 0), SCMP_A1_32(SCMP_CMP_NE, RLIMIT_CORE)})
      .add("prlimit64", without_core, {is(0, 0), is(1, RLIMIT_CORE), SCMP_A2(SCMP_CMP_EQ, 0)})
      .add("getpriority")
      .add("setpriority", "of itself", {is(0, PRIO_PROCESS), is(1, 0)})
      .add(
          "sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_getattr "
          "sched_get_priority_max sched_get_priority_min sched_rr_get_interval futex")
      .add("prctl", 0,
           {{"PR_SET_NAME", PR_SET_NAME},
            {"PR_GET_NAME", PR_GET_NAME},
            {"PR_SET_PDEATHSIG", PR_SET_PDEATHSIG},
            {"PR_GET_PDEATHSIG", PR_GET_PDEATHSIG},
            {"PR_GET_DUMPABLE", PR_GET_DUMPABLE},
            {"PR_SET_NO_NEW_PRIVS", PR_SET_NO_NEW_PRIVS},
            {"PR_GET_NO_NEW_PRIVS", PR_GET_NO_NEW_PRIVS},
            {"PR_CAPBSET_READ", PR_CAPBSET_READ},
            {"PR_GET_SECCOMP", PR_GET_SECCOMP},
            {"PR_SET_TIMERSLACK", PR_SET_TIMERSLACK},
            {"PR_GET_TIMERSLACK", PR_GET_TIMERSLACK},
            {"PR_SET_THP_DISABLE", PR_SET_THP_DISABLE},
            {"PR_GET_THP_DISABLE", PR_GET_THP_DISABLE},
            {"PR_SET_VMA", PR_SET_VMA}})
      // At 0, the grader could not see how much memory it takes.
      .add("prctl", "PR_SET_DUMPABLE to 1", {is(0, PR_SET_DUMPABLE), is(1, 1)});
  if (setting.keeps_inside()) {
    rule.add("kill tgkill tkill rt_sigqueueinfo rt_tgsigqueueinfo");
  } else {
    // By its own number: forked processes cannot signal anybody, which a filter cannot tell apart.
    const auto self = static_cast<std::uint32_t>(setting.self);
    rule.add("kill", "itself", {is(0, self)}).add("tgkill", "itself", {is(0, self)});
  }
  if (!setting.alone) {
    rule.add("setsid setpgid sched_setscheduler sched_setparam pidfd_open pidfd_send_signal");
  }
  return rule;
}

/// At 1 a crash starts no program of the machine, at 0 it does (base/start_process.cpp).
Rule core_dumps() {
  return Rule{"memory of a crash", fails(0)}
      .add("setrlimit", "RLIMIT_CORE", {is(0, RLIMIT_CORE)})
      .add("prlimit64", "to set RLIMIT_CORE of itself",
           {is(0, 0), is(1, RLIMIT_CORE), SCMP_A2(SCMP_CMP_NE, 0)});
}

/// Where there is no PID namespace, all stay in one group, by which all are found at the end.
Rule groups() { return Rule{"process groups", fails(0)}.add("setsid setpgid"); }

/// The grader chooses the processors of a submission, so that another keeps its own. Libraries that
/// choose others get no error.
Rule processors() { return Rule{"choosing processors", fails(0)}.add("sched_setaffinity"); }

Rule signals_and_time() {
  return Rule{"signals, time, waiting", allowed}.add(
      "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait "
      "sigaltstack pause signalfd signalfd4 restart_syscall alarm getitimer setitimer timer_create "
      "timer_settime timer_gettime timer_delete timer_getoverrun timerfd_create timerfd_settime "
      "timerfd_gettime nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time poll "
      "ppoll select _newselect pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait "
      "epoll_pwait epoll_pwait2 eventfd eventfd2 getrandom");
}

/// Sockets between processes of this machine, without datagrams, which could be sent to any
/// address. Where nothing keeps abstract names inside, there are pairs only. Their buffers are
/// memory that no process has: the supervisor counts them.
Rule new_sockets(const Setting& setting) {
  constexpr std::uint32_t type = 0xf;  // without SOCK_NONBLOCK and SOCK_CLOEXEC
  const char* only = "AF_UNIX, no datagrams";
  Rule rule{"new sockets", asks};
  for (const std::uint32_t kind : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const scmp_arg_cmp is_kind = SCMP_A1(SCMP_CMP_MASKED_EQ, type, kind);
    rule.add("socketpair", only, {is(0, AF_UNIX), is_kind});
    if (setting.keeps_inside()) rule.add("socket", only, {is(0, AF_UNIX), is_kind});
  }
  return rule;
}

Rule sockets(const Setting& setting) {
  Rule rule{"sockets", allowed};
  if (setting.keeps_inside()) rule.add("listen accept accept4");
  if (!setting.alone) rule.add("connect bind");
  // No program needs that part of the kernel, in which bugs were found.
  const char* only = "not MSG_OOB";
  for (const char* name : {"sendmsg", "recvmsg"}) {
    rule.add(name, only, {SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_OOB, 0)});
  }
  for (const char* name : {"recvfrom", "sendmmsg", "recvmmsg"}) {
    rule.add(name, only, {SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_OOB, 0)});
  }
  return rule
      .add("sendto", "without an address, not MSG_OOB",
           {SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_OOB, 0), SCMP_A4(SCMP_CMP_EQ, 0)})
      .add("shutdown getsockname getpeername getsockopt")
      .add("setsockopt", 2,
           {{"SO_REUSEADDR", SO_REUSEADDR},
            {"SO_KEEPALIVE", SO_KEEPALIVE},
            {"SO_LINGER", SO_LINGER},
            {"SO_PASSCRED", SO_PASSCRED},
            {"SO_RCVTIMEO", SO_RCVTIMEO},
            {"SO_SNDTIMEO", SO_SNDTIMEO}});
}

/// A socket's buffers keep the size by which the grader counts them.
Rule buffers() {
  return Rule{"sizes of buffers", fails(0)}.add(
      "setsockopt", 2, {{"SO_SNDBUF", SO_SNDBUF}, {"SO_RCVBUF", SO_RCVBUF}});
}

/// Landlock does not ask about sockets that have a path, and a filter cannot see which one has: the
/// supervisor connects, and gives names: to paths in the scratch folder. An abstract name, to which
/// anybody outside may connect, stands for one of them.
Rule connections() { return Rule{"connections", asks}.add("connect bind"); }

/// Other kinds of sockets.
Rule other_sockets(const Setting& setting) {
  Rule rule{"sockets to others", fails(EACCES)};
  if (!setting.keeps_inside()) return rule.add("socket connect bind");
  rule.add("socket", "others", {SCMP_A0_32(SCMP_CMP_NE, AF_UNIX)});
  for (const std::uint32_t kind : {SOCK_DGRAM, SOCK_RAW, SOCK_RDM}) {
    rule.add("socket", "others", {is(0, AF_UNIX), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, kind)});
  }
  return rule;
}

/// The owner of a file may change its rights, owner, times and attributes, and Landlock does not
/// ask: without namespaces the submission runs as the grader's own user. These calls then do
/// nothing and report success: a compiler's tools make them and do not need them.
Rule rights(const Setting& setting) {
  return Rule{"rights, owners and times of files", setting.alone ? fails(0) : allowed}.add(
      "chmod fchmod fchmodat chown lchown fchown fchownat utime utimes futimesat utimensat");
}

/// What a library may ask for, and can do without.
Rule refused(const Setting& setting) {
  Rule rule{"what needs a permission", fails(EPERM)};
  rule.add(
      "perf_event_open name_to_handle_at syslog shmget msgget semget mq_open fanotify_init "
      "personality setgroups mknod mknodat capset ioprio_set process_madvise process_mrelease "
      "migrate_pages move_pages sched_setattr");
  if (setting.alone) {
    rule.add("truncate pidfd_open pidfd_send_signal sched_setscheduler sched_setparam");
  }
  if (!setting.keeps_inside()) {
    const auto self = static_cast<scmp_datum_t>(setting.self);
    rule.add("tkill rt_sigqueueinfo rt_tgsigqueueinfo")
        .add("kill", "others", {SCMP_A0(SCMP_CMP_NE, self)})
        .add("tgkill", "others", {SCMP_A0(SCMP_CMP_NE, self)});
  }
  return rule;
}

/// What no computation needs.
Rule violations() {
  return Rule{"violations", ends}.add(
      "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp mount umount2 pivot_root chroot "
      "move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr setns unshare bpf "
      "userfaultfd kexec_load kexec_file_load init_module finit_module delete_module reboot swapon "
      "swapoff acct quotactl settimeofday clock_settime iopl ioperm keyctl add_key request_key "
      "open_by_handle_at sethostname setdomainname modify_ldt vhangup");
}

std::string end_of(std::uint32_t action) {
  if (action == allowed) return "allowed";
  if (action == ends) return "ends the process";
  if (action == asks) return "the supervisor decides";
  if (action == fails(0)) return "does nothing";
  if (action == fails(EOPNOTSUPP)) return "EOPNOTSUPP";
  if (action == fails(ENOMEM)) return "ENOMEM";
  return action == fails(EACCES) ? "EACCES" : "EPERM";
}

/// "`clone` (no new namespace), `fcntl` (F_DUPFD, F_GETFD)".
std::string names_in(const std::vector<SystemCall>& calls) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> only;
  for (const SystemCall& call : calls) {
    if (!only.contains(call.name)) order.emplace_back(call.name);
    auto& words = only[call.name];
    const std::string word = call.only;
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
  }
  std::string text;
  for (const std::string& name : order) {
    text += (text.empty() ? "`" : ", `") + name + "`";
    std::string inside;
    for (const std::string& word : only[name]) inside += (inside.empty() ? "" : ", ") + word;
    if (!inside.empty()) text += " (" + inside + ")";
  }
  return text;
}

void require(int result, const std::string& what) {
  if (result < 0) {
    throw std::system_error(-result, std::generic_category(), "seccomp: " + what);
  }
}

int number_of(const std::string& name) {
  const int number = ::seccomp_syscall_resolve_name(name.c_str());
  if (number == __NR_SCMP_ERROR) {
    throw std::logic_error("libseccomp knows no system call " + name);
  }
  return number;
}

}  // namespace

Rule& Rule::add(const char* names) {
  std::istringstream words(names);
  for (std::string name; words >> name;) calls.push_back({name, number_of(name)});
  return *this;
}

Rule& Rule::add(const char* name, const char* only, std::vector<scmp_arg_cmp> where) {
  calls.push_back({name, number_of(name), std::move(where), only});
  return *this;
}

Rule& Rule::add(const char* name, unsigned argument,
                std::initializer_list<std::pair<const char*, std::uint32_t>> values) {
  for (const auto& [only, value] : values) add(name, only, {is(argument, value)});
  return *this;
}

std::vector<Rule> rules(const Setting& setting) {
  std::vector<Rule> all{files(),
                        reserving(setting),
                        caches(),
                        locks(),
                        attributes(),
                        opening(setting),
                        descriptors(setting),
                        memory(setting),
                        huge_pages(),
                        shared_memory(setting),
                        new_tasks(setting),
                        processes(setting),
                        core_dumps(),
                        processors(),
                        signals_and_time(),
                        new_sockets(setting),
                        sockets(setting),
                        buffers(),
                        rights(setting),
                        refused(setting),
                        other_sockets(setting),
                        violations()};
  if (setting.alone) all.push_back(groups());
  if (setting.alone && setting.scoped) all.push_back(connections());
  return all;
}

std::vector<Rule> rules_of_supervisor() {
  std::vector<Rule> rules{
      Rule{"waiting, counting and connecting", allowed}
          .add("openat", "", {SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT, O_RDONLY)})
          .add("fcntl", "", {is(1, F_GETFL)})
          .add("fcntl", "", {is(1, F_SETFL)})
          .add("fstat newfstatat getdents64 lseek read write close poll ppoll nanosleep "
               "clock_nanosleep clock_gettime futex getpid wait4 exit_group rt_sigprocmask "
               "restart_syscall brk mmap mremap munmap madvise connect bind readlinkat "
               "unlinkat process_vm_readv pidfd_open pidfd_getfd openat2")
          .add("kill", "", {is(0, 0), is(1, SIGKILL)})
          // To a filter's descriptor.
          .add("ioctl", "", {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, 0x2100)})};
#if defined(__SANITIZE_ADDRESS__)
  rules.front().add("sigaltstack");  // which it asks for where a function does not return
#endif
  return rules;
}

std::string listed() {
  const std::array<std::pair<const char*, Setting>, 4> kinds{
      {{"bubblewrap", {}},
       {"bubblewrap as root", {.counted = true}},
       {"process", {.alone = true, .counted = true, .scoped = true}},
       {"process before Linux 6.12", {.alone = true, .counted = true}}}};
  // The rows of each rule, one for each way in which the sandboxes have it.
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> rows;
  for (const auto& [kind, setting] : kinds) {
    for (const Rule& rule : rules(setting)) {
      const std::string row = end_of(rule.action) + " | " + names_in(rule.calls);
      if (!rows.contains(rule.what)) order.emplace_back(rule.what);
      auto& same = rows[rule.what];
      const auto found = std::ranges::find(same, row, &std::pair<std::string, std::string>::second);
      if (found == same.end()) {
        same.emplace_back(kind, row);
      } else {
        found->first += std::string(", ") + kind;
      }
    }
  }
  std::string text = "| for | sandbox | what happens | system calls |\n|---|---|---|---|\n";
  for (const std::string& what : order) {
    for (const auto& [where, row] : rows[what]) {
      const bool all = rows[what].size() == 1 && where.ends_with("6.12") && where.starts_with("b");
      text += "| " + what + " | " + (all ? "all" : where) + " | " + row + " |\n";
    }
  }
  return text;
}

int load_filter(const std::vector<Rule>& rules) {
  const std::unique_ptr<void, void (*)(void*)> filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)),
                                                      ::seccomp_release);
  if (!filter) require(-ENOMEM, "no filter");
  // Found by halving, not one by one.
  ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const Rule& rule : rules) {
    for (const SystemCall& call : rule.calls) {
      const int result =
          ::seccomp_rule_add_array(filter.get(), rule.action, call.number,
                                   static_cast<unsigned>(call.where.size()), call.where.data());
      if (result != -EDOM) require(result, call.name);  // EDOM: not on this machine
    }
  }
  require(::seccomp_load(filter.get()), "cannot be loaded");
  const bool is_served =
      std::ranges::any_of(rules, [](const Rule& rule) { return rule.action == asks; });
  // The filter's release closes its own descriptor.
  return is_served ? ::fcntl(::seccomp_notify_fd(filter.get()), F_DUPFD_CLOEXEC, 0) : -1;
}

}  // namespace prenorm::sandbox
