// Attributes of an HDF5 object, read and written.
#pragma once

#include "fixture/catalogue.hpp"
#include "hdf5/handle.hpp"

namespace prenorm::harness::hdf5 {

/// All attributes of an open object. One of a type or shape that no attribute of ours has comes
/// back as Unusable: whether that matters is for its reader to say. A reference is refused.
std::vector<Attribute> read_attributes(hid_t object, const std::string& path);

/// Writes an attribute as h5py does: a scalar; text of variable length, in UTF-8. Replaces an old
/// one of that name.
void write_attribute(hid_t object, const Attribute& attribute, const std::string& path);

}  // namespace prenorm::harness::hdf5
