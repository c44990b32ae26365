#include "faults.hpp"

#include "block.hpp"
#include "bounds.hpp"
#include "source_line.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <execinfo.h>
#include <memory>
#include <mutex>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

// The C library's own: a sanitizer's sigaction would hold signals back until the thread calls the
// library, which a kernel without end does not.
extern "C" int __sigaction(int number, const struct sigaction* action, struct sigaction* before);

namespace prenorm::emulator {
namespace {

struct sigaction before[NSIG];
bool (*tell)(const std::string& what, bool of_host) = nullptr;
void (*say_end)(const std::string& what) = nullptr;

/// Whether the address is near the top of a stack that ends there.
bool is_of_stack(const void* at, const greg_t* registers) {
  const auto distance = reinterpret_cast<std::intptr_t>(at) - registers[REG_RSP];
  return distance > -4096 && distance < 8192;
}

std::string what_happened(int number, const siginfo_t& info, const greg_t* registers) {
  const void* const at = info.si_addr;
  if (number == SIGFPE) return "divides an integer by zero (or the least one by -1)";
  if (is_of_stack(at, registers)) {
    return "its stack is full: calls without end, or large local arrays (a thread has 128 KiB "
           "here)";
  }
  // ThreadSanitizer's own memory is accessed first; of an address that is none nothing is known.
  const auto* code = reinterpret_cast<const std::byte*>(registers[REG_RIP]);
  const bool is_address = info.si_code == SEGV_MAPERR || info.si_code == SEGV_ACCERR;
  if (!is_address || (RaceFiber::used && !is_own(code))) return "accesses no memory";
  char address[32];
  std::snprintf(address, sizeof address, "%p", at);
  return std::string("accesses no memory, at ") + address;
}

/// The line of this code, or of who called it.
std::string line_at(const void* code) {
  const std::string line = in_brackets(line_of(code));
  return line.empty() ? in_brackets(line_of_callers()) : line;
}

/// The search for a line takes memory, of which the signal may have found the lists damaged, or
/// locked by whom it interrupted. Where the search fails too, or lasts, this is said instead, and
/// the first signal ends the program.
void by_default(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::__sigaction(number, &action, nullptr);
}
char without_line[256] = "";
int first_signal = SIGABRT;
void on_second(int) {
  static_cast<void>(::write(STDERR_FILENO, without_line, std::strlen(without_line)));
  by_default(first_signal);
  std::raise(first_signal);
}
void prepare_for_second(int number, const char* what) {
  constexpr unsigned most_seconds = 5;
  first_signal = number;
  std::snprintf(without_line, sizeof without_line, "prenorm: %s\n", what);
  for (const int each : {SIGSEGV, SIGABRT, SIGALRM}) {
    struct sigaction action {};
    action.sa_handler = on_second;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::__sigaction(each, &action, nullptr);
  }
  ::alarm(most_seconds);
}
/// Ends as the signal would have ended the program.
[[noreturn]] void end_by(int number) {
  ::alarm(0);
  ::__sigaction(number, &before[number], nullptr);
  std::raise(number);
  by_default(number);  // what was there before has returned
  std::raise(number);
  ::_exit(128 + number);
}
constexpr const char* damaged =
    "host code is ended, by damaged memory perhaps: --check memory may say where";

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
  ::__sigaction(number, &before[number], nullptr);
  if (kernel.empty() && say_end != nullptr) {
    prepare_for_second(number, number == SIGFPE ? "host code divides an integer by zero" : damaged);
    std::string what = what_happened(number, *info, registers);
    if (is_of_stack(info->si_addr, registers)) {
      what = "calls itself without end, or has large local arrays";
    }
    say_end("host code " + what + line_at(code));
    ::alarm(0);
    ::__sigaction(number, &before[number], nullptr);
  } else if (!kernel.empty()) {
    tell(kernel + ": " + what_happened(number, *info, registers) + line_at(code), false);
  }
  if (info->si_code <= 0) std::raise(number);
}  // the access is repeated

/// A program's end by another's will, or by its own.
void on_end(int number, siginfo_t*, void* context) {
  const bool aborts = number == SIGABRT;
  prepare_for_second(number, aborts ? damaged : "the program is interrupted");
  const std::string kernel = where();
  if (aborts) {
    say_end((kernel.empty() ? "host code" : kernel) + " is ended by abort" +
            in_brackets(line_of_callers()));
  } else if (!kernel.empty()) {
    const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    say_end(kernel + ": runs when the program is interrupted" +
            line_at(reinterpret_cast<const std::byte*>(at) + 1));
  }
  end_by(number);
}

void on_signal(int number, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  ::__sigaction(number, &action, &before[number]);
  // As a shell starts what runs in the background.
  if (before[number].sa_handler == SIG_IGN) ::__sigaction(number, &before[number], nullptr);
}

/// A thread of the machine that may run kernels, for as long as it lives: a stack of its own for
/// what handles faults, and a place among those that are asked where they are.
class Known {
 public:
  Known() {
    change(0);
    const std::lock_guard lock(all().mutex);
    all().threads.push_back(this);
  }
  Known(const Known&) = delete;
  Known& operator=(const Known&) = delete;
  ~Known() {
    {
      const std::lock_guard lock(all().mutex);
      std::erase(all().threads, this);
    }
    change(SS_DISABLE);
  }

