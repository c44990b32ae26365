#include "sandbox/sandbox.hpp"

#include "base/paths.hpp"
#include "base/family.hpp"
#include "sandbox/confine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace prenorm::harness {
namespace {

constexpr double seconds_to_try = 10;
constexpr std::size_t shared_memory = 256u << 20;
/// Of the folders that a sandbox without a mount namespace may write.
constexpr std::size_t deepest_folder = 100;

/// Folders of programs and libraries; missing ones are skipped.
const std::array<const char*, 15> system_paths{"/usr",
                                               "/bin",
                                               "/sbin",
                                               "/lib",
                                               "/lib32",
                                               "/lib64",
                                               "/libx32",
                                               "/nix/store",
                                               "/etc/alternatives",
                                               "/etc/ld.so.cache",
                                               "/etc/ld.so.conf",
                                               "/etc/ld.so.conf.d",
                                               "/etc/localtime",
                                               "/etc/fonts",
                                               "/etc/matplotlibrc"};

/// The lists of users: the machine's where the submission runs as one of its users, else files with
/// nobody in them.
const std::array<const char*, 2> user_files{"passwd", "group"};

/// The kernel's files that only root may read: where the grader is root, so is the submission to
/// the kernel.
std::vector<fs::path> files_of_root() {
  std::vector<fs::path> found;
  if (::geteuid() != 0) return found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const fs::file_status status = entry.status(error);
    const bool is_read = (status.permissions() & fs::perms::others_read) != fs::perms::none;
    if (!error && fs::is_regular_file(status) && !is_read) found.push_back(entry.path());
  }
  return found;
}

/// Kernel files that programs of any language read; for Landlock. Not /dev/zero, which would be
/// memory shared without a file.
const std::array<const char*, 8> kernel_paths{
    "/dev/random",   "/dev/urandom", "/proc/self",       "/proc/cpuinfo",
    "/proc/meminfo", "/proc/stat",   "/proc/sys/kernel", "/sys/devices/system"};

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

/// Whether `path` is `folder` or is inside it; a comparison of the texts only.
bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [end, _] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

