// The sandbox: what runs in it sees nothing, reaches nothing and leaves nothing. Each case runs a
// script in every kind that there is here; test_exploits.py attacks it from real submissions.
#include "base/temporary_folder.hpp"
#include "checks.hpp"
#include "grade/snapshot.hpp"
#include "sandbox/sandbox.hpp"
#include "skip.hpp"

#include <boost/test/data/test_case.hpp>
#include <cstddef>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace data = boost::unit_test::data;

/// A sandbox of that kind with a folder to write to, where it needs one.
struct Box {
  TemporaryFolder folder;
  Sandbox sandbox;
  bool are_tasks_watched = true;  // from outside, too

  explicit Box(SandboxKind kind) {
    sandbox.kind = kind;
    if (kind != SandboxKind::bubblewrap) {
      sandbox.folder = folder.path() / "scratch";
      fs::create_directory(sandbox.folder);
    }
    fs::create_directory(folder.path() / "given");
    std::ofstream(folder.path() / "given" / "file") << "contents\n";
    std::ofstream(folder.path() / "secret") << "truth\n";
    sandbox.readable = {folder.path() / "given"};
  }

  /// What the script wrote to descriptor 3 before it ended, or how it ended.
  std::string run(const std::string& program, const std::vector<std::string>& words,
                  double seconds = 20) const {
    Process::Command command;
    command.program = program;
    command.arguments = words;
    command = confined(command, sandbox);
    if (!are_tasks_watched) command.limits.tasks = 0;
    Process process(command);
    std::string text;
    try {
      for (char c = 0;; text += c) process.receive(&c, 1, deadline_in(seconds));
    } catch (const ProcessEnded& end) {
      return text.empty() ? end.what() : text;
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  std::string sh(const std::string& script, double seconds = 20) const {
    return run("/bin/sh", {"-c", "exec 1>&3; " + script}, seconds);
  }
  bool refuses(const std::string& command) const {
    return sh(command + " 2>/dev/null || echo refused") == "refused\n";
  }
  std::string python(const std::string& script, double seconds = 20) const {
    return run("/usr/bin/python3", {"-I", "-B", "-c", "import os\nos.dup2(3, 1)\n" + script},
               seconds);
  }
};

namespace {

/// Skips where that kind does not work; an error where the environment says that it must.
bool is_here(SandboxKind kind) {
  const auto why = unavailable(kind);
  if (!why) return true;
  if (std::getenv("PRENORM_REQUIRE_SANDBOX") != nullptr) {
    BOOST_ERROR("no sandbox " << name(kind) << ": " << *why);
  }
  BOOST_TEST(prenorm::testing::skip("sandbox", std::string(name(kind)) + ": " + *why));
  return false;
}

/// A test in each kind of sandbox that there is here: its body has `kind` and `box`.
#define IN_EACH_SANDBOX(test)                                                                     \
  void test##_in(SandboxKind kind, Box& box);                                                     \
  BOOST_DATA_TEST_CASE(test, data::make({SandboxKind::bubblewrap, SandboxKind::process}), kind) { \
    if (!is_here(kind)) return;                                                                   \
    Box box(kind);                                                                                \
    test##_in(kind, box);                                                                         \
  }                                                                                               \
  void test##_in([[maybe_unused]] SandboxKind kind, Box& box)

}  // namespace

namespace prenorm::harness {
std::ostream& operator<<(std::ostream& out, SandboxKind kind) { return out << name(kind); }
}  // namespace prenorm::harness

BOOST_AUTO_TEST_SUITE(sandbox)

IN_EACH_SANDBOX(what_is_given_can_be_read_and_not_written) {
  const std::string given = (box.folder.path() / "given").string();
  BOOST_TEST(box.sh("cat " + given + "/file") == "contents\n");
  BOOST_TEST(box.refuses("echo more >>" + given + "/file"));
  BOOST_TEST(box.refuses("echo new >" + given + "/new"));
  BOOST_TEST(box.refuses("rm " + given + "/file"));
  BOOST_TEST(fs::exists(box.folder.path() / "given" / "file"));
}

IN_EACH_SANDBOX(nothing_else_of_this_user_can_be_read) {
  BOOST_TEST(box.refuses("cat " + (box.folder.path() / "secret").string()));
  BOOST_TEST(box.refuses("cat /etc/shadow"));
  BOOST_TEST(box.refuses("ls /root /home"));
  BOOST_TEST(box.refuses("cat /proc/" + std::to_string(::getpid()) + "/environ"));
}

IN_EACH_SANDBOX(what_is_hidden_in_a_readable_folder_cannot_be_seen) {
  const fs::path inner = box.folder.path() / "given" / "fixtures";
  fs::create_directory(inner);
  std::ofstream(inner / "answers") << "truth\n";
  box.sandbox.hidden = {inner};
  BOOST_TEST(box.refuses("cat " + (inner / "answers").string()));
  BOOST_TEST(box.sh("cat " + (box.folder.path() / "given/file").string()) == "contents\n");
}

IN_EACH_SANDBOX(links_out_of_what_is_given_lead_nowhere) {
  fs::create_symlink("../secret", box.folder.path() / "given" / "link");
  BOOST_TEST(box.refuses("cat " + (box.folder.path() / "given/link").string()));
}

IN_EACH_SANDBOX(temporary_files_can_be_written_and_the_system_cannot) {
  BOOST_TEST(box.sh("echo text >$TMPDIR/file && cat $TMPDIR/file && cd && pwd | grep -c .") ==
             "text\n1\n");
  BOOST_TEST(box.sh("for f in /usr/x /etc/x /x /dev/x /var/tmp/x; do "
                    "echo >$f && echo $f; done 2>/dev/null; echo done") == "done\n");
}

IN_EACH_SANDBOX(files_in_tmp_are_its_own) {
  // A name that nobody else has: the sandbox without namespaces shows what is there outside.
  const std::string own = "/tmp/prenorm-test-" + std::to_string(::getpid());
  BOOST_TEST(box.sh("echo text >" + own + " && cat " + own) == "text\n");
  BOOST_TEST(!fs::exists(own));
  BOOST_TEST(box.python("own = '" + own +
                        "'\n"
                        "os.makedirs(own + '-a/b')\n"
                        "open(own + '-a/b/c', 'w').write('text')\n"
                        "os.rename(own + '-a/b/c', own + '-d')\n"
                        "print(open(own + '-d').read(), os.listdir(own + '-a/b'))") == "text []\n");
}

BOOST_AUTO_TEST_CASE(temporary_files_are_gone_with_the_namespace) {
  if (!is_here(SandboxKind::bubblewrap)) return;
  const Box box(SandboxKind::bubblewrap);
  BOOST_TEST(box.sh("echo text >/tmp/prenorm_left && ls /tmp/prenorm_left") ==
             "/tmp/prenorm_left\n");
  BOOST_TEST(!fs::exists("/tmp/prenorm_left"));
  BOOST_TEST(box.sh("ls /tmp/prenorm_left 2>/dev/null || echo gone") == "gone\n");
}

IN_EACH_SANDBOX(the_environment_is_empty_and_descriptors_are_not_inherited) {
  ::setenv("PRENORM_SECRET", "truth", 1);
  const std::string variables = box.sh("env");
  ::unsetenv("PRENORM_SECRET");
  check_lacks(variables, {"truth", "PRENORM_HOME"});
  check_has(variables, {"OMP_NUM_THREADS=1"});
  const int file = ::open((box.folder.path() / "secret").c_str(), O_RDONLY);  // not close-on-exec
  // Python, as a shell may hold descriptors of its own; one more is that of the listing.
  BOOST_TEST(
      box.python("print([n for n in sorted(map(int, os.listdir('/proc/self/fd'))) if n > 4])") ==
      "[]\n");
  ::close(file);
}

IN_EACH_SANDBOX(there_is_no_network) {
  BOOST_TEST(box.python("import socket\n"
                        "for family, kind in ((socket.AF_INET, socket.SOCK_STREAM),\n"
                        "                     (socket.AF_INET6, socket.SOCK_STREAM),\n"
                        "                     (socket.AF_UNIX, socket.SOCK_DGRAM)):\n"
                        "  try: socket.socket(family, kind); print('made')\n"
                        "  except OSError as error: print(type(error).__name__)") ==
             "PermissionError\nPermissionError\nPermissionError\n");
}

/// A listening socket outside, with a name in the kernel (a first letter of '\0') or in a folder.
struct Listener {
  int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

  explicit Listener(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    BOOST_REQUIRE(name.size() < sizeof address.sun_path);
    std::ranges::copy(name, address.sun_path);
    const std::size_t bytes = offsetof(sockaddr_un, sun_path) + name.size();
    BOOST_REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address),
                         static_cast<socklen_t>(bytes)) == 0);
    BOOST_REQUIRE(::listen(socket, 1) == 0);
  }
  ~Listener() { ::close(socket); }

  bool was_reached() const { return ::accept(socket, nullptr, nullptr) >= 0; }
};

