#include "faults.hpp"

#include "bounds.hpp"
#include "emulator.hpp"
#include "source_line.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <ucontext.h>

namespace prenorm::emulator {
namespace {

struct sigaction before[NSIG];
bool (*tell)(const std::string& what, bool of_host) = nullptr;

std::string what_happened(int number, const void* at) {
  if (number == SIGFPE) return "divides an integer by zero (or the least one by -1)";
  char address[32];
  std::snprintf(address, sizeof address, "%p", at);
  return std::string("accesses no memory, at ") + address;
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
  if (!kernel.empty()) {
    tell(kernel + ": " + what_happened(number, info->si_addr) + in_brackets(line_of(code)), false);
  }
  if (info->si_code <= 0) std::raise(number);
}  // the access is repeated

}  // namespace

void catch_faults(bool (*teller)(const std::string&, bool)) {
  tell = teller;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE}) {
    ::sigaction(number, &action, &before[number]);
  }
}

}  // namespace prenorm::emulator
