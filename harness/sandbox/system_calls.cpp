#include "sandbox/system_calls.hpp"

#include "sandbox/system_call_rules.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utility>

namespace prenorm::sandbox {
namespace {

/// One rule for each of some values of an argument.
Calls each(const char* name, int number, unsigned argument,
           std::initializer_list<std::pair<const char*, std::uint32_t>> values) {
  Calls calls;
  for (const auto& [only, value] : values)
    calls.push_back({name, number, {is(argument, value)}, only});
  return calls;
}

Rule files() {
  return {"files and folders",
          allowed,
          {CALL(read),
           CALL(readv),
           CALL(pread64),
           CALL(preadv),
           CALL(preadv2),
           CALL(write),
           CALL(writev),
           CALL(pwrite64),
           CALL(pwritev),
           CALL(pwritev2),
           CALL(creat),
           CALL(close),
           CALL_IF(close_range, "no table of descriptors for one thread",
                   SCMP_A2(SCMP_CMP_MASKED_EQ, CLOSE_RANGE_UNSHARE, 0)),
           CALL(lseek),
           CALL(_llseek),
           CALL(stat),
           CALL(fstat),
           CALL(lstat),
           CALL(newfstatat),
           CALL(statx),
           CALL(statfs),
           CALL(fstatfs),
           CALL(access),
           CALL(faccessat),
           CALL(faccessat2),
           CALL(getdents),
           CALL(getdents64),
           CALL(getcwd),
           CALL(chdir),
           CALL(fchdir),
           CALL(mkdir),
           CALL(mkdirat),
           CALL(rmdir),
           CALL(unlink),
           CALL(unlinkat),
           CALL(rename),
           CALL(renameat),
           CALL(renameat2),
           CALL(link),
           CALL(linkat),
           CALL(symlink),
           CALL(symlinkat),
           CALL(readlink),
           CALL(readlinkat),
           CALL(umask),
           CALL(ftruncate),
           CALL(fsync),
           CALL(fdatasync),
           CALL(readahead),
           CALL(copy_file_range),
           CALL(flock),
           CALL(dup),
           CALL(dup2),
           CALL(dup3),
           CALL(pipe),
           CALL(pipe2),
           CALL(getxattr),
           CALL(lgetxattr),
           CALL(fgetxattr),
           CALL(listxattr),
           CALL(llistxattr),
           CALL(flistxattr)}};
}

/// Room on the disk in no time, and, beyond a file's end, more than a file may have. Who asks for
/// it writes instead.
Rule reserving(const Setting& setting) {
  if (setting.alone) return {"reserving room", fails(EOPNOTSUPP), {CALL(fallocate)}};
  return {"reserving room", allowed, {CALL_IF(fallocate, "mode 0", is(1, 0))}};
}

/// What one puts out of memory, another has to read again.
Rule caches() { return {"what files' pages are needed for", fails(0), {CALL(fadvise64)}}; }

/// Memory of the kernel's that no limit of a file system counts.
Rule attributes() {
  return {"extended attributes",
          fails(EOPNOTSUPP),
          {CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), CALL(removexattr), CALL(lremovexattr),
           CALL(fremovexattr)}};
}

/// Landlock's first versions let a file be emptied that may only be read.
Rule opening(const Setting& setting) {
  Rule rule{"opening files", allowed, {}};
  if (!setting.alone) {
    rule.calls = {CALL(open), CALL(openat), CALL(truncate)};
    return rule;
  }
  constexpr scmp_datum_t mask = O_ACCMODE | O_TRUNC;
  for (const scmp_datum_t mode :
       {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC}) {
    const char* only = "not to empty what is only read";
    rule.calls.push_back(CALL_IF(open, only, SCMP_A1(SCMP_CMP_MASKED_EQ, mask, mode)));
    rule.calls.push_back(CALL_IF(openat, only, SCMP_A2(SCMP_CMP_MASKED_EQ, mask, mode)));
  }
  return rule;
}

/// No leases, no signals from descriptors, no notifications of a folder, no larger pipes.
Rule descriptors(const Setting& setting) {
  Rule rule{"descriptors", allowed, {}};
  append(rule.calls, each("fcntl", SCMP_SYS(fcntl), 1,
                          {{"F_DUPFD", F_DUPFD},
                           {"F_DUPFD_CLOEXEC", F_DUPFD_CLOEXEC},
                           {"F_GETFD", F_GETFD},
                           {"F_SETFD", F_SETFD},
                           {"F_GETFL", F_GETFL},
                           {"F_SETFL", F_SETFL},
                           {"F_GETLK", F_GETLK},
                           {"F_SETLK", F_SETLK},
                           {"F_SETLKW", F_SETLKW},
                           {"F_OFD_GETLK", 36},
                           {"F_OFD_SETLK", 37},
                           {"F_OFD_SETLKW", 38},
                           {"F_GETPIPE_SZ", 1032}}));
  if (setting.with_device) {
    append(rule.calls, {CALL(ioctl)});
    append(rule.calls,
           each("fcntl", SCMP_SYS(fcntl), 1, {{"F_ADD_SEALS", 1033}, {"F_GET_SEALS", 1034}}));
    return rule;
  }
  append(rule.calls, each("ioctl", SCMP_SYS(ioctl), 1,
                          {{"TCGETS", TCGETS},
                           {"TIOCGWINSZ", TIOCGWINSZ},
                           {"FIONREAD", FIONREAD},
                           {"FIONBIO", FIONBIO},
                           {"FIOCLEX", FIOCLEX},
                           {"FIONCLEX", FIONCLEX}}));
  return rule;
}

Rule memory(const Setting& setting) {
  constexpr std::uint32_t cold = 20, page_out = 21;  // MADV_COLD, MADV_PAGEOUT
  Rule rule{"memory",
            allowed,
            {CALL(munmap), CALL(mremap), CALL(mprotect), CALL(brk), CALL(msync), CALL(mincore),
             CALL(mlock), CALL(mlock2), CALL(munlock), CALL(membarrier), CALL(get_mempolicy),
             CALL(set_mempolicy), CALL(mbind)}};
  const char* with_owner = "of files, or of one process";
  constexpr scmp_datum_t kind = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB;
  for (const scmp_datum_t flags : {0, MAP_SHARED, MAP_ANONYMOUS}) {
    rule.calls.push_back(CALL_IF(mmap, with_owner, SCMP_A3(SCMP_CMP_MASKED_EQ, kind, flags)));
  }
  // Shared pages of files, too: see caches().
  rule.calls.push_back(
      CALL_IF(madvise, "not MADV_COLD, MADV_PAGEOUT", SCMP_A2_32(SCMP_CMP_LT, cold)));
  rule.calls.push_back(
      CALL_IF(madvise, "not MADV_COLD, MADV_PAGEOUT", SCMP_A2_32(SCMP_CMP_GT, page_out)));
  // Memory that no limit counts; a device's driver needs it.
  if (setting.with_device) rule.calls.push_back(CALL(memfd_create));
  return rule;
}

/// The machine has set them aside for somebody, and no limit counts them.
Rule huge_pages() {
  return {"huge pages that are set aside",
          fails(ENOMEM),
          {CALL_IF(mmap, "MAP_HUGETLB", SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB))}};
}

