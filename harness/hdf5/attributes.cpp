#include "hdf5/file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace prenorm::harness::hdf5 {
namespace {

/// Longer texts, and lists of more texts, are none of ours.
constexpr std::size_t most_text_bytes = 1u << 20;
constexpr hssize_t most_texts = 4096;

using Value = decltype(Attribute::value);

Value read_integer(hid_t attribute, hid_t type, const std::string& path) {
  if (H5Tget_size(type) > 8) return Unusable{"an integer of more than 64 bits"};
  if (H5Tget_sign(type) == H5T_SGN_NONE) {
    std::uint64_t value = 0;
    check(H5Aread(attribute, H5T_NATIVE_UINT64, &value), path, "cannot be read");
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(value);
    }
    return Unusable{"an integer beyond int64"};
  }
  std::int64_t value = 0;
  check(H5Aread(attribute, H5T_NATIVE_INT64, &value), path, "cannot be read");
  return value;
}

Value read_float(hid_t attribute, hid_t type, const std::string& path) {
  if (H5Tget_size(type) > sizeof(long double)) return Unusable{"a float of more than 128 bits"};
  long double value = 0;
  check(H5Aread(attribute, H5T_NATIVE_LDOUBLE, &value), path, "cannot be read");
  const auto narrow = static_cast<double>(value);
  if (std::isnan(value) || static_cast<long double>(narrow) == value) return narrow;
  return Unusable{"a float that float64 cannot hold exactly"};
}

Value read_bool(hid_t attribute, hid_t type, const std::string& path) {
  signed char value = 0;
  check(H5Aread(attribute, type, &value), path, "cannot be read");
  if (value == 0 || value == 1) return value == 1;
  return Unusable{"a bool that is neither FALSE nor TRUE"};
}

/// One text of fixed length, without what fills it up.
std::string trimmed(const char* begin, std::size_t size, H5T_str_t padding) {
  std::string text(begin, size);
  if (padding == H5T_STR_NULLTERM) {
    text.resize(std::min(text.find('\0'), text.size()));
  } else {
    const char filler = padding == H5T_STR_SPACEPAD ? ' ' : '\0';
    while (!text.empty() && text.back() == filler) text.pop_back();
  }
  return text;
}

Value read_fixed_texts(hid_t attribute, hid_t type, std::size_t count, const std::string& path) {
  const std::size_t size = H5Tget_size(type);
  if (size > most_text_bytes / count) return Unusable{"a text of more than a million bytes"};
  std::vector<char> bytes(size * count);
  check(H5Aread(attribute, type, bytes.data()), path, "cannot be read");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    texts.push_back(trimmed(bytes.data() + i * size, size, H5Tget_strpad(type)));
  }
  return texts;
}

Value read_variable_texts(hid_t attribute, hid_t type, std::size_t count, const std::string& path) {
  std::vector<char*> pointers(count, nullptr);
  check(H5Aread(attribute, type, pointers.data()), path, "cannot be read");
  std::vector<std::string> texts;
  std::size_t total = 0;
  for (char* pointer : pointers) {
    const std::size_t size = pointer == nullptr ? 0 : std::strlen(pointer);
    total += size;
    if (total <= most_text_bytes) texts.emplace_back(pointer == nullptr ? "" : pointer, size);
    H5free_memory(pointer);
  }
  if (total > most_text_bytes) return Unusable{"a text of more than a million bytes"};
  return texts;
}

Value read_value(hid_t attribute, const std::string& path) {
  const Handle type = own(H5Aget_type(attribute), H5Tclose, path, "has no readable type");
  const Handle space = own(H5Aget_space(attribute), H5Sclose, path, "has no readable shape");
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (check(H5Tdetect_class(type.get(), H5T_REFERENCE), path, "has no readable type") > 0) {
    throw Failure(path, "is a reference; references are refused");
  }
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind == H5T_STRING) {
    if (count < 1 || count > most_texts) return Unusable{"a list of texts, empty or too long"};
    const auto texts = static_cast<std::size_t>(count);
    return check(H5Tis_variable_str(type.get()), path, "has no readable type") > 0
               ? read_variable_texts(attribute, type.get(), texts, path)
               : read_fixed_texts(attribute, type.get(), texts, path);
  }
  if (count != 1) return Unusable{"an array of " + std::to_string(count) + " elements"};
  if (kind == H5T_INTEGER) return read_integer(attribute, type.get(), path);
  if (kind == H5T_FLOAT) return read_float(attribute, type.get(), path);
  if (is_bool_enum(type.get())) return read_bool(attribute, type.get(), path);
  return Unusable{describe(type.get())};
}

/// Collects names; C code calls it, so nothing may be thrown out of it.
herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  } catch (...) {
    return -1;
  }
}

void write_value(hid_t object, const std::string& name, hid_t type, const void* value,
                 const std::string& path) {
  const Handle space = own(H5Screate(H5S_SCALAR), H5Sclose, path, "no memory");
  const Handle attribute =
      own(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
          path, "cannot be made");
  check(H5Awrite(attribute.get(), type, value), path, "cannot be written");
}

}  // namespace

std::vector<Attribute> read_attributes(hid_t object, const std::string& path) {
  std::vector<std::string> names;
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names), path,
        "its attributes cannot be listed");
  std::vector<Attribute> attributes;
  for (const std::string& name : names) {
    const std::string where = path + ": attribute " + name;
    const Handle attribute =
        own(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, where, "cannot be opened");
    attributes.push_back({name, read_value(attribute.get(), where)});
  }
  return attributes;
}

void write_attribute(hid_t object, const Attribute& attribute, const std::string& path) {
  const std::string& name = attribute.name;
  const std::string where = path + ": attribute " + name;
  if (check(H5Aexists(object, name.c_str()), where, "cannot be looked up") > 0) {
    check(H5Adelete(object, name.c_str()), where, "cannot be replaced");
  }
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    write_value(object, name, H5T_STD_I64LE, integer, where);
  } else if (const auto* floating = std::get_if<double>(&attribute.value)) {
    write_value(object, name, H5T_IEEE_F64LE, floating, where);
  } else if (const auto* boolean = std::get_if<bool>(&attribute.value)) {
    const signed char value = *boolean ? 1 : 0;
    write_value(object, name, type_to_write(DType::boolean).get(), &value, where);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value);
             texts != nullptr && texts->size() == 1) {
    const Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose, where, "no memory");
    check(H5Tset_size(type.get(), H5T_VARIABLE), where, "no memory");
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8), where, "no memory");
    const char* text = texts->front().c_str();
    write_value(object, name, type.get(), &text, where);
  } else {
    throw Failure(where, "is of a kind that is never written");
  }
}

}  // namespace prenorm::harness::hdf5
