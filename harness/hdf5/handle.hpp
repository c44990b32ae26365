// Handles of libhdf5 that close themselves, and its errors as exceptions.
#pragma once

#include <hdf5.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace prenorm::harness::hdf5 {

/// Something in the file is refused, or libhdf5 could not do it: "/cases/a: why".
struct Failure : std::runtime_error {
  Failure(const std::string& object, const std::string& why)
      : std::runtime_error(object + ": " + why) {}
};

/// What libhdf5 says of its last error, in brackets; empty where it says nothing.
std::string last_error();

/// Throws a Failure with libhdf5's words unless `result` says success.
template <class Result>
Result check(Result result, const std::string& object, const char* why) {
  if (result < 0) throw Failure(object, why + last_error());
  return result;
}

/// An open object of libhdf5.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  hid_t get() const { return id_; }

  /// Closes now, so that an error of writing is seen.
  void close(const std::string& object) {
    check(close_(std::exchange(id_, H5I_INVALID_HID)), object, "cannot be closed");
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// A handle of what libhdf5 just returned; throws where that is an error.
inline Handle own(hid_t id, Handle::Close close, const std::string& object, const char* why) {
  return {check(id, object, why), close};
}

}  // namespace prenorm::harness::hdf5