/// It stays when no process has its pages any more, and nobody can see how much there is.
Rule shared_memory(const Setting& setting) {
  constexpr scmp_datum_t flags = MAP_SHARED | MAP_ANONYMOUS;
  return {"memory shared without a file",
          setting.with_device ? allowed : asks,
          {CALL_IF(mmap, "of several processes",
                   SCMP_A3(SCMP_CMP_MASKED_EQ, flags | MAP_HUGETLB, flags))}};
}

/// RLIMIT_NPROC counts all of a user's, and root's not at all: the supervisor counts.
Rule new_tasks(const Setting& setting) {
  constexpr scmp_datum_t kept = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME |
                                CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED;
  Rule rule{
      "new processes and threads", setting.counted ? asks : allowed, {CALL(fork), CALL(vfork)}};
  // The grader counts what a process has open: its threads have one table of descriptors.
  constexpr scmp_datum_t of_thread = CLONE_THREAD | CLONE_FILES;
  for (const scmp_datum_t flags : {scmp_datum_t{0}, scmp_datum_t{CLONE_FILES}, of_thread}) {
    rule.calls.push_back(
        CALL_IF(clone, "no new namespace, no sibling, no tracing; threads share descriptors",
                SCMP_A0(SCMP_CMP_MASKED_EQ, kept | of_thread, flags)));
  }
  return rule;
}

