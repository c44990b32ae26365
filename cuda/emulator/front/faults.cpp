#include "faults.hpp"

#include "bounds.hpp"
#include "emulator.hpp"
#include "source_line.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <execinfo.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace prenorm::emulator {
namespace {

constexpr int tick_seconds = 10;

thread_local unsigned long threads_begun = 0;  // of kernels, on this one of the machine
struct sigaction before[NSIG];
bool (*tell)(const std::string& what, bool of_host) = nullptr;
void (*say_end)(const std::string& what) = nullptr;

/// Whether the address is near the top of a stack that ends there.
bool is_of_stack(const void* at, const greg_t* registers) {
  const auto distance = reinterpret_cast<std::intptr_t>(at) - registers[REG_RSP];
  return distance > -4096 && distance < 8192;
}

std::string what_happened(int number, const void* at, const greg_t* registers) {
  if (number == SIGFPE) return "divides an integer by zero (or the least one by -1)";
  if (is_of_stack(at, registers)) {
    return "its stack is full: calls without end, or large local arrays (a thread has 128 KiB "
           "here)";
  }
  char address[32];
  std::snprintf(address, sizeof address, "%p", at);
  return std::string("accesses no memory, at ") + address;
}

/// The line of this code, or of who called it.
std::string line_at(const void* code) {
  const std::string line = in_brackets(line_of(code));
  return line.empty() ? in_brackets(line_of_callers()) : line;
}

/// What is said where even the search for a line goes wrong.
char without_line[256] = "";
void on_second(int number) {
  static_cast<void>(::write(STDERR_FILENO, without_line, std::strlen(without_line)));
  std::signal(number, SIG_DFL);
  std::raise(number);
}
void prepare_for_second(const char* what) {
  std::snprintf(without_line, sizeof without_line,
                "prenorm: host code %s; memory is damaged, --check memory may say where\n", what);
  for (const int each : {SIGSEGV, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = on_second;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::sigaction(each, &action, nullptr);
  }
}

void on_fault(int number, siginfo_t* info, void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const std::byte*>(registers[REG_RIP]) + 1;
  const std::string kernel = where();
  const std::string* name =
      kernel.empty() && info->si_code == SEGV_ACCERR ? bounds::stopped_at(info->si_addr) : nullptr;
  if (name != nullptr) {
    bounds::end_host();
    const std::string said = "host code accesses " + *name +
                             ", which lies on the device: a kernel can, or copy it" +
                             in_brackets(line_of(code));
    if (tell(said, true)) return;  // the access is repeated
  }
  ::sigaction(number, &before[number], nullptr);
  if (kernel.empty() && say_end != nullptr) {
    std::string what = what_happened(number, info->si_addr, registers);
    if (is_of_stack(info->si_addr, registers)) {
      what = "calls itself without end, or has large local arrays";
    }
    prepare_for_second(what.c_str());
    say_end("host code " + what + line_at(code));
    ::sigaction(number, &before[number], nullptr);
  } else if (!kernel.empty()) {
    tell(kernel + ": " + what_happened(number, info->si_addr, registers) + line_at(code), false);
  }
  if (info->si_code <= 0) std::raise(number);
}  // the access is repeated

/// A program's end by another's will, or by its own.
void on_end(int number, siginfo_t*, void* context) {
  const std::string kernel = where();
  if (number == SIGABRT) {
    prepare_for_second("is ended by abort");
    say_end((kernel.empty() ? "host code" : kernel) + " is ended by abort" +
            in_brackets(line_of_callers()));
    return;  // and abort() goes on
  }
  ::sigaction(number, &before[number], nullptr);
  const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  if (!kernel.empty()) {
    say_end(kernel + ": runs when the program is interrupted" +
            line_at(reinterpret_cast<const std::byte*>(at) + 1));
  }
  std::raise(number);
}

/// Processor time has passed. Where one CUDA thread has had all of it, a word.
void on_tick(int, siginfo_t*, void* context) {
  static thread_local unsigned long before_that = 0;
  static std::atomic<bool> said = false;
  const std::string kernel = where();
  if (kernel.empty()) return;
  if (std::exchange(before_that, threads_begun) != threads_begun || said.exchange(true)) return;
  const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  say_end(kernel + ": has run for " + std::to_string(tick_seconds) +
          " seconds, with no other beginning; without end?" +
          line_at(reinterpret_cast<const std::byte*>(at) + 1));
}

void on_signal(int number, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | flags;
  ::sigaction(number, &action, &before[number]);
}

/// A stack of its own for what handles faults.
struct [[maybe_unused]] Room {
  std::vector<std::byte> bytes = std::vector<std::byte>(256 << 10);
  Room() { change(0); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { change(SS_DISABLE); }
  void change(int flags) {
    stack_t stack{};
    stack.ss_sp = bytes.data();
    stack.ss_size = bytes.size();
    stack.ss_flags = flags;
    ::sigaltstack(&stack, nullptr);
  }
};

}  // namespace

void have_room_for_faults() {
  ++threads_begun;
#if !defined(PRENORM_EMULATOR_SANITIZED)  // sanitizers have handlers of their own
  static thread_local Room room;
#endif
}

void catch_ends(void (*say)(const std::string&)) {
  say_end = say;
  for (const int number : {SIGABRT, SIGINT, SIGTERM}) on_signal(number, on_end);
  on_signal(SIGVTALRM, on_tick, SA_RESTART);
  const itimerval each{{tick_seconds, 0}, {tick_seconds, 0}};
  ::setitimer(ITIMER_VIRTUAL, &each, nullptr);
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // which loads what it needs
}

void catch_faults(bool (*teller)(const std::string&, bool)) {
  tell = teller;
  have_room_for_faults();
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE}) on_signal(number, on_fault);
}

}  // namespace prenorm::emulator
