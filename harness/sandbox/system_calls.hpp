// What a process of a sandbox may ask of the kernel: an allow-list. What is not in it fails with
// ENOSYS, as on a kernel that has it not. docs/sandbox.md shows this table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <seccomp.h>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace prenorm::sandbox {

/// What happens at a call. `asks`: the supervisor performs, refuses or permits it.
inline constexpr std::uint32_t allowed = SCMP_ACT_ALLOW, ends = SCMP_ACT_KILL_PROCESS,
                               asks = SCMP_ACT_NOTIFY;
constexpr std::uint32_t fails(int error) {
  return SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error));
}

/// Which of the calls' rules hold.
struct Setting {
  bool alone = false;        // there are no namespaces: other processes and files are in reach
  bool counted = false;      // the supervisor counts processes and threads
  bool scoped = false;       // but Landlock keeps signals and abstract sockets inside
  bool with_device = false;  // a device's driver is at work
  pid_t self = 0;            // of the process that is confined

  /// Signals and connections stay inside, whomever they name.
  bool keeps_inside() const { return !alone || scoped; }
};

/// A system call, and what its arguments must be for the rule to hold.
struct SystemCall {
  std::string name;
  int number;
  std::vector<scmp_arg_cmp> where = {};
  const char* only = "";  // the same in words
};

/// Calls that are treated alike. Each add() throws std::logic_error where libseccomp does not know
/// a name.
struct Rule {
  const char* what;
  std::uint32_t action;
  std::vector<SystemCall> calls = {};

  /// "read write": these, whatever their arguments.
  Rule& add(const char* names);
  /// One where its arguments are so. `only` says the same in words.
  Rule& add(const char* name, const char* only, std::vector<scmp_arg_cmp> where);
  /// One where that argument has one of some values, which have names.
  Rule& add(const char* name, unsigned argument,
            std::initializer_list<std::pair<const char*, std::uint32_t>> values);
};

std::vector<Rule> rules(const Setting& setting);

/// Of the supervisor.
std::vector<Rule> rules_of_supervisor();

/// The rules as a table in Markdown, for all kinds of sandbox.
std::string listed();

/// Loads a seccomp filter for this process and all that it starts, which holds from now on: what no
/// rule names fails with ENOSYS. Returns the notification descriptor, or -1 where no rule asks the
/// supervisor.
///
/// Throws std::system_error.
int load_filter(const std::vector<Rule>& rules);

}  // namespace prenorm::sandbox