IN_EACH_SANDBOX(sockets_connect_inside_and_not_outside) {
  const std::string name = "prenorm-test-" + std::to_string(::getpid());
  const std::string path = (box.folder.path() / "socket").string();
  const Listener abstract(std::string(1, '\0') + name), named(path);
  const std::string said = box.python(
      "import socket, threading\n"
      "def connect(name):\n"
      "  end = socket.socket(socket.AF_UNIX)\n"
      "  try: end.connect(name); return 'connected'\n"
      "  except OSError: return 'refused'\n"
      "for name in ('\\0inside', os.environ['TMPDIR'] + '/socket'):\n"
      "  listener = socket.socket(socket.AF_UNIX)\n"
      "  listener.bind(name); listener.listen(2)\n"
      "  print(connect(name))\n"
      "  thread = threading.Thread(target=lambda: print(connect(name)))\n"
      "  thread.start(); thread.join()\n"
      "os.symlink('" +
      path +
      "', os.environ['TMPDIR'] + '/link')\n"
      "for name in ('\\0" +
      name + "', '" + path +
      "', os.environ['TMPDIR'] + '/link',\n"
      "             os.environ['TMPDIR'] + '/../socket'):\n"
      "  print(connect(name))");
  BOOST_TEST(said ==
             "connected\nconnected\nconnected\nconnected\n"
             "refused\nrefused\nrefused\nrefused\n");
  BOOST_TEST(!abstract.was_reached());
  BOOST_TEST(!named.was_reached());
}

