#include "class/class_sandbox.hpp"

#include "base/error.hpp"
#include "sandbox/sandbox.hpp"

namespace prenorm::harness {

std::string decided_sandbox(const Json& record) { return record.value(class_sandbox, ""); }

void keep_sandbox(GradeSettings& settings, const std::string& decided) {
  for (const SandboxKind kind :
       {SandboxKind::none, SandboxKind::process, SandboxKind::bubblewrap}) {
    if (decided != name(kind)) continue;
    if (const auto why = unavailable(kind)) {
      throw UsageError("this class is graded in the sandbox " + decided +
                       ", which does not work here any more: " + *why +
                       " (--sandbox decides anew for the class)");
    }
    // What is chosen anyway need not be named: reports show how to repeat a case without it.
    const bool usual = kind == SandboxKind::bubblewrap ||
                       (kind == SandboxKind::process && unavailable(SandboxKind::bubblewrap));
    if (!usual || !settings.sandbox.empty()) settings.sandbox = decided;
  }
}

}  // namespace prenorm::harness
