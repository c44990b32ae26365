// The HDF5 child: the only program of ours that runs libhdf5, which damaged files crash and hang.
//
//     prenorm-hdf5 read FILE BYTES       sends the catalogue, then a dataset for each request
//     prenorm-hdf5 write FILE            receives a catalogue and its datasets, writes them
//     prenorm-hdf5 tolerances FILE       receives a catalogue, sets its attributes in the file
//     prenorm-hdf5 --version             prints libhdf5's version: for `prenorm doctor`
//
// It talks over descriptor 3. A reply is  refused:u8 size:u64 byte*, where a refusal's bytes are
// its message, "/cases/a: why". A request is  bytes:u64 length:u64 path. What is received is
// size:u64 frame (see catalogue.hpp), for `write` with every dataset's elements behind it, in its
// order.
#include "hdf5/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <unistd.h>

namespace prenorm::harness::hdf5 {

std::string last_error() {
  const auto keep_first = [](unsigned, const H5E_error2_t* error, void* text) {  // the innermost
    auto& kept = *static_cast<std::string*>(text);
    if (kept.empty() && error->desc != nullptr) kept = error->desc;
    return herr_t{0};
  };
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  // Of the system's own error, only that: time, file and addresses stand around it.
  constexpr std::string_view word = "error message = '";
  if (const std::size_t at = text.find(word); at != text.npos) {
    text.erase(0, at + word.size()).erase(std::min(text.find('\''), text.size()));
  }
  return text.empty() ? "" : " (HDF5: " + text + ")";
}

namespace {

constexpr int descriptor = 3;

/// The parent has gone: nothing is left to do.
struct ParentGone {};

void read_exactly(void* data, std::size_t bytes) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(descriptor, next, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw ParentGone();
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void write_exactly(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor, next, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw ParentGone();
    next += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

template <class Number>
Number read_number() {
  Number value;
  read_exactly(&value, sizeof value);
  return value;
}

void reply(std::uint8_t refused, const void* data, std::uint64_t bytes) {
  write_exactly(&refused, sizeof refused);
  write_exactly(&bytes, sizeof bytes);
  write_exactly(data, bytes);
}

/// Does the work and sends its bytes, or why it was refused. True: it was done.
template <class Work>
bool answer(Work work) {
  std::string why;
  try {
    const std::vector<std::byte> bytes = work();
    reply(0, bytes.data(), bytes.size());
    return true;
  } catch (const std::bad_alloc&) {
    why = "/: takes more memory than the limit allows";
  } catch (const std::length_error&) {
    why = "/: takes more memory than the limit allows";
  } catch (const std::exception& failure) {
    why = failure.what();
  }
  reply(1, why.data(), why.size());
  return false;
}

Node receive_catalogue() {
  std::vector<std::byte> frame(read_number<std::uint64_t>());
  read_exactly(frame.data(), frame.size());
  return decode(frame);
}

int read(const std::string& path, std::size_t most_bytes) {
  Handle file;
  const bool opened = answer([&] {
    file = open_file(path);
    return encode(catalogue(file.get(), most_bytes));
  });
  while (opened) {
    const auto bytes = read_number<std::uint64_t>();
    std::string name(read_number<std::uint64_t>(), '\0');
    read_exactly(name.data(), name.size());
    answer([&] { return read_dataset(file.get(), name, bytes); });
  }
  return opened ? 0 : 1;
}

/// The sizes in bytes of a catalogue's datasets, in its order.
void list_sizes(const Node& node, std::vector<std::size_t>& sizes) {
  if (!node.is_group) {
    sizes.push_back(static_cast<std::size_t>(element_count(node.shape)) * size_of(node.dtype));
  }
  for (const Node& child : node.children) list_sizes(child, sizes);
}

int write(const std::string& path) {
  const Node root = receive_catalogue();
  std::vector<std::size_t> sizes;
  list_sizes(root, sizes);
  std::size_t arrived = 0;
  const auto next = [&](std::vector<std::byte>& bytes) {
    bytes.resize(sizes.at(arrived++));
    read_exactly(bytes.data(), bytes.size());
  };
  const bool done = answer([&] {
    try {
      write_file(path, root, next);
    } catch (const std::exception&) {
      // The parent sends on until all is sent; only then does it listen.
      std::vector<std::byte> dropped;
      while (arrived < sizes.size()) next(dropped);
      throw;
    }
    return std::vector<std::byte>();
  });
  return done ? 0 : 1;
}

int tolerances(const std::string& path) {
  const Node root = receive_catalogue();
  const bool done = answer([&] {
    set_attributes(path, root);
    return std::vector<std::byte>();
  });
  return done ? 0 : 1;
}

int print_version() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return 1;
  std::printf("libhdf5 %u.%u.%u\n", major, minor, release);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int run(std::span<char*> words) {
  const std::string_view mode = words.size() > 1 ? words[1] : "";
  if (mode == "read" && words.size() == 4) {
    return read(words[2], std::strtoull(words[3], nullptr, 10));
  }
  if (mode == "write" && words.size() == 3) return write(words[2]);
  if (mode == "tolerances" && words.size() == 3) return tolerances(words[2]);
  if (mode == "--version") return print_version();
  std::fputs("prenorm-hdf5 is a helper of prenorm, which starts it\n", stderr);
  return 2;
}

}  // namespace
}  // namespace prenorm::harness::hdf5

int main(int count, char** words) {
  // A file system without locks is no reason to fail; filters from outside are never loaded.
  ::setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
  H5PLset_loading_state(0);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  int result = 0;
  try {
    result = prenorm::harness::hdf5::run({words, static_cast<std::size_t>(count)});
  } catch (const prenorm::harness::hdf5::ParentGone&) {
  } catch (const std::exception& error) {
    std::fprintf(stderr, "prenorm-hdf5: %s\n", error.what());
    result = 3;
  }
  // Closing what a damaged file left open may crash libhdf5 once more; all is written by now.
  ::_exit(result);
}
