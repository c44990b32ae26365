// The reading half of the HDF5 child: the walk through a file, and a dataset's elements.
#include "hdf5/file.hpp"

#include <algorithm>
#include <cstring>

namespace prenorm::harness::hdf5 {
namespace {

/// A dataset's chunks may be larger than the dataset as far as this: files for many small tensors
/// have such.
constexpr std::size_t usual_chunk_bytes = 1u << 20;

/// More objects than this in one file are an attack or an accident.
constexpr std::size_t most_objects = 200'000;

struct Link {
  std::string name;
  H5L_type_t type;
};

struct LinkList {
  std::vector<Link> links;
  bool too_many = false;
};

/// Collects links; C code calls it, so nothing may be thrown out of it.
herr_t collect_link(hid_t, const char* name, const H5L_info_t* info, void* list) {
  auto& collected = *static_cast<LinkList*>(list);
  collected.too_many = collected.links.size() >= most_objects;
  if (collected.too_many) return -1;
  try {
    collected.links.push_back({name, info->type});
    return 0;
  } catch (...) {
    return -1;
  }
}

/// "a soft link".
const char* link_word(H5L_type_t type) {
  switch (type) {
    case H5L_TYPE_SOFT: return "a soft link";
    case H5L_TYPE_EXTERNAL: return "an external link";
    default: return "a user-defined link";
  }
}

/// What the elements of a dataset occupy; SIZE_MAX where that is no number.
std::size_t dataset_bytes(hid_t id, const std::string& path) {
  const Handle type = own(H5Dget_type(id), H5Tclose, path, "has no readable element type");
  const Handle space = own(H5Dget_space(id), H5Sclose, path, "has no readable shape");
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  std::size_t bytes = 0;
  const bool too_many = count < 0 || __builtin_mul_overflow(static_cast<std::size_t>(count),
                                                            H5Tget_size(type.get()), &bytes);
  return too_many ? SIZE_MAX : bytes;
}

/// Throws where a dataset occupies nothing in the file, and no fill value says what is meant; and
/// where its chunks occupy more than deflating could make of them: they would inflate to more than
/// what they stand for. `bytes`: of its elements, not 0.
void check_stored_size(hid_t id, std::size_t bytes, const std::string& path) {
  const Handle list = own(H5Dget_create_plist(id), H5Pclose, path, "has no readable storage");
  H5D_fill_value_t fill{};
  check(H5Pfill_value_defined(list.get(), &fill), path, "has no readable fill value");
  if (H5Dget_storage_size(id) == 0 && fill != H5D_FILL_VALUE_USER_DEFINED) {
    throw Failure(path, "was never written, wanted values");
  }
  if (H5Pget_layout(list.get()) != H5D_CHUNKED) return;
  // Chunks at the edges are stored as whole ones.
  constexpr std::size_t most_times = 16;
  const std::size_t most = most_times * bytes + usual_chunk_bytes;
  if (H5Dget_storage_size(id) > most) throw Failure(path, "occupies more than it can hold");
}

class Walk {
 public:
  explicit Walk(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  Node group(hid_t id, const std::string& name, const std::string& path) {
    enter(id, path);
    Node node;
    node.name = name;
    node.attributes = read_attributes(id, path);
    LinkList list;
    const herr_t done = H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_link, &list);
    if (list.too_many) throw Failure(path, "holds too many objects");
    check(done, path, "its members cannot be listed");
    for (const Link& link : list.links) {
      const std::string member = (path == "/" ? "" : path) + "/" + link.name;
      if (link.type != H5L_TYPE_HARD) {
        throw Failure(member, std::string("is ") + link_word(link.type) +
                                  "; fixture files may hold hard links only");
      }
      node.children.push_back(object(id, link.name, member));
    }
    above_.pop_back();
    return node;
  }

 private:
  /// Remembers the group while it is walked, and refuses one that is being walked already.
  void enter(hid_t id, const std::string& path) {
    H5O_info_t info;
    check(H5Oget_info2(id, &info, H5O_INFO_BASIC), path, "cannot be looked at");
    if (std::ranges::find(above_, info.addr) != above_.end()) {
      throw Failure(path, "is a link back to a group that holds it");
    }
    if (above_.size() >= static_cast<std::size_t>(most_depth)) {
      throw Failure(path, "lies deeper than a fixture file goes");
    }
    above_.push_back(info.addr);
  }

  Node object(hid_t parent, const std::string& name, const std::string& path) {
    if (++objects_ > most_objects) throw Failure(path, "the file holds too many objects");
    const Handle id =
        own(H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose, path, "cannot be opened");
    switch (H5Iget_type(id.get())) {
      case H5I_GROUP: return group(id.get(), name, path);
      case H5I_DATASET: return dataset(id.get(), name, path);
      default: throw Failure(path, "is neither a group nor a dataset");
    }
  }

  Node dataset(hid_t id, const std::string& name, const std::string& path) {
    Node node;
    node.is_group = false;
    node.name = name;
    check_storage(id, path);
    const Handle type = own(H5Dget_type(id), H5Tclose, path, "has no readable element type");
    node.dtype = recognize(type.get(), path).dtype;
    node.shape = shape(id, path);
    node.attributes = read_attributes(id, path);
    return node;
  }

