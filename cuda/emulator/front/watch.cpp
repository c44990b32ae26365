#include "watch.hpp"

#include "block.hpp"
#include "faults.hpp"
#include "source_line.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <system_error>
#include <thread>

namespace prenorm::emulator {
namespace {

constexpr int long_seconds = 10;

void (*say_of_long)(const std::string&) = nullptr;
std::atomic<bool> watching = false;  // or all has been said
std::atomic<int> launches_that_run = 0;
std::atomic<std::clock_t> begun = 0;  // the last of them

bool one_runs_long() {
  return launches_that_run > 0 && std::clock() - begun > long_seconds * CLOCKS_PER_SEC;
}

/// "kernel k, block (0, 0, 0), thread (0, 0, 0): runs ... (mine.cu:3)"; empty where it has ended.
std::string what_runs_long() {
  constexpr int most_questions = 20;
  std::string said;
  for (int i = 0; i < most_questions && one_runs_long(); ++i) {
    const auto running = what_runs();
    if (!running) continue;
    said = std::string("kernel ") + running->kernel + ", block " + to_text(running->block) +
           ", thread " + to_text(running->thread) + ": runs after " + std::to_string(long_seconds) +
           " seconds of processor time, and goes on";
    // Empty within what the emulator does for a kernel.
    const std::string line = in_brackets(line_of(running->code));
    if (!line.empty()) return said + line;
  }
  return said;
}

/// Ends where nothing runs: a program may end with its last thread, or fork.
void watch() {
  for (std::string said; said.empty();) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (launches_that_run == 0) {
      watching = false;
      if (launches_that_run == 0 || watching.exchange(true)) return;
    }
    if (!one_runs_long()) continue;
    said = what_runs_long();
    if (!said.empty()) say_of_long(said);
  }
}

void begin_watching() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program
  try {
    std::thread(watch).detach();
  } catch (const std::system_error&) {  // there are too many threads
    watching = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void watch_launches(void (*say_it)(const std::string&)) { say_of_long = say_it; }

Watched::Watched() {
  begun = std::clock();
  ++launches_that_run;
  if (say_of_long != nullptr && !watching.exchange(true)) begin_watching();
}
Watched::~Watched() { --launches_that_run; }

}  // namespace prenorm::emulator
