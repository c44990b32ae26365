// The writing half of the HDF5 child. The same content gives the same bytes: no times are stored.
#include "hdf5/file.hpp"

#include <algorithm>

namespace prenorm::harness::hdf5 {
namespace {

/// Smaller datasets are stored as they are: a chunk's index would take more than deflate saves.
constexpr std::size_t least_compressed_bytes = 1024;
constexpr std::size_t most_chunk_bytes = 1u << 20;
constexpr unsigned deflate_level = 6;

/// A chunk of the whole shape, the first axes halved until it is small enough.
std::vector<hsize_t> chunk_shape(const Shape& shape, std::size_t element_bytes) {
  std::vector<hsize_t> chunk(shape.begin(), shape.end());
  const auto bytes = [&] {
    std::size_t product = element_bytes;
    for (const hsize_t extent : chunk) product *= extent;
    return product;
  };
  for (hsize_t& extent : chunk) {
    while (extent > 1 && bytes() > most_chunk_bytes) extent = (extent + 1) / 2;
  }
  return chunk;
}

Handle creation_list(const Node& node, std::size_t bytes, const std::string& path) {
  Handle list = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path, "no memory");
  check(H5Pset_obj_track_times(list.get(), false), path, "no memory");
  if (bytes >= least_compressed_bytes && !node.shape.empty()) {
    const std::vector<hsize_t> chunk = chunk_shape(node.shape, size_of(node.dtype));
    check(H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()), path,
          "cannot be chunked");
    check(H5Pset_shuffle(list.get()), path, "cannot be shuffled");
    check(H5Pset_deflate(list.get(), deflate_level), path, "cannot be deflated");
  }
  return list;
}

Handle dataspace(const Shape& shape, const std::string& path) {
  if (shape.empty()) return own(H5Screate(H5S_SCALAR), H5Sclose, path, "no memory");
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return own(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
             path, "has a shape that HDF5 does not take");
}

void write_attributes(hid_t object, const Node& node, const std::string& path) {
  for (const Attribute& attribute : node.attributes) write_attribute(object, attribute, path);
}

void write_dataset(hid_t parent, const Node& node, const std::string& path, const Source& next) {
  std::vector<std::byte> elements;
  next(elements);
  const Handle type = type_to_write(node.dtype);
  const Handle space = dataspace(node.shape, path);
  const Handle list = creation_list(node, elements.size(), path);
  Handle dataset = own(H5Dcreate2(parent, node.name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                  list.get(), H5P_DEFAULT),
                       H5Dclose, path, "cannot be made");
  if (!elements.empty()) {
    check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()), path,
          "cannot be written");
  }
  write_attributes(dataset.get(), node, path);
  dataset.close(path);
}

void write_group(hid_t id, const Node& node, const std::string& path, const Source& next) {
  write_attributes(id, node, path);
  for (const Node& child : node.children) {
    const std::string member = (path == "/" ? "" : path) + "/" + child.name;
    if (!child.is_group) {
      write_dataset(id, child, member, next);
      continue;
    }
    const Handle list = own(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, member, "no memory");
    check(H5Pset_obj_track_times(list.get(), false), member, "no memory");
    const Handle group =
        own(H5Gcreate2(id, child.name.c_str(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Gclose,
            member, "cannot be made");
    write_group(group.get(), child, member, next);
  }
}

/// Sets what differs: an attribute that holds the value already stays as it is stored. A tolerance
/// that says no more of an output's elements together takes that away.
void update(hid_t id, const Node& node, const std::string& path) {
  const std::vector<Attribute> old = read_attributes(id, path);
  for (const Attribute& attribute : node.attributes) {
    if (std::ranges::find(old, attribute) == old.end()) write_attribute(id, attribute, path);
  }
  const auto has = [](const std::vector<Attribute>& attributes, const char* name) {
    return std::ranges::find(attributes, name, &Attribute::name) != attributes.end();
  };
  for (const char* name : {"rms", "bias"}) {
    if (has(node.attributes, "atol") && has(old, name) && !has(node.attributes, name)) {
      check(H5Adelete(id, name), path, "an attribute cannot be removed");
    }
  }
  for (const Node& child : node.children) {
    const std::string member = (path == "/" ? "" : path) + "/" + child.name;
    const Handle object =
        own(H5Oopen(id, child.name.c_str(), H5P_DEFAULT), H5Oclose, member, "cannot be opened");
    update(object.get(), child, member);
  }
}

}  // namespace

void write_file(const std::string& path, const Node& root, const Source& next) {
  Handle file = own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "/",
                    "the file cannot be made");
  {
    const Handle group =
        own(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose, "/", "cannot be opened");
    write_group(group.get(), root, "/", next);
  }
  file.close("/");
}

void set_attributes(const std::string& path, const Node& root) {
  Handle file = own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "/",
                    "the file cannot be opened for writing");
  {
    const Handle group =
        own(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose, "/", "cannot be opened");
    update(group.get(), root, "/");
  }
  file.close("/");
}

}  // namespace prenorm::harness::hdf5