  static Shape shape(hid_t id, const std::string& path) {
    const Handle space = own(H5Dget_space(id), H5Sclose, path, "has no readable shape");
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
      throw Failure(path, "has a null dataspace, wanted a scalar or a simple one");
    }
    hsize_t extents[most_axes];
    const int rank = H5Sget_simple_extent_ndims(space.get());
    check(rank, path, "has no readable shape");
    check(H5Sget_simple_extent_dims(space.get(), extents, nullptr), path, "has no readable shape");
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) {
      if (extents[axis] > static_cast<hsize_t>(INT64_MAX)) {
        throw Failure(path, "claims an axis of " + std::to_string(extents[axis]) + " elements");
      }
      shape.push_back(static_cast<std::int64_t>(extents[axis]));
    }
    return shape;
  }

  void check_storage(hid_t id, const std::string& path) const {
    const Handle list =
        own(H5Dget_create_plist(id), H5Pclose, path, "has no readable storage description");
    switch (check(H5Pget_layout(list.get()), path, "has no readable layout")) {
      case H5D_CHUNKED: check_chunks(id, list.get(), path); break;
      case H5D_CONTIGUOUS:
        if (H5Pget_external_count(list.get()) != 0) {
          throw Failure(path, "is stored in an external file; that is refused");
        }
        break;
      case H5D_COMPACT: break;
      case H5D_VIRTUAL: throw Failure(path, "is a virtual dataset; that is refused");
      default: throw Failure(path, "has an unknown layout");
    }
    check_filters(list.get(), path);
  }

  void check_chunks(hid_t id, hid_t list, const std::string& path) const {
    hsize_t extents[most_axes];
    const int rank =
        check(H5Pget_chunk(list, most_axes, extents), path, "has no readable chunk shape");
    const Handle type = own(H5Dget_type(id), H5Tclose, path, "has no readable element type");
    std::size_t bytes = H5Tget_size(type.get());
    for (int axis = 0; axis < rank; ++axis) {
      if (__builtin_mul_overflow(bytes, extents[axis], &bytes) || bytes > most_bytes_) {
        throw Failure(path, "has chunks beyond the memory limit of " + std::to_string(most_bytes_) +
                                " bytes");
      }
    }
    const std::size_t own = std::max(dataset_bytes(id, path), usual_chunk_bytes);
    if (bytes > own) {
      throw Failure(path, "has chunks of " + std::to_string(bytes) + " bytes, more than the " +
                              "dataset itself");
    }
  }

  static void check_filters(hid_t list, const std::string& path) {
    const int count = check(H5Pget_nfilters(list), path, "has no readable filters");
    int deflated = 0;
    for (int i = 0; i < count; ++i) {
      unsigned flags = 0;
      std::size_t values = 0;
      char name[64] = "";
      const H5Z_filter_t filter = H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &values,
                                                 nullptr, sizeof name, name, nullptr);
      check(filter, path, "has no readable filters");
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
          filter != H5Z_FILTER_FLETCHER32) {
        throw Failure(path, "has the filter " + std::to_string(filter) + " (" +
                                std::string(name, strnlen(name, sizeof name)) +
                                "), wanted deflate, shuffle or fletcher32");
      }
      if (filter == H5Z_FILTER_DEFLATE && ++deflated > 1) {
        throw Failure(path, "is compressed more than once");
      }
    }
  }

  std::size_t most_bytes_;
  std::size_t objects_ = 0;
  std::vector<haddr_t> above_;  // of the groups from the root to where the walk is
};

/// Turns every element's bytes round.
void swap_elements(std::vector<std::byte>& bytes, std::size_t size) {
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
}

}  // namespace

Handle open_file(const std::string& path) {
  const htri_t is_hdf5 = H5Fis_hdf5(path.c_str());
  if (is_hdf5 == 0) throw Failure("/", "the file is not HDF5");
  check(is_hdf5, "/", "the file cannot be read");
  return own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "/",
             "the file cannot be opened");
}

Node catalogue(hid_t file, std::size_t most_bytes) {
  const Handle root = own(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "/", "cannot be opened");
  return Walk(most_bytes).group(root.get(), "", "/");
}

std::vector<std::byte> read_dataset(hid_t file, const std::string& path, std::size_t bytes) {
  const Handle id =
      own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, path, "cannot be opened");
  const Handle type = own(H5Dget_type(id.get()), H5Tclose, path, "has no readable element type");
  const Handle space = own(H5Dget_space(id.get()), H5Sclose, path, "has no readable shape");
  const ElementType element = recognize(type.get(), path);
  const hssize_t count = check(H5Sget_simple_extent_npoints(space.get()), path, "has no size");
  if (static_cast<std::size_t>(count) != bytes / size_of(element.dtype)) {
    throw Failure(path, "has another size than when the file was opened");
  }
  std::vector<std::byte> elements(bytes);
  if (bytes == 0) return elements;
  check_stored_size(id.get(), bytes, path);
  // Read in the file's own type, so that libhdf5 converts nothing.
  check(H5Dread(id.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()), path,
        "cannot be read");
  if (element.swapped) swap_elements(elements, size_of(element.dtype));
  return elements;
}

}  // namespace prenorm::harness::hdf5
