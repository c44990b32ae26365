// A descriptor that closes itself. Only a header: programs that link no floor use it, too.
#pragma once

#include <unistd.h>
#include <utility>

namespace prenorm::harness {

/// An open file, folder or socket, closed with the object.
class OpenFile {
 public:
  explicit OpenFile(long number = -1) : number_(static_cast<int>(number)) {}
  ~OpenFile() { close(); }
  OpenFile(OpenFile&& other) noexcept : number_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (is_open()) ::close(release());
  }

 private:
  int number_;
};

}  // namespace prenorm::harness