Rule processes(const Setting& setting) {
  Rule rule{"processes and threads",
            allowed,
            {CALL(execve),
             CALL(execveat),
             CALL(exit),
             CALL(exit_group),
             CALL(wait4),
             CALL(waitid),
             CALL(getpid),
             CALL(getppid),
             CALL(gettid),
             CALL(getpgrp),
             CALL(getpgid),
             CALL(getsid),
             CALL(set_tid_address),
             CALL(set_robust_list),
             CALL(get_robust_list),
             CALL(rseq),
             CALL(arch_prctl),
             CALL(getuid),
             CALL(geteuid),
             CALL(getgid),
             CALL(getegid),
             CALL(getresuid),
             CALL(getresgid),
             CALL(getgroups),
             CALL(setuid),  // without a capability, to what it is already: make does that
             CALL(setgid),
             CALL(setreuid),
             CALL(setregid),
             CALL(setresuid),
             CALL(setresgid),
             CALL(capget),
             CALL(uname),
             CALL(sysinfo),
             CALL(getcpu),
             CALL(getrusage),
             CALL(times),
             CALL(getrlimit),
             CALL_IF(setrlimit, "not RLIMIT_CORE", SCMP_A0_32(SCMP_CMP_NE, RLIMIT_CORE)),
             CALL_IF(prlimit64, "of itself, not to set RLIMIT_CORE", is(0, 0),
                     SCMP_A1_32(SCMP_CMP_NE, RLIMIT_CORE)),
             CALL_IF(prlimit64, "of itself, not to set RLIMIT_CORE", is(0, 0), is(1, RLIMIT_CORE),
                     SCMP_A2(SCMP_CMP_EQ, 0)),
             CALL(getpriority),
             CALL_IF(setpriority, "of itself", is(0, PRIO_PROCESS), is(1, 0)),
             CALL(sched_yield),
             CALL(sched_getaffinity),
             CALL(sched_getparam),
             CALL(sched_getscheduler),
             CALL(sched_getattr),
             CALL(sched_get_priority_max),
             CALL(sched_get_priority_min),
             CALL(sched_rr_get_interval),
             CALL(futex),
             CALL(futex_waitv)}};
  append(rule.calls, each("prctl", SCMP_SYS(prctl), 0,
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
                           {"PR_SET_VMA", PR_SET_VMA}}));
  // Else the grader could not see what it takes.
  rule.calls.push_back(CALL_IF(prctl, "PR_SET_DUMPABLE to 1", is(0, PR_SET_DUMPABLE), is(1, 1)));
  const auto self = static_cast<std::uint32_t>(setting.self);
  if (setting.keeps_inside()) {
    append(rule.calls,
           {CALL(kill), CALL(tgkill), CALL(tkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo)});
  } else {
    // By its own number: forked processes cannot signal anybody, which a filter cannot tell apart.
    append(rule.calls,
           {CALL_IF(kill, "itself", is(0, self)), CALL_IF(tgkill, "itself", is(0, self))});
  }
  if (!setting.alone) {
    append(rule.calls, {CALL(setsid), CALL(setpgid), CALL(sched_setscheduler), CALL(sched_setparam),
                        CALL(pidfd_open), CALL(pidfd_send_signal)});
  }
  return rule;
}

