#include "hdf5/file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace prenorm::harness::hdf5 {
namespace {

struct FloatFields {
  DType dtype;
  std::size_t bytes, exponent_bits, mantissa_bits, bias;
};

constexpr std::array<FloatFields, 4> floats{{
    {DType::float64, 8, 11, 52, 1023},
    {DType::float32, 4, 8, 23, 127},
    {DType::float16, 2, 5, 10, 15},
    {DType::bfloat16, 2, 8, 7, 127},
}};

static_assert(std::endian::native == std::endian::little);

bool is_swapped(hid_t type) { return H5Tget_order(type) == H5T_ORDER_BE; }

bool fills_its_bytes(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return H5Tget_offset(type) == 0 && H5Tget_precision(type) == 8 * H5Tget_size(type) &&
         (order == H5T_ORDER_LE || order == H5T_ORDER_BE || H5Tget_size(type) == 1);
}

bool has_fields(hid_t type, const FloatFields& wanted) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0) {
    return false;
  }
  return H5Tget_size(type) == wanted.bytes && fills_its_bytes(type) && mantissa == 0 &&
         mantissa_bits == wanted.mantissa_bits && exponent == wanted.mantissa_bits &&
         exponent_bits == wanted.exponent_bits && sign == 8 * wanted.bytes - 1 &&
         H5Tget_ebias(type) == wanted.bias && H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

bool is_integer(hid_t type, std::size_t bytes, H5T_sign_t sign) {
  return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == bytes &&
         H5Tget_sign(type) == sign && fills_its_bytes(type);
}

bool member_is(hid_t type, unsigned index, const char* name, signed char value) {
  char* found = H5Tget_member_name(type, index);
  const bool same_name = found != nullptr && std::string(found) == name;
  H5free_memory(found);
  signed char stored = -1;
  return same_name && H5Tget_member_value(type, index, &stored) >= 0 && stored == value;
}

std::string number_text(hid_t type, const char* word) {
  const std::size_t bits = 8 * H5Tget_size(type);
  return word + std::to_string(bits) + (fills_its_bytes(type) ? "" : " of unusual layout");
}

}  // namespace

bool is_bool_enum(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1) return false;
  return H5Tget_nmembers(type) == 2 && member_is(type, 0, "FALSE", 0) &&
         member_is(type, 1, "TRUE", 1);
}

std::string describe(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return number_text(type, H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int");
    case H5T_FLOAT: {
      for (const FloatFields& fields : floats) {
        if (has_fields(type, fields)) return std::string(name(fields.dtype));
      }
      return "a floating type of " + std::to_string(bytes) + " bytes that is none of IEEE's";
    }
    case H5T_STRING: return "text";
    case H5T_OPAQUE: return "an opaque type of " + std::to_string(bytes) + " bytes";
    case H5T_COMPOUND: return "a compound type";
    case H5T_REFERENCE: return "a reference";
    case H5T_ENUM: return is_bool_enum(type) ? "bool" : "an enumeration that is not FALSE, TRUE";
    case H5T_VLEN: return "a type of variable length";
    case H5T_ARRAY: return "an array type";
    case H5T_BITFIELD: return "a bit field";
    case H5T_TIME: return "a time";
    default: return "an unknown type";
  }
}

ElementType recognize(hid_t type, const std::string& object) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_FLOAT) {
    for (const FloatFields& fields : floats) {
      if (has_fields(type, fields)) return {fields.dtype, is_swapped(type)};
    }
  }
  if (is_integer(type, 8, H5T_SGN_2)) return {DType::int64, is_swapped(type)};
  if (is_integer(type, 1, H5T_SGN_NONE) || is_bool_enum(type)) return {DType::boolean, false};
  if (kind == H5T_OPAQUE && H5Tget_size(type) == 2) {
    throw Failure(object,
                  "element type is an opaque type of 2 bytes, as h5py writes ml_dtypes.bfloat16; "
                  "write bfloat16 as an HDF5 float of 16 bits, as fixtures/h5.py does");
  }
  throw Failure(object, "element type is " + describe(type) +
                            ", wanted float64, float32, float16, bfloat16, int64 or bool");
}

Handle type_to_write(DType dtype) {
  const auto copy = [](hid_t type) { return own(H5Tcopy(type), H5Tclose, "a type", "no memory"); };
  switch (dtype) {
    case DType::float64: return copy(H5T_IEEE_F64LE);
    case DType::float32: return copy(H5T_IEEE_F32LE);
    case DType::int64: return copy(H5T_STD_I64LE);
    case DType::boolean: {
      Handle type = own(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "bool", "no memory");
      const signed char values[] = {0, 1};
      check(H5Tenum_insert(type.get(), "FALSE", &values[0]), "bool", "cannot be made");
      check(H5Tenum_insert(type.get(), "TRUE", &values[1]), "bool", "cannot be made");
      return type;
    }
    case DType::float16:
    case DType::bfloat16: break;
  }
  const FloatFields& fields = floats[dtype == DType::float16 ? 2 : 3];
  Handle type = copy(H5T_IEEE_F32LE);
  const hid_t id = type.get();
  // The fields first: libhdf5 refuses a size that would cut them off.
  check(H5Tset_fields(id, 15, fields.mantissa_bits, fields.exponent_bits, 0, fields.mantissa_bits),
        "a 16-bit float", "cannot be made");
  check(H5Tset_size(id, 2), "a 16-bit float", "cannot be made");
  check(H5Tset_ebias(id, fields.bias), "a 16-bit float", "cannot be made");
  return type;
}

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
