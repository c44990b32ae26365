#include "base/open_file.hpp"
#include "sandbox/confine.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace prenorm::sandbox::landlock {
namespace {

using harness::OpenFile;

// By system call numbers: the system's header may be older than its kernel.

struct Attributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
} __attribute__((packed));

constexpr std::uint64_t execute = 1u << 0, write_file = 1u << 1, read_file = 1u << 2,
                        read_dir = 1u << 3, truncate = 1u << 14, ioctl_device = 1u << 15;
constexpr std::uint64_t may_read = execute | read_file | read_dir;
/// All rights of the first version: everything up to creating symbolic links.
constexpr std::uint64_t first_version = (1u << 13) - 1;
constexpr std::uint64_t make_socket = 1u << 9, refer = 1u << 13;
constexpr std::uint64_t of_a_file = execute | write_file | read_file | truncate | ioctl_device;
constexpr std::uint64_t bind_and_connect = 3, abstract_sockets_and_signals = 3;

std::uint64_t handled_files() {
  return first_version | (version() >= 2 ? refer : 0) | (version() >= 3 ? truncate : 0) |
         (version() >= 5 ? ioctl_device : 0);
}

/// The kernel knows as many members of the attributes as its version has.
OpenFile ruleset(const Attributes& attributes) {
  const std::size_t size = version() >= 6 ? 24 : version() >= 4 ? 16 : 8;
  OpenFile rules(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  check(rules.is_open(), "Landlock: rules");
  return rules;
}

void allow(const OpenFile& rules, const char* path, std::uint64_t rights) {
  const OpenFile file(::open(path, O_PATH | O_CLOEXEC));
  // What this process cannot open, the program cannot open either.
  if (!file.is_open() && errno == EACCES) return;
  const std::string what = std::string("Landlock: ") + path;
  check(file.is_open(), what);
  struct stat info {};
  check(::fstat(file.get(), &info) == 0, what);
  PathRule rule;
  rule.allowed = S_ISDIR(info.st_mode) ? rights : rights & of_a_file;
  rule.parent = file.get();
  check(::syscall(SYS_landlock_add_rule, rules.get(), 1, &rule, 0) == 0, what);
}

void enforce(const OpenFile& rules) {
  check(::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0, "Landlock: no restriction");
}

}  // namespace

long version() {
  static const long known = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  return known > 0 ? known : 0;
}

bool keeps_inside() { return version() >= 6; }

void restrict_files(const Files& files) {
  Attributes attributes;
  attributes.files = handled_files();
  if (version() >= 4) attributes.network = bind_and_connect;
  if (keeps_inside()) attributes.scoped = abstract_sockets_and_signals;
  const OpenFile rules = ruleset(attributes);
  for (const char* path : files.read) allow(rules, path, may_read);
  for (const char* path : files.write) allow(rules, path, attributes.files & ~ioctl_device);
  for (const char* path : files.device) {
    allow(rules, path, attributes.files & (read_file | write_file | ioctl_device));
  }
  enforce(rules);
}

void restrict_neighbours(const std::vector<const char*>& for_sockets) {
  if (!keeps_inside()) return;
  Attributes attributes;
  // Renaming between folders is refused unless it is allowed.
  attributes.files = refer | make_socket;
  attributes.scoped = abstract_sockets_and_signals;
  const OpenFile rules = ruleset(attributes);
  allow(rules, "/", refer);
  for (const char* path : for_sockets) allow(rules, path, make_socket);
  enforce(rules);
}

}  // namespace prenorm::sandbox::landlock
