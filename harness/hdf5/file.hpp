// What the HDF5 child does with files: handles that close themselves (here), element types,
// attributes, and reading and writing whole files, each in a source of its own.
#pragma once

#include "fixture/catalogue.hpp"
#include "fixture/tensor.hpp"

#include <functional>
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

struct ElementType {
  DType dtype = DType::float64;
  bool swapped = false;  // of the other byte order than the machine's
};

/// The element type that a dataset's HDF5 type stands for, recognized by its fields. Throws a
/// Failure that says what it is instead.
ElementType recognize(hid_t type, const std::string& object);

/// True for HDF5's enumeration FALSE, TRUE over 8 bits, as h5py writes a bool.
bool is_bool_enum(hid_t type);

/// "int32", "an opaque type of 2 bytes", "an object reference".
std::string describe(hid_t type);

/// The type to write: IEEE floats and bfloat16 of little end, int64, the enumeration FALSE, TRUE.
Handle type_to_write(DType dtype);

/// All attributes of an open object. One of a type or shape that no attribute of ours has comes
/// back as Unusable: whether that matters is for its reader to say. A reference is refused.
std::vector<Attribute> read_attributes(hid_t object, const std::string& path);

/// Writes an attribute as h5py does: a scalar; text of variable length, in UTF-8. Replaces an old
/// one of that name.
void write_attribute(hid_t object, const Attribute& attribute, const std::string& path);

/// Opens a file for reading; throws a Failure.
Handle open_file(const std::string& path);

/// Walks the file along hard links, and refuses every other link, a link back to a group above,
/// external storage, virtual datasets, filters but deflate, shuffle and fletcher32, unknown element
/// types, and chunks of more than `most_bytes`. Reads no dataset.
Node catalogue(hid_t file, std::size_t most_bytes);

/// The elements of a dataset, row-major, little end; their bytes are exactly `bytes`.
std::vector<std::byte> read_dataset(hid_t file, const std::string& path, std::size_t bytes);

/// Puts the next dataset's bytes into its argument.
using Source = std::function<void(std::vector<std::byte>&)>;

/// Writes a new file of that catalogue; the datasets' bytes come in its order.
void write_file(const std::string& path, const Node& root, const Source& next);

/// Sets the attributes that the catalogue names on objects that the file has.
void set_attributes(const std::string& path, const Node& root);

}  // namespace prenorm::harness::hdf5