/// bwrap from the system's folders.
std::optional<fs::path> bubblewrap() {
  for (const char* folder : {"/usr/bin", "/usr/local/bin", "/bin"}) {
    const fs::path path = fs::path(folder) / "bwrap";
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

fs::path helpers() { return home() / "libexec" / "prenorm"; }
fs::path confine_program() { return helpers() / "prenorm-confine"; }

std::vector<fs::path> devices() {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    if (entry.path().filename().string().starts_with("nvidia")) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

/// A driver outside the system's folders, as tests use.
std::optional<fs::path> named_driver() {
  const char* path = std::getenv("PRENORM_CUDA_DRIVER");
  if (path == nullptr || !is_there(path)) return std::nullopt;
  return path;
}

std::vector<fs::path> readable_system() {
  std::vector<fs::path> paths;
  std::ranges::copy_if(system_paths, std::back_inserter(paths), is_there);
  return paths;
}

/// A small environment: nothing from the instructor's, and the same on every machine.
std::vector<std::string> clean_environment(const fs::path& scratch) {
  std::vector<std::string> variables{"PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
                                     "LANG=C.UTF-8",
                                     "USER=nobody",
                                     "LOGNAME=nobody",
                                     "HOME=" + scratch.string(),
                                     "TMPDIR=" + scratch.string(),
                                     "OMP_NUM_THREADS=1",
                                     "OPENBLAS_NUM_THREADS=1",
                                     "MKL_NUM_THREADS=1",
                                     "OMP_WAIT_POLICY=passive",
                                     "PYTHONDONTWRITEBYTECODE=1"};
  // For tests: a driver without a real device, and how a sanitizer treats guard pages.
  for (const char* name : {"PRENORM_CUDA_DRIVER", "ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
  }
  // A submission's programs may have sanitizers of their own, which mind preloaded libraries, and
  // look for leaks by a call that ends them here.
  if (std::getenv("ASAN_OPTIONS") == nullptr) {
    variables.emplace_back("ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0");
  }
  return variables;
}

/// Open files and sockets of one process. Fewer than the grader may have: the kernel refuses to
/// pass descriptors on where all of a user's processes have more of them on their way than the
/// limit of who asks.
rlim_t descriptors() {
  constexpr rlim_t most = 1024;
  rlimit own{};
  return ::getrlimit(RLIMIT_NOFILE, &own) == 0 ? std::min(most, own.rlim_cur / 2) : most;
}

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

/// Whether the kernel counts the processes and threads of this sandbox alone. It counts those of a
/// user, inside a user namespace those there, and none of root's.
bool kernel_counts(SandboxKind kind) { return kind == SandboxKind::bubblewrap && ::geteuid() != 0; }

/// Libraries that are preloaded there, as far as this build has them.
std::vector<fs::path> preloaded(SandboxKind kind) {
  std::vector<fs::path> libraries{helpers() / "prenorm-uninterrupted.so"};
  if (kind == SandboxKind::process) libraries.push_back(helpers() / "prenorm-preload.so");
  std::erase_if(libraries, [](const fs::path& path) { return !is_there(path); });
  return libraries;
}

/// Libraries that a bundled installation brings, without the solutions in the folders below.
std::vector<fs::path> brought() {
  std::vector<fs::path> libraries;
  std::ifstream list(home() / "share/prenorm/libraries.txt");
  for (std::string line; std::getline(list, line);) {
    libraries.push_back(home() / "lib" / line.substr(0, line.find(' ')));
  }
  std::erase_if(libraries, [](const fs::path& path) { return !is_there(path); });
  return libraries;
}

/// Adds the preloaded libraries to the environment, and to what may be read.
void preload(SandboxKind kind, Process::Command& command, std::vector<fs::path>& readable) {
  // A space separates names in LD_PRELOAD, but not folders in LD_LIBRARY_PATH.
  const bool spaced = helpers().string().find(' ') != std::string::npos;
  std::string list;
  for (const fs::path& library : preloaded(kind)) {
    list += (list.empty() ? "" : ":") + (spaced ? library.filename() : library).string();
    readable.push_back(library);
  }
  if (list.empty()) return;
  command.environment->push_back("LD_PRELOAD=" + list);
  if (spaced) command.environment->push_back("LD_LIBRARY_PATH=" + helpers().string());
}

/// As many sockets as fill half of the memory with their buffers; 0, any number, where memory has
/// no limit.
std::size_t most_sockets(std::size_t memory) {
  const std::size_t room = memory / 2 / MemoryMeter::bytes_of_socket();
  return memory > 0 ? std::max<std::size_t>(1, room) : 0;
}

/// The options of prenorm-confine that both kinds of sandbox share.
std::vector<std::string> limit_words(const Sandbox& sandbox) {
  std::vector<std::string> words{"--descriptors", std::to_string(descriptors())};
  const auto add = [&words](const char* option, std::size_t value) {
    if (value > 0) append(words, {option, std::to_string(value)});
  };
  add("--cpu", static_cast<std::size_t>(std::ceil(sandbox.cpu_seconds)));
  add("--file-size", sandbox.scratch);
  add(kernel_counts(sandbox.kind) ? "--tasks" : "--count-tasks", sandbox.processes);
  add("--shared", sandbox.memory / 2);
  add("--sockets", most_sockets(sandbox.memory));
  if (sandbox.devices) words.emplace_back("--with-device");
  return words;
}

/// bwrap ... -- prenorm-confine ... -- program ...
Process::Command in_bubblewrap(const Process::Command& what, const Sandbox& sandbox) {
  const auto program = bubblewrap();
  if (!program) throw std::runtime_error("bwrap is missing (Debian: bubblewrap)");
  Process::Command command;
  command.program = *program;
  command.wrapper = true;
  command.environment = clean_environment("/tmp");
  std::vector<std::string>& words = command.arguments;
  append(words,
         {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts",
          "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--as-pid-1", "--cap-add",
          "CAP_SYS_ADMIN", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox"});
  for (const char* file : user_files) {
    append(words, {"--ro-bind", (helpers() / "etc" / (std::string(file) + ".txt")).string(),
                   std::string("/etc/") + file});
  }
  for (const fs::path& path : readable_system()) {
    if (fs::is_symlink(path)) {  // /lib -> usr/lib
      append(words, {"--symlink", fs::read_symlink(path).string(), path.string()});
    } else {
      append(words, {"--ro-bind", path.string(), path.string()});
    }
  }
  // /dev/zero would be memory shared without a file; /dev/full reads alike.
  append(words, {"--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/full", "/dev/zero"});
  for (const fs::path& path : files_of_root()) append(words, {"--ro-bind", "/dev/null", path});
  append(words, {"--tmpfs", "/dev/pts"});  // each terminal is one of the machine's few
  if (sandbox.devices) {
    for (const fs::path& path : devices()) {
      append(words, {"--dev-bind", path.string(), path.string()});
    }
    // The CUDA runtime finds devices there.
    append(words, {"--ro-bind-try", "/sys", "/sys"});
  }
  append(words, {"--remount-ro", "/dev", "--tmpfs", "/tmp"});
  std::vector<fs::path> readable = sandbox.readable;
  readable.push_back(confine_program());
  preload(sandbox.kind, command, readable);
  std::ranges::copy(brought(), std::back_inserter(readable));
  if (const auto driver = named_driver()) readable.push_back(*driver);
  for (const fs::path& path : readable) append(words, {"--ro-bind", path.string(), path.string()});
  // Only if something bound contains them: otherwise bwrap would create the folder.
  for (const fs::path& path : sandbox.hidden) {
    const auto shows = [&path](const fs::path& bound) { return lies_in(path, bound); };
    if (is_there(path) &&
        (std::ranges::any_of(sandbox.readable, shows) || shows("/usr") || shows("/nix/store"))) {
      append(words, {"--perms", "0000", "--tmpfs", path.string()});
    }
  }
  append(words, {"--remount-ro", "/", "--chdir", "/tmp", "--", confine_program().string()});
  const std::vector<std::string> limits = limit_words(sandbox);
  words.insert(words.end(), limits.begin(), limits.end());
  append(words, {"--read", "/", "--write", "/tmp", "--write", "/dev/shm"});
  const auto sized = [](std::size_t bytes, const std::string& path) {
    return std::to_string(bytes) + ":" + path;
  };
  append(words,
         {"--empty", sized(sandbox.scratch, "/tmp"), "--empty", sized(shared_memory, "/dev/shm")});
  for (const fs::path& path : readable) {
    if (lies_in(path, "/tmp")) append(words, {"--keep", path.string()});
  }
  if (!sandbox.copied.empty()) {
    const std::string copied = sandbox.copied.string();
    append(words, {"--copy", sized(2 * most_copied, copied), "--write", copied});
  }
  for (const char* path : {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"}) {
    append(words, {"--device", path});
  }
  if (sandbox.devices) {
    for (const fs::path& path : devices()) append(words, {"--device", path.string()});
  }
  append(words, {"--", what.program.string()});
  return command;
}

/// Paths that together make up `path` without its hidden parts.
void add_readable(const fs::path& path, const std::vector<fs::path>& hidden,
                  std::vector<std::string>& words) {
  const auto is_in = [&path](const fs::path& each) { return lies_in(each, path); };
  const auto covers = [&path](const fs::path& each) { return lies_in(path, each); };
  if (std::ranges::any_of(hidden, covers)) return;
  if (std::ranges::none_of(hidden,
                           [&](const fs::path& each) { return is_in(each) && is_there(each); })) {
    return append(words, {"--read", path.string()});
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    // A link would be followed, around the hidden paths.
    if (!entry.is_symlink(error)) add_readable(entry.path(), hidden, words);
  }
}

/// prenorm-confine ... -- program ...
Process::Command by_process(const Process::Command& what, const Sandbox& sandbox) {
  Process::Command command;
  command.program = confine_program();
  command.wrapper = true;
  const char* temporary = std::getenv("TMPDIR");
  const fs::path scratch =
      sandbox.folder.empty() ? fs::path(temporary == nullptr ? "/tmp" : temporary) : sandbox.folder;
  command.environment = clean_environment(scratch);
  command.arguments = limit_words(sandbox);
  std::vector<std::string>& words = command.arguments;
  append(words, {"--alone"});
  std::vector<fs::path> readable = readable_system();
  preload(sandbox.kind, command, readable);
  std::ranges::copy(brought(), std::back_inserter(readable));
  readable.insert(readable.end(), sandbox.readable.begin(), sandbox.readable.end());
  if (const auto driver = named_driver()) readable.push_back(*driver);
  for (const fs::path& path : readable) {
    if (!fs::is_symlink(path)) add_readable(path, sandbox.hidden, words);
  }
  for (const char* path : kernel_paths) {
    if (is_there(path)) append(words, {"--read", path});
  }
  append(words, {"--device", "/dev/null"});
  if (sandbox.devices) {
    for (const fs::path& path : devices()) append(words, {"--device", path.string()});
  }
  for (const char* file : user_files) {
    const std::string path = std::string("/etc/") + file;
    if (is_there(path)) append(words, {"--read", path});
  }
  for (const fs::path& path : {sandbox.folder, sandbox.copied}) {
    if (!path.empty()) append(words, {"--write", path.string()});
  }
  append(words, {"--", what.program.string()});
  return command;
}

/// Why a program that ends at once cannot run in that sandbox; nothing if it can.
std::optional<std::string> try_out(SandboxKind kind) {
  try {
    Sandbox sandbox;
    sandbox.kind = kind;
    Process::Command nothing;
    nothing.program = "/bin/true";
    Process process(confined(nothing, sandbox));
    char byte = 0;
    process.receive(&byte, 1, deadline_in(seconds_to_try));
    return "it wrote to its socket";
  } catch (const ProcessEnded& end) {
    const bool is_well = end.how.exit_code == 0 && end.error.empty();
    return is_well ? std::nullopt : std::optional<std::string>(end.what());
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::size_t most_tasks() {
  return std::max<std::size_t>(256, 4 * std::size_t{std::thread::hardware_concurrency()});
}

std::string_view name(SandboxKind kind) {
  constexpr std::array<std::string_view, 3> names{"none", "process", "bubblewrap"};
  return names[static_cast<std::size_t>(kind)];
}

std::optional<std::string> unavailable(SandboxKind kind) {
  if (kind == SandboxKind::none) return std::nullopt;
  static std::mutex mutex;
  static std::map<SandboxKind, std::optional<std::string>> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(kind);
  if (found == known.end()) {
    std::optional<std::string> reason = try_out(kind);
    if (reason) reason = try_out(kind);  // a busy machine may have been too slow once
    found = known.emplace(kind, reason).first;
  }
  return found->second;
}

bool has_devices() { return !devices().empty() || std::getenv("PRENORM_CUDA_DRIVER") != nullptr; }

Process::Command confined(const Process::Command& what, const Sandbox& given) {
  Sandbox sandbox = given;
  for (fs::path& path : sandbox.hidden) {  // what is compared with them has no links in it
    std::error_code ignored;
    path = fs::weakly_canonical(path, ignored);
  }
  if (sandbox.kind == SandboxKind::none) {
    Process::Command command = what;
    if (!sandbox.folder.empty()) command.environment = clean_environment(sandbox.folder);
    return command;
  }
  for (const fs::path& path : sandbox.readable) {
    if (!is_there(path)) throw std::runtime_error("no such file: " + path.string());
  }
  Process::Command command = sandbox.kind == SandboxKind::bubblewrap ? in_bubblewrap(what, sandbox)
                                                                     : by_process(what, sandbox);
  command.arguments.insert(command.arguments.end(), what.arguments.begin(), what.arguments.end());
  command.limits = what.limits;
  command.limits.resident = sandbox.memory;
  command.limits.tasks = sandbox.processes;
  if (sandbox.kind == SandboxKind::process && sandbox.scratch > 0) {
    for (const fs::path& path : {sandbox.folder, sandbox.copied}) {
      if (!path.empty()) command.limits.folders.push_back(path);
    }
    command.limits.disk = {sandbox::most_entries, sandbox.scratch + 2 * most_copied,
                           deepest_folder};
  }
  return command;
}

}  // namespace prenorm::harness