IN_EACH_SANDBOX(memory_and_semaphores_have_names) {
  BOOST_TEST(box.python("from multiprocessing import Array, Lock, shared_memory\n"
                        "Lock(); Array('d', 10)\n"
                        "one = shared_memory.SharedMemory('prenorm-test', create=True, size=9)\n"
                        "two = shared_memory.SharedMemory('prenorm-test')\n"
                        "one.buf[3] = 7\nprint(two.buf[3])\ntwo.close(); one.unlink()") == "7\n");
  BOOST_TEST(!fs::exists("/dev/shm/prenorm-test"));
}

IN_EACH_SANDBOX(a_copy_can_be_written_and_is_not_kept) {
  const fs::path copied = box.folder.path() / "copied";
  fs::create_directories(copied / "part");
  std::ofstream(copied / "part" / "file") << "old\n";
  box.sandbox.readable.push_back(copied);
  box.sandbox.copied = copied;
  const std::string file = (copied / "part" / "file").string();
  BOOST_TEST(box.sh("cat " + file + "; echo new >" + file + "; cat " + file + "; cd " +
                    copied.string() + "; echo x >log && mv part/file . && cat file log") ==
             "old\nnew\nnew\nx\n");
  // Without a mount namespace whoever asks makes the copy.
  BOOST_TEST(fs::exists(copied / "log") == (kind == SandboxKind::process));
}