/// At 1 a crash starts no program of the machine's, at 0 it does (start_process.cpp).
Rule core_dumps() {
  return {"memory of a crash",
          fails(0),
          {CALL_IF(setrlimit, "RLIMIT_CORE", is(0, RLIMIT_CORE)),
           CALL_IF(prlimit64, "to set RLIMIT_CORE of itself", is(0, 0), is(1, RLIMIT_CORE),
                   SCMP_A2(SCMP_CMP_NE, 0))}};
}

/// Where there is no PID namespace, all stay in one group, which is how all are found at the end.
Rule groups() { return {"process groups", fails(0), {CALL(setsid), CALL(setpgid)}}; }

/// The grader says on which processors a submission runs, so that another keeps its own. Whoever
/// asks for others is not disturbed: libraries do.
Rule processors() { return {"choosing processors", fails(0), {CALL(sched_setaffinity)}}; }

Rule signals_and_time() {
  return {"signals, time, waiting",
          allowed,
          {CALL(rt_sigaction),
           CALL(rt_sigprocmask),
           CALL(rt_sigreturn),
           CALL(rt_sigpending),
           CALL(rt_sigsuspend),
           CALL(rt_sigtimedwait),
           CALL(sigaltstack),
           CALL(pause),
           CALL(signalfd),
           CALL(signalfd4),
           CALL(restart_syscall),
           CALL(alarm),
           CALL(getitimer),
           CALL(setitimer),
           CALL(timer_create),
           CALL(timer_settime),
           CALL(timer_gettime),
           CALL(timer_delete),
           CALL(timer_getoverrun),
           CALL(timerfd_create),
           CALL(timerfd_settime),
           CALL(timerfd_gettime),
           CALL(nanosleep),
           CALL(clock_nanosleep),
           CALL(clock_gettime),
           CALL(clock_getres),
           CALL(gettimeofday),
           CALL(time),
           CALL(poll),
           CALL(ppoll),
           CALL(select),
           CALL(_newselect),
           CALL(pselect6),
           CALL(epoll_create),
           CALL(epoll_create1),
           CALL(epoll_ctl),
           CALL(epoll_wait),
           CALL(epoll_pwait),
           CALL(epoll_pwait2),
           CALL(eventfd),
           CALL(eventfd2),
           CALL(getrandom)}};
}

/// Sockets of this machine's processes, without datagrams, which could be sent to any address.
/// Where nothing keeps abstract names inside, there are pairs only. Their buffers are memory that
/// no process has: the supervisor counts them.
Rule new_sockets(const Setting& setting) {
  constexpr std::uint32_t type = 0xf;  // without SOCK_NONBLOCK and SOCK_CLOEXEC
  const char* only = "AF_UNIX, no datagrams";
  Rule rule{"new sockets", asks, {}};
  for (const std::uint32_t kind : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const scmp_arg_cmp is_kind = SCMP_A1(SCMP_CMP_MASKED_EQ, type, kind);
    rule.calls.push_back(CALL_IF(socketpair, only, is(0, AF_UNIX), is_kind));
    if (setting.keeps_inside())
      rule.calls.push_back(CALL_IF(socket, only, is(0, AF_UNIX), is_kind));
  }
  return rule;
}

Rule sockets(const Setting& setting) {
  Rule rule{"sockets", allowed, {}};
  if (setting.keeps_inside()) {
    append(rule.calls, {CALL(listen), CALL(accept), CALL(accept4)});
  }
  if (!setting.alone) append(rule.calls, {CALL(connect), CALL(bind)});
  append(rule.calls, {CALL_IF(sendto, "without an address", SCMP_A4(SCMP_CMP_EQ, 0)),
                      CALL(recvfrom), CALL(sendmsg), CALL(recvmsg), CALL(sendmmsg), CALL(recvmmsg),
                      CALL(shutdown), CALL(getsockname), CALL(getpeername), CALL(getsockopt)});
  append(rule.calls, each("setsockopt", SCMP_SYS(setsockopt), 2,
                          {{"SO_REUSEADDR", SO_REUSEADDR},
                           {"SO_KEEPALIVE", SO_KEEPALIVE},
                           {"SO_LINGER", SO_LINGER},
                           {"SO_PASSCRED", SO_PASSCRED},
                           {"SO_RCVTIMEO", SO_RCVTIMEO},
                           {"SO_SNDTIMEO", SO_SNDTIMEO}}));
  return rule;
}

