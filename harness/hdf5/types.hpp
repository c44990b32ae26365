// Element types as HDF5 spells them.
#pragma once

#include "fixture/dtype.hpp"
#include "hdf5/handle.hpp"

namespace prenorm::harness::hdf5 {

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

}  // namespace prenorm::harness::hdf5
