#include "fixture_child.hpp"

#include "printable.hpp"
#include "sandbox.hpp"
#include "solution.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// What the child takes beside the tensors: libraries, libhdf5's caches.
constexpr std::size_t child_overhead = 512u << 20;
constexpr std::size_t most_message_bytes = 64u << 10;
/// For writing a file, however large.
constexpr double seconds_to_write = 600;

std::size_t child_address_space(std::size_t tensors) {
  return tensors > SIZE_MAX - child_overhead ? 0 : tensors + child_overhead;
}

fs::path child_program() { return home() / "libexec" / "prenorm" / "prenorm-hdf5"; }

/// Throws unless the path is a file that can be read, in words better than libhdf5's.
void check_readable(const fs::path& path) {
  const auto fail = [&](const std::string& why) { throw BadFixture(path.string() + ": " + why); };
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) fail(std::generic_category().message(errno));
  if (S_ISDIR(info.st_mode)) fail("is a folder, wanted a file");
  if (!S_ISREG(info.st_mode)) fail("is not a regular file");
  if (info.st_size == 0) fail("the file is empty");
  if (::access(path.c_str(), R_OK) != 0) fail(std::generic_category().message(errno));
}

/// The child that reads a file.
Process::Command reader(const fs::path& path, const ReadLimits& limits) {
  Process::Command command;
  command.program = child_program();
  command.arguments = {"read", path.string(), std::to_string(limits.bytes)};
  if (limits.sandbox != nullptr) {
    Sandbox sandbox = *limits.sandbox;
    command.program = fs::canonical(command.program);
    sandbox.readable.push_back(command.program);
    command = confined(command, sandbox);
  }
  command.limits.address_space = child_address_space(limits.bytes);
  return command;
}

struct ReplyHead {
  bool refused = false;
  std::uint64_t bytes = 0;
};

ReplyHead receive_head(Process& process, Process::Deadline deadline) {
  std::uint8_t refused = 0;
  ReplyHead head;
  process.receive(&refused, sizeof refused, deadline);
  process.receive(&head.bytes, sizeof head.bytes, deadline);
  head.refused = refused != 0;
  return head;
}

/// The message of a refusal, on one line.
std::string receive_refusal(Process& process, const ReplyHead& head, Process::Deadline deadline) {
  if (head.bytes > most_message_bytes) return "the HDF5 reader sent garbage";
  std::string why(head.bytes, '\0');
  process.receive(why.data(), why.size(), deadline);
  return printable(why);
}

void send_frame(Process& process, const Node& root, Process::Deadline deadline) {
  const std::vector<std::byte> frame = encode(root);
  if (frame.size() > most_catalogue_bytes) throw std::runtime_error("too many objects for a file");
  const std::uint64_t bytes = frame.size();
  process.send(&bytes, sizeof bytes, -1, deadline);
  process.send(frame.data(), frame.size(), -1, deadline);
}

/// A file beside `target` that takes its place when it is complete, or vanishes.
class Replacement {
 public:
  explicit Replacement(fs::path target) : target_(std::move(target)) {
    static std::atomic<unsigned> counter = 0;
    path_ = target_;
    path_ += ".part-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    // Made here: it gets the permissions that a new file has for this user.
    const int made = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (made < 0) throw std::system_error(errno, std::generic_category(), path_.string());
    ::close(made);
  }
  ~Replacement() {
    std::error_code ignored;
    if (!done_) fs::remove(path_, ignored);
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  const fs::path& path() const { return path_; }

  void take_place() {
    const int written = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool stored = written >= 0 && ::fsync(written) == 0;
    if (written >= 0) ::close(written);
    if (!stored) throw std::system_error(errno, std::generic_category(), path_.string());
    fs::rename(path_, target_);
    done_ = true;
  }

 private:
  fs::path target_, path_;
  bool done_ = false;
};

/// Talks to a writing child until it says that all is done.
template <class Talk>
void run_writer(const std::string& mode, const fs::path& file, const fs::path& shown, Talk talk) {
  const Process::Deadline deadline = deadline_in(seconds_to_write);
  try {
    Process process(child_program(), {mode, file.string()}, {});
    talk(process, deadline);
    const ReplyHead head = receive_head(process, deadline);
    if (head.refused) throw std::runtime_error(receive_refusal(process, head, deadline));
  } catch (const ProcessEnded& ended) {
    throw std::runtime_error(shown.string() + ": the HDF5 writer ended: " + ended.what());
  } catch (const std::exception& error) {
    throw std::runtime_error(shown.string() + ": cannot be written: " + error.what());
  }
}

}  // namespace

