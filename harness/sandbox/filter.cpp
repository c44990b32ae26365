#include "sandbox/filter.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <system_error>

namespace prenorm::sandbox {
namespace {

void check(int result, const std::string& what) {
  if (result < 0) {
    throw std::system_error(-result, std::generic_category(), "seccomp: " + what);
  }
}

}  // namespace

int load_filter(const std::vector<Rule>& rules) {
  const std::unique_ptr<void, void (*)(void*)> filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)),
                                                      ::seccomp_release);
  if (!filter) check(-ENOMEM, "no filter");
  // Found by halving, not one by one.
  ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const Rule& rule : rules) {
    for (const SystemCall& call : rule.calls) {
      const int result =
          ::seccomp_rule_add_array(filter.get(), rule.action, call.number,
                                   static_cast<unsigned>(call.where.size()), call.where.data());
      if (result != -EDOM) check(result, call.name);  // EDOM: not on this machine
    }
  }
  check(::seccomp_load(filter.get()), "cannot be loaded");
  const bool is_served =
      std::ranges::any_of(rules, [](const Rule& rule) { return rule.action == asks; });
  // The filter's release closes its own descriptor.
  return is_served ? ::fcntl(::seccomp_notify_fd(filter.get()), F_DUPFD_CLOEXEC, 0) : -1;
}

}  // namespace prenorm::sandbox