/// A socket's buffers keep the size by which the grader counts them.
Rule buffers() {
  Rule rule{"sizes of buffers", fails(0), {}};
  append(rule.calls, each("setsockopt", SCMP_SYS(setsockopt), 2,
                          {{"SO_SNDBUF", SO_SNDBUF}, {"SO_RCVBUF", SO_RCVBUF}}));
  return rule;
}

/// Landlock does not ask about sockets that have a path, and a filter cannot see which one has: the
/// supervisor connects, and gives names: to paths in the scratch folder. An abstract name, to which
/// anybody outside may connect, stands for one of them.
Rule connections() { return {"connections", asks, {CALL(connect), CALL(bind)}}; }

/// Other kinds of sockets.
Rule other_sockets(const Setting& setting) {
  Rule rule{"sockets to others", fails(EACCES), {}};
  if (!setting.keeps_inside()) {
    rule.calls = {CALL(socket), CALL(connect), CALL(bind)};
    return rule;
  }
  rule.calls = {CALL_IF(socket, "others", SCMP_A0_32(SCMP_CMP_NE, AF_UNIX))};
  for (const std::uint32_t kind : {SOCK_DGRAM, SOCK_RAW, SOCK_RDM}) {
    rule.calls.push_back(
        CALL_IF(socket, "others", is(0, AF_UNIX), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, kind)));
  }
  return rule;
}

/// Whoever owns a file may change its rights, owner, times and attributes, and Landlock does not
/// ask: without namespaces the submission has the grader's own user. These calls then do nothing,
/// and say that they did, for a compiler's tools ask for them and need them not.
Rule rights(const Setting& setting) {
  return {"rights, owners and times of files",
          setting.alone ? fails(0) : allowed,
          {CALL(chmod), CALL(fchmod), CALL(fchmodat), CALL(chown), CALL(lchown), CALL(fchown),
           CALL(fchownat), CALL(utime), CALL(utimes), CALL(futimesat), CALL(utimensat)}};
}

}  // namespace

std::vector<Rule> rules(const Setting& setting) {
  std::vector<Rule> all{files(),
                        reserving(setting),
                        caches(),
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
  return {{"waiting, counting and connecting",
           allowed,
           {CALL_IF(openat, "", SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT, O_RDONLY)),
            CALL_IF(fcntl, "", is(1, F_GETFL)), CALL_IF(fcntl, "", is(1, F_SETFL)), CALL(fstat),
            CALL(newfstatat), CALL(getdents64), CALL(lseek), CALL(read), CALL(write), CALL(close),
            CALL(poll), CALL(ppoll), CALL(nanosleep), CALL(clock_nanosleep), CALL(clock_gettime),
            CALL(futex), CALL(getpid), CALL(wait4), CALL(exit_group), CALL(rt_sigprocmask),
            CALL(restart_syscall), CALL(brk), CALL(mmap), CALL(mremap), CALL(munmap), CALL(madvise),
            CALL(connect), CALL(bind), CALL(readlinkat), CALL(unlinkat), CALL(process_vm_readv),
            CALL(pidfd_open), CALL(pidfd_getfd), CALL(openat2),
            CALL_IF(kill, "", is(0, 0), is(1, SIGKILL)),
            // To a filter's descriptor.
            CALL_IF(ioctl, "", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, 0x2100))}}};
}

}  // namespace prenorm::sandbox