FileReader::FileReader(const fs::path& path, const ReadLimits& limits)
    : path_(path), limits_(limits) {
  check_readable(path);
  try {
    process_ = std::make_unique<Process>(reader(path, limits));
  } catch (const std::exception& error) {
    fail(error.what());
  }
  const std::vector<std::byte> frame = receive_reply(most_catalogue_bytes, "");
  try {
    catalogue_ = decode(frame);
  } catch (const CatalogueError& error) {
    fail("the HDF5 reader sent garbage: " + std::string(error.what()));
  }
}

void FileReader::fail(const std::string& why) const {
  throw BadFixture(path_.string() + ": " + why);
}

std::vector<std::byte> FileReader::receive_reply(std::size_t most, const std::string& object) {
  const std::string where = object.empty() ? "" : printable(object) + ": ";
  const Process::Deadline deadline = deadline_in(limits_.seconds);
  try {
    const ReplyHead head = receive_head(*process_, deadline);
    if (head.refused) {
      const std::string why = receive_refusal(*process_, head, deadline);
      fail(why);
    }
    if (head.bytes > most) {
      given_up_ = where + "the HDF5 reader sent garbage";
    } else {
      std::vector<std::byte> bytes(head.bytes);
      process_->receive(bytes.data(), bytes.size(), deadline);
      return bytes;
    }
  } catch (const ProcessTimeout&) {
    given_up_ = where + "the HDF5 reader gave no answer within " + seconds_text(limits_.seconds);
  } catch (const ProcessOverLimit& over) {
    given_up_ = where + "the HDF5 reader " + over.what();
  } catch (const ProcessEnded& ended) {
    given_up_ = where + "the HDF5 reader ended: " + printable(ended.what());
  } catch (const std::bad_alloc&) {
    given_up_ = where + "takes more memory than there is";
  }
  process_.reset();
  fail(given_up_);
}

Tensor FileReader::read(const std::string& object, DType dtype, const Shape& shape) {
  const std::lock_guard lock(mutex_);
  if (!given_up_.empty()) fail(given_up_);
  const std::optional<std::size_t> bytes = checked_bytes(dtype, shape, limits_.bytes);
  if (!bytes) fail(printable(object) + ": is beyond the memory limit");
  const std::uint64_t request[] = {*bytes, object.size()};
  try {
    process_->send(request, sizeof request);
    process_->send(object.data(), object.size());
  } catch (const ProcessEnded&) {
    // The wait for the reply says it again, with the object.
  }
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.data = receive_reply(*bytes, object);
  if (tensor.data.size() != *bytes) {
    process_.reset();
    given_up_ = printable(object) + ": the HDF5 reader sent garbage";
    fail(given_up_);
  }
  return tensor;
}

void write_file(const fs::path& path, const Node& root, std::span<const Tensor* const> datasets) {
  Replacement replacement(path);
  run_writer("write", replacement.path(), path, [&](Process& process, Process::Deadline deadline) {
    send_frame(process, root, deadline);
    for (const Tensor* tensor : datasets) {
      process.send(tensor->data.data(), tensor->data.size(), -1, deadline);
    }
  });
  replacement.take_place();
}

void change_attributes(const fs::path& path, const Node& root) {
  check_readable(path);
  const fs::path target = fs::canonical(path);  // a link to the file stays a link
  Replacement replacement(target);
  fs::copy_file(target, replacement.path(), fs::copy_options::overwrite_existing);
  fs::permissions(replacement.path(), fs::status(target).permissions());
  run_writer(
      "tolerances", replacement.path(), path,
      [&](Process& process, Process::Deadline deadline) { send_frame(process, root, deadline); });
  replacement.take_place();
}

}  // namespace prenorm::harness