  struct All {
    std::mutex mutex;
    std::vector<Known*> threads;
  };
  static All& all() {
    static auto* const one = new All;  // threads may outlive main()
    return *one;
  }
  bool runs_a_kernel() const { return __atomic_load_n(block_, __ATOMIC_RELAXED) != nullptr; }
  bool send(int signal) const { return ::pthread_kill(thread_, signal) == 0; }

 private:
  static constexpr std::size_t room = 256 << 10;
  void change(int flags) {
    stack_t stack{};
    stack.ss_sp = room_.get();
    stack.ss_size = room;
    stack.ss_flags = flags;
    ::sigaltstack(&stack, nullptr);
  }
  std::unique_ptr<std::byte[]> room_{new std::byte[room]};
  pthread_t thread_ = ::pthread_self();
  Block* const* block_ = &current_block;
};

/// What a thread answers that is asked where it is. In the handler nothing is called: the thread
/// may be within anything.
RunningThread answer;
enum class Question { none, asked, answered };
std::atomic<Question> question = Question::none;
void on_question(int, siginfo_t*, void* context) {
  if (question != Question::asked) return;
  const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const char* kernel = current_block == nullptr ? "" : current_block->kernel();
  ::strncpy(answer.kernel, kernel, sizeof answer.kernel - 1);
  answer.block = blockIdx;
  answer.thread = threadIdx;
  answer.code = reinterpret_cast<const std::byte*>(at) + 1;
  question = Question::answered;
}

}  // namespace

void have_room_for_faults() { static thread_local const Known known; }

std::optional<RunningThread> what_runs() {
  constexpr int number = SIGURG;  // which does nothing where nobody has asked for it
  const std::lock_guard lock(Known::all().mutex);
  for (const Known* each : Known::all().threads) {
    if (!each->runs_a_kernel()) continue;
    on_signal(number, on_question, SA_RESTART);
    const bool is_free = before[number].sa_handler == SIG_DFL;
    question = Question::asked;
    bool answered = false;
    for (int i = 0; is_free && each->send(number) && !answered && i < 1000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      answered = question == Question::answered;
    }
    question = Question::none;
    ::__sigaction(number, &before[number], nullptr);
    if (answered && answer.kernel[0] != 0) return answer;
  }
  return {};
}

void catch_ends(void (*say)(const std::string&)) {
  say_end = say;
  for (const int number : {SIGABRT, SIGINT, SIGTERM}) on_signal(number, on_end, SA_NODEFER);
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // which loads what it needs
}

void catch_faults(bool (*teller)(const std::string&, bool)) {
  tell = teller;
  have_room_for_faults();
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE}) on_signal(number, on_fault, SA_NODEFER);
}

}  // namespace prenorm::emulator
