// Child processes: how they end, what they inherit, and that they cannot hold up the parent.
#include "base/family.hpp"
#include "base/process.hpp"
#include "checks.hpp"
#include "skip.hpp"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

/// A shell that runs the script, with the socket as descriptor 3.
struct Shell : Process {
  explicit Shell(const std::string& script, const Limits& limits = {})
      : Process("/bin/sh", {"-c", script}, limits) {}

  std::string receive_text(std::size_t bytes, steady_clock::duration wait = 20s) {
    std::string text(bytes, '\0');
    receive(text.data(), bytes, steady_clock::now() + wait);
    return text;
  }
};

/// The message with which waiting for this script's answer ends.
std::string end_of(const std::string& script, const Process::Limits& limits = {}) {
  Shell shell(script, limits);
  return message_of<ProcessEnded>([&] { shell.receive_text(1); });
}

bool alive(pid_t pid) { return ::kill(pid, 0) == 0; }

/// Waits for a process that is not our child to vanish.
bool vanishes(pid_t pid) {
  for (int i = 0; i < 500 && alive(pid); ++i) std::this_thread::sleep_for(10ms);
  return !alive(pid);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(bytes_go_there_and_back) {
  Shell shell("head -c 5 <&3 | tr a-z A-Z >&3; cat <&3 >&3");
  shell.send("hello", 5);
  BOOST_TEST(shell.receive_text(5) == "HELLO");
  const std::string much(50'000, 'x');
  for (int i = 0; i < 20; ++i) {
    shell.send(much.data(), much.size());
    BOOST_REQUIRE(shell.receive_text(much.size()) == much);
  }
}

BOOST_AUTO_TEST_CASE(an_end_is_told) {
  BOOST_TEST(end_of("exit 3") == "exit code 3");
  BOOST_TEST(end_of("exit 0") == "exit code 0");
  BOOST_TEST(end_of("kill -SEGV $$") == "killed by SIGSEGV");
  BOOST_TEST(end_of("kill -ABRT $$") == "killed by SIGABRT");
  BOOST_TEST(end_of("kill -KILL $$") == "killed by SIGKILL");
  BOOST_TEST(end_of("echo first >&2; echo out of luck >&2; exit 4") ==
             "exit code 4: first\nout of luck");
  // Standard output is dropped, and standard input is empty.
  BOOST_TEST(end_of("echo to nobody; cat; exit 6") == "exit code 6");
}

BOOST_AUTO_TEST_CASE(only_the_end_of_much_standard_error_is_told) {
  // More than a pipe holds: the child would block for ever if nobody read it.
  const std::string message =
      end_of("head -c 300000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 5");
  BOOST_TEST(message.starts_with("exit code 5: xxx"));
  BOOST_TEST(message.ends_with("xxend"));
  BOOST_TEST(message.size() < 4200u);
}

BOOST_AUTO_TEST_CASE(standard_error_does_not_hold_up_what_is_sent) {
  Shell shell("head -c 300000 /dev/zero >&2; head -c 3000000 <&3 | wc -c >&3");
  const std::string much(3'000'000, 'x');
  shell.send(much.data(), much.size(), -1, steady_clock::now() + 20s);
  BOOST_TEST(shell.receive_text(7) == "3000000");
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_the_end_arrives) {
  Shell shell("printf last >&3; exit 7");
  BOOST_TEST(shell.receive_text(4) == "last");
  for (int i = 0; i < 2; ++i) {  // and says so again
    BOOST_TEST(message_of<ProcessEnded>([&] { shell.receive_text(1); }) == "exit code 7");
  }
}

BOOST_AUTO_TEST_CASE(silence_is_a_timeout) {
  Shell shell("sleep 60");
  const auto begin = steady_clock::now();
  BOOST_CHECK_THROW(shell.receive_text(1, 200ms), ProcessTimeout);
  const auto took = steady_clock::now() - begin;
  BOOST_TEST((took >= 200ms && took < 10s));
  BOOST_TEST(!alive(shell.pid()));
  BOOST_CHECK_THROW(shell.send("x", 1), ProcessEnded);
}

BOOST_AUTO_TEST_CASE(a_slow_trickle_is_a_timeout) {
  Shell shell("while true; do printf x >&3; echo noise >&2; sleep 0.05; done");
  BOOST_CHECK_THROW(shell.receive_text(10000, 400ms), ProcessTimeout);
}

BOOST_AUTO_TEST_CASE(a_child_that_does_not_read_is_a_timeout) {
  Shell shell("sleep 60");
  const std::string much(10'000'000, 'x');
  BOOST_CHECK_THROW(shell.send(much.data(), much.size(), -1, steady_clock::now() + 200ms),
                    ProcessTimeout);
}

BOOST_AUTO_TEST_CASE(sending_to_the_dead_does_not_kill) {
  Shell shell("exit 8");
  const std::string much(10'000'000, 'x');
  BOOST_TEST(message_of<ProcessEnded>([&] { shell.send(much.data(), much.size()); }) ==
             "exit code 8");
}

BOOST_AUTO_TEST_CASE(a_child_that_closes_its_socket_is_ended) {
  Shell shell("exec 3>&-; sleep 60");
  BOOST_CHECK_THROW(shell.receive_text(1), ProcessEnded);
  BOOST_TEST(!alive(shell.pid()));
}

BOOST_AUTO_TEST_CASE(no_descriptor_is_inherited) {
  if (!std::filesystem::exists("/proc/self/fd")) {
    BOOST_TEST(prenorm::testing::skip("process", "there is no /proc here"));
    return;
  }
  // One without close-on-exec, as a careless library leaves it.
  const int careless = ::open("/dev/null", O_RDONLY);
  const int far = ::fcntl(careless, F_DUPFD, 200);
  // Looks at each number without opening anything.
  Shell shell(
      "i=0; list=; while [ $i -lt 300 ]; do [ -e /proc/$$/fd/$i ] && list=\"$list$i \";"
      "i=$((i+1)); done; printf %s \"$list\" >&3");
  const std::string wanted = "0 1 2 3 ";
  BOOST_TEST(shell.receive_text(wanted.size()) == wanted);
  BOOST_CHECK_THROW(shell.receive_text(1), ProcessEnded);  // no fifth one
  ::close(careless);
  ::close(far);
}

BOOST_AUTO_TEST_CASE(the_environment_is_small) {
  ::setenv("PRENORM_TEST_SECRET", "hidden", 1);
  ::setenv("OMP_NUM_THREADS", "1", 0);
  Shell shell(
      "env | cut -d= -f1 | grep -cx -e PRENORM_TEST_SECRET -e HOME >&3;"
      "env | cut -d= -f1 | grep -cx -e PATH -e OMP_NUM_THREADS >&3");
  BOOST_TEST(shell.receive_text(4) == "0\n2\n");
}

BOOST_AUTO_TEST_CASE(a_descriptor_is_passed) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  Process python("/usr/bin/env",
                 {"python3", "-c",
                  "import os, socket\n"
                  "talk = socket.socket(fileno=3)\n"
                  "word, descriptors, _, _ = socket.recv_fds(talk, 5, 4)\n"
                  "os.write(descriptors[0], word + bytes([48 + len(descriptors)]))\n"},
                 {});
  python.send("hello", 5, ends[1]);
  ::close(ends[1]);
  std::string text(6, '\0');
  BOOST_TEST(::read(ends[0], text.data(), text.size()) == 6);
  BOOST_TEST(text == "hello1");
  ::close(ends[0]);
}

BOOST_AUTO_TEST_CASE(limits_hold) {
  BOOST_TEST(end_of("while :; do :; done", {.cpu_seconds = 0.5}) == "killed by SIGKILL");
  const std::string large = end_of(
      "head -c 100000 /dev/zero > /tmp/prenorm_test_$$; s=$?;"
      "rm /tmp/prenorm_test_$$; exit $s",
      {.file_size = 1000});
  BOOST_TEST(large.starts_with("exit code"));
  BOOST_TEST(!large.starts_with("exit code 0"));
#if !defined(__SANITIZE_ADDRESS__)
  Shell shell("ulimit -v >&3", {.address_space = 1u << 30});
  BOOST_TEST(shell.receive_text(8) == "1048576\n");
#endif
}

BOOST_AUTO_TEST_CASE(a_folder_that_fills_fast_is_looked_at_sooner) {
  // In memory, where few others write at the same time.
  std::string name = "/dev/shm/prenorm-process-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::vector<std::filesystem::path> folders{name};
  const TreeLimits limits{100, 32u << 20, 10};
  DiskMeter meter;
  const auto look = [&] { return meter.exceeded({}, folders, limits); };
  BOOST_TEST(!look());
  const auto looked = steady_clock::now();
  const auto write = [&name](std::size_t bytes) {
    std::ofstream(name + "/file", std::ios::app) << std::string(bytes, 'x');
  };
  write(20u << 20);
  std::this_thread::sleep_for(10ms);
  BOOST_TEST(!look());  // much, and not too much
  write(20u << 20);
  std::this_thread::sleep_for(10ms);
  const bool is_time = steady_clock::now() - looked > 150ms;
  const auto why = look();
  BOOST_TEST((why.has_value() || is_time));
  std::filesystem::remove_all(name);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_starting_thread_ends_no_child) {
  std::unique_ptr<Shell> shell;
  std::thread([&] { shell = std::make_unique<Shell>("cat <&3 >&3"); }).join();
  std::this_thread::sleep_for(50ms);
  shell->send("still", 5);
  BOOST_TEST(shell->receive_text(5) == "still");
}

BOOST_AUTO_TEST_CASE(many_threads_start_children) {
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&good] {
      for (int k = 0; k < 5; ++k) {
        Shell shell("cat <&3 >&3");
        shell.send("x", 1);
        good += shell.receive_text(1) == "x";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(good == 40);
}

BOOST_AUTO_TEST_CASE(what_a_child_started_ends_with_it) {
  std::string text;
  {
    Shell shell("sleep 60 & printf '%010d' $! >&3; wait");
    text = shell.receive_text(10);
    BOOST_TEST(alive(std::stoi(text)));
  }
  BOOST_TEST(vanishes(std::stoi(text)));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there) {
  const auto start = [](const char* program) {
    return message_of<std::runtime_error>([&] { Process(program, {}, {}); });
  };
  check_has(start("/no/such/program"), {"/no/such/program", "No such file"});
  check_has(start("/etc/passwd"), {"Permission denied"});
}

BOOST_AUTO_TEST_CASE(who_gets_no_processor_has_time) {
  Shell shell("kill -STOP $$; echo done >&3");  // as on a machine that is busy with other work
  std::jthread other([&] {
    std::this_thread::sleep_for(1s);
    ::kill(shell.pid(), SIGCONT);
  });
  std::string text(5, ' ');
  shell.receive(text.data(), text.size(), shell.within(0.2, 1000));
  BOOST_TEST(text == "done\n");
}

BOOST_AUTO_TEST_CASE(processor_time_is_limited) {
  const auto ends = [](const std::string& script, double seconds, double clock_factor) {
    Shell shell(script);
    char byte = 0;
    BOOST_CHECK_THROW(shell.receive(&byte, 1, shell.within(seconds, clock_factor)), ProcessTimeout);
    return shell.processor_seconds();
  };
  for (const char* script : {
           "while :; do :; done",
           "(while :; do :; done) & wait",                           // a child's counts
           "while :; do (for i in $(seq 20000); do :; done); done",  // and of those that ended
       }) {
    BOOST_TEST(ends(script, 0.3, 1e6) >= 0.3);
  }
  BOOST_TEST(ends("sleep 60", 0.1, 5) < 0.1);  // what sleeps ends, too
}

BOOST_AUTO_TEST_CASE(children_are_reaped) {
  pid_t pid = 0;
  { pid = Shell("sleep 60").pid(); }
  BOOST_TEST(::waitpid(pid, nullptr, WNOHANG) == -1);  // no zombie is left
}

BOOST_AUTO_TEST_CASE(deadlines_however_far) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double seconds : {1e300, infinity, std::nan("")}) {
    BOOST_TEST((deadline_in(seconds) == Process::Deadline::max()));
  }
  BOOST_TEST((deadline_in(5) > std::chrono::steady_clock::now()));
  BOOST_TEST((deadline_in(5) < std::chrono::steady_clock::now() + std::chrono::seconds(6)));
  BOOST_TEST(seconds_text(0.5) == "0.5 s");
  BOOST_TEST(seconds_text(60) == "60 s");
}

BOOST_AUTO_TEST_CASE(processes_that_end_while_they_are_counted_are_no_error) {
  Process::Limits limits;
  limits.tasks = 100000;
  Shell shell("for i in $(seq 600); do /bin/true & done; wait; echo done >&3", limits);
  BOOST_TEST(shell.receive_text(5, 60s) == "done\n");
}

// The kernel's memory for what an epoll descriptor watches is in no number of /proc.
BOOST_AUTO_TEST_CASE(what_epoll_descriptors_may_watch_is_memory) {
  constexpr std::size_t count = 600, least = count * count * 256;
  std::vector<OpenFile> watchers;
  const auto has = [](std::size_t bytes) {
    MemoryMeter meter;
    const auto end = deadline_in(20);  // a busy machine may take a while to count
    while (meter.bytes(Family::of(::getpid()), bytes) < bytes) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < count; ++i) watchers.emplace_back(::epoll_create1(EPOLL_CLOEXEC));
  BOOST_TEST(watchers.back().is_open());
  BOOST_TEST(has(least));
}

BOOST_AUTO_TEST_SUITE_END()
