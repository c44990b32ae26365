// What the HDF5 child does with files: catalogue them, read a dataset, write.
#pragma once

#include "fixture/catalogue.hpp"
#include "hdf5/handle.hpp"

#include <functional>

namespace prenorm::harness::hdf5 {

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