IN_EACH_SANDBOX(many_files_are_limited) {
  const std::string said = box.python(
      "import sys, time\n"
      "made = 0\n"
      "try:\n"
      "  for made in range(60000):\n"
      "    os.close(os.open(os.environ['TMPDIR'] + f'/{made}', os.O_CREAT))\n"
      "except OSError: sys.exit(print('no room'))\n"
      "time.sleep(5)",
      60);
  BOOST_TEST(said == (kind == SandboxKind::bubblewrap
                          ? "no room\n"
                          : "wrote to a folder that has more than 32768 files"));
}

IN_EACH_SANDBOX(other_processes_cannot_be_signalled) {
  const std::string self = std::to_string(::getpid());
  const std::string said =
      box.python("for pid in (" + self +
                 ", -1, 1):\n"
                 "  try: os.kill(pid, 0) if pid != -1 else None; print('sent', pid)\n"
                 "  except OSError: print('refused', pid)");
  BOOST_TEST(said.find("sent " + self) == said.npos);
  BOOST_TEST(box.sh("kill -9 " + self + " 2>/dev/null; echo alive") == "alive\n");
}

IN_EACH_SANDBOX(forbidden_system_calls_end_the_process) {
  // ptrace; unshare, a user namespace; mount; process_vm_readv; bpf; userfaultfd.
  for (const char* numbers : {"101, 0, 0, 0, 0", "272, 0x10000000", "165, 0, 0, 0, 0, 0",
                              "310, 1, 0, 0, 0, 0, 0", "321, 0, 0, 0", "323, 0"}) {
    BOOST_TEST(box.python("import ctypes\nctypes.CDLL(None).syscall(" + std::string(numbers) +
                          ")\nprint('went on')") == "killed by SIGSYS",
               numbers);
  }
  BOOST_TEST(box.python("import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                        "libc.syscall(425, 1, 0)\nprint(errno.errorcode[ctypes.get_errno()])\n"
                        "print(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))") ==
             "ENOSYS\n-1\n");  // io_uring_setup; clone with a user namespace
}

IN_EACH_SANDBOX(limits_are_kept) {
  box.sandbox.scratch = 1 << 20;
  BOOST_TEST(box.sh("head -c 3000000 /dev/zero >$TMPDIR/large; echo $?").find("0\n") != 0);
  box.sandbox.processes = 20;
  BOOST_TEST(box.sh("for i in $(seq 100); do sleep 20 & done 2>/dev/null; sleep 20") ==
             "had more than 20 processes and threads");
  box.sandbox.processes = 0;
  box.sandbox.memory = 200u << 20;
  BOOST_TEST(box.python("import time\nx = [bytearray(b'x' * (400 << 20))]\ntime.sleep(20)") ==
             "took more than 0.195 GiB of memory");
  box.sandbox.memory = 0;
  box.sandbox.cpu_seconds = 1;
  BOOST_TEST(box.sh("while :; do :; done") == "killed by SIGXCPU");
  box.sandbox.cpu_seconds = 0;
  BOOST_TEST(box.sh("sleep 20", 0.2) == "no answer within the time limit");
}

IN_EACH_SANDBOX(processes_beyond_the_limit_cannot_be_made) {
  box.sandbox.processes = 20;
  box.are_tasks_watched = false;
  const std::string made = box.python(
      "import signal\n"
      "made = []\n"
      "try:\n"
      "  while len(made) < 50:\n"
      "    made.append(os.fork())\n"
      "    if made[-1] == 0: signal.pause()\n"
      "except OSError: pass\n"
      "for each in made: os.kill(each, signal.SIGKILL)\n"
      "print(len(made))");
  // Where the kernel counts, it counts the supervisor, too.
  BOOST_TEST((made == "19\n" || (made == "18\n" && ::geteuid() != 0)), made);
}

IN_EACH_SANDBOX(what_has_no_limit_stays_as_it_was) {
  box.sandbox.memory = box.sandbox.processes = box.sandbox.scratch = 0;
  box.sandbox.cpu_seconds = 0;
  const auto own = [](decltype(RLIMIT_CPU) which) {
    rlimit limit{};
    BOOST_REQUIRE(::getrlimit(which, &limit) == 0);
    return std::to_string(static_cast<std::int64_t>(limit.rlim_cur)) + " " +
           std::to_string(static_cast<std::int64_t>(limit.rlim_max)) + "\n";
  };
  BOOST_TEST(box.python("from resource import *\n"
                        "for which in RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NPROC:\n"
                        "  print(*getrlimit(which))") ==
             own(RLIMIT_CPU) + own(RLIMIT_FSIZE) + own(RLIMIT_NPROC));
  BOOST_TEST(box.python("import mmap\nprint(len(mmap.mmap(-1, 1 << 20)))") == "1048576\n");
}

/// What a word of the command is followed by; empty: there is none.
std::string word_after(const Process::Command& command, const std::string& word) {
  const auto found = std::ranges::find(command.arguments, word);
  return found == command.arguments.end() ? "" : *std::next(found);
}

IN_EACH_SANDBOX(sockets_may_take_half_of_the_memory) {
  Process::Command nothing;
  nothing.program = "/bin/true";
  const auto most = [&](std::size_t memory) {
    box.sandbox.memory = memory;
    return word_after(confined(nothing, box.sandbox), "--sockets");
  };
  std::size_t room = 208 << 10;
  std::ifstream("/proc/sys/net/core/wmem_default") >> room;
  BOOST_TEST(most(1u << 30) == std::to_string((1u << 30) / 2 / (2 * room)));
  BOOST_TEST(most(2 * room) == "1");  // which is no pair
  BOOST_TEST(most(0) == "");
}

IN_EACH_SANDBOX(a_refused_socket_keeps_nobody_waiting) {
  // Without a network namespace the machine's other sockets count, too: so many that those do not
  // matter.
  box.sandbox.memory = (kind == SandboxKind::process ? 512u : 64u) << 20;
  // With 10 ms for each it would be five seconds.
  BOOST_TEST(box.python("import errno, socket, time\n"
                        "kept, refused, begin = [], 0, None\n"
                        "while refused < 500:\n"
                        "  try: kept += socket.socketpair()\n"
                        "  except OSError as error:\n"
                        "    assert error.errno == errno.ENOBUFS, error\n"
                        "    begin = begin or time.monotonic()\n"
                        "    refused += 1\n"
                        "took = time.monotonic() - begin\n"
                        "for _ in range(" +
                        std::string(kind == SandboxKind::process ? "400" : "2") +
                        "): kept.pop().close()\n"
                        "kept += socket.socketpair()\n"
                        "print(took if took > 4 else 'soon')") == "soon\n");
}

IN_EACH_SANDBOX(nothing_outlives_it) {
  // A daemon: two forks and a session of its own, where that is allowed.
  const std::string marker = "271828.1828";
  box.python(
      "import subprocess, sys, time\n"
      "for session in (True, False):\n"
      "  try: subprocess.Popen(['sleep', '" +
          marker +
          "'], start_new_session=session)\n"
          "  except Exception: pass\n"
          "print('started')",
      5);  // they keep its output open
  const auto still_there = [&marker] {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      std::string line;
      std::getline(file, line);
      if (contains(line, marker)) return true;
    }
    return false;
  };
  for (int i = 0; i < 100 && still_there(); ++i) std::this_thread::sleep_for(20ms);
  BOOST_TEST(!still_there());
}

BOOST_AUTO_TEST_CASE(without_a_sandbox_the_command_is_itself) {
  Process::Command command;
  command.program = "/bin/echo";
  command.arguments = {"word"};
  const Process::Command same = confined(command, {});
  BOOST_TEST(same.program == command.program);
  BOOST_TEST(same.arguments == command.arguments);
}

BOOST_AUTO_TEST_CASE(a_path_that_is_not_there_is_told) {
  Sandbox box;
  box.kind = SandboxKind::bubblewrap;
  box.readable = {"/no/such/file"};
  BOOST_TEST(message_of<std::runtime_error>([&] { confined({}, box); }) ==
             "no such file: /no/such/file");
}

BOOST_AUTO_TEST_SUITE_END()
